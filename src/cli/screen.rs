//! The only place that writes to the terminal, and the only one that knows of colour.

use std::{
    borrow::Cow,
    env,
    io::{self, IsTerminal, Write},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use indexmap::IndexMap;

use crate::{problem::Problems, record::redact::Redactor, report::layout::Screen};

/// What must never be shown; known once a run has its secrets.
static SECRETS: OnceLock<Redactor> = OnceLock::new();

/// Whether a part of a result did not reach standard output.
static LOST: AtomicBool = AtomicBool::new(false);

/// From now on these secrets, by name, are replaced in everything that is written.
pub(super) fn conceal(secrets: &IndexMap<String, String>) {
    SECRETS.get_or_init(|| Redactor::new(secrets));
}

/// The text without secrets.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    SECRETS.get().map_or(Cow::Borrowed(text), |redactor| redactor.text(text))
}

/// Whether a part of a result did not reach standard output.
pub(super) fn lost_output() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colour {
    /// Whether what is written to a stream may carry colour.
    pub(super) fn on(self, stream: &impl IsTerminal) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => stream.is_terminal() && !no_colour() && has_colours(),
        }
    }
}

/// The convention of <https://no-color.org>: present and not empty.
fn no_colour() -> bool {
    env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// A terminal that says nothing of itself, or that it is dumb, has no colours.
fn has_colours() -> bool {
    env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// What standard output can show: its width when it is a terminal, and whether the locale speaks UTF-8.
pub(super) fn shape() -> Screen {
    let stdout = io::stdout();
    let width = if stdout.is_terminal() { rustix::termios::tcgetwinsize(&stdout).ok() } else { None };
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(env::var_os).find(|value| !value.is_empty());
    let utf8 = locale.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    Screen { utf8, width: width.map(|size| size.ws_col).filter(|columns| *columns > 0) }
}

/// Prints a result to standard output.
pub(super) fn print(text: &str) {
    match write(io::stdout().lock(), text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            LOST.store(true, Ordering::Relaxed);
            remark(&format!("error: cannot write to standard output: {error}"));
        }
        _ => {}
    }
}

/// Prints a remark to standard error, so that it never mixes with a result.
pub(super) fn remark(text: &str) {
    // Nothing else can be done about a terminal that fails.
    let _ = write(io::stderr().lock(), text);
}

/// Prints a question to standard error and leaves the cursor behind it.
pub(super) fn ask(question: &str) {
    let mut stream = io::stderr().lock();
    let _ = stream.write_all(clean(question).as_bytes()).and_then(|()| stream.flush());
}

/// Prints problems to standard error.
pub(super) fn problems(problems: &Problems, colour: Colour) {
    remark(&problems.render(colour.on(&io::stderr())));
}

/// A reader that went away (`scaler … | head`) is no error for those who print.
fn write(mut stream: impl Write, text: &str) -> io::Result<()> {
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    write!(stream, "{}{newline}", clean(text)).and_then(|()| stream.flush())
}
