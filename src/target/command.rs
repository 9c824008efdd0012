//! A command that runs to its end, with a limit on its time and on what it prints.

use std::{
    io::Read,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use indexmap::IndexMap;

use super::{
    child::status_number,
    launcher::{Launcher, Spec},
    log::last_lines,
};

/// The most that is kept of an output, in bytes; what exceeds it is read and thrown away.
const OUTPUT_LIMIT: usize = 1 << 20;
/// How long output may still come from others who hold the pipe after the command has ended.
const PIPE_LIMIT: Duration = Duration::from_secs(1);

/// What a command left.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The exit status, or 128 + the signal.
    pub status: i32,
    /// Standard output, at most 1 MiB of it.
    pub stdout: String,
    /// The last lines of standard error.
    pub stderr: String,
    /// Seconds from spawn to exit, the start through `scaler launch` included.
    pub seconds: f64,
}

/// Runs a command in a folder, and kills it with its process group when it takes longer than `within`.
///
/// # Errors
/// When it cannot be started or was killed for its time, in words.
pub fn run(launcher: &Launcher, command: &[String], folder: &Path, within: Duration) -> Result<Output, String> {
    let name = command.first().map_or("the command", String::as_str);
    let begun = Instant::now();
    let env = IndexMap::new();
    let spec =
        Spec { command, cpuset: None, user: None, env: &env, folder, stdout: Stdio::piped(), stderr: Stdio::piped() };
    let (moment, ended_at) = mpsc::channel();
    let on_end = Box::new(move |_| {
        let _ = moment.send(Instant::now());
    });
    let (child, pipes) = launcher.spawn(spec, on_end).map_err(|error| format!("{name} was not started: {error}"))?;
    let stdout = collect(pipes.stdout);
    let stderr = collect(pipes.stderr);
    let ended = child.wait_within(within);
    if ended.is_none() {
        child.kill();
    }
    let status = child.wait();
    let seconds = ended_at.recv().map_or_else(|_| begun.elapsed(), |at| at - begun).as_secs_f64();
    let (stdout, stderr) = (stdout.text(), last_lines(&stderr.text()));
    if ended.is_none() {
        return Err(format!("{name} was killed after {} s; it printed: {stderr}", within.as_secs_f64()));
    }
    Ok(Output { status: status_number(status), stdout, stderr, seconds })
}

/// What was read from a pipe so far, and the news that it is at its end.
struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    end: mpsc::Receiver<()>,
}

impl Collected {
    fn text(self) -> String {
        let _ = self.end.recv_timeout(PIPE_LIMIT);
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> Collected {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let (done, end) = mpsc::channel();
    let kept = Arc::clone(&bytes);
    if let Some(mut pipe) = pipe {
        thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = OUTPUT_LIMIT.saturating_sub(kept.len()).min(count);
                kept.extend_from_slice(&buffer[..room]);
            }
            drop(done);
        });
    }
    Collected { bytes, end }
}
