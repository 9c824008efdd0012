//! Arguments and verbs. The only place that prints an error or exits.
//!
//! Each verb is a file with an `Args` and a `run(&args) -> Outcome`; [`main`] prints what failed and turns the
//! [`exit::Exit`] into the process's exit code.

mod calibrate;
mod completions;
mod display;
pub mod exit;
mod failure;
mod guardian;
mod launch;
mod man;
mod plan;
mod reference;
mod results;
mod screen;

use std::{ffi::OsString, panic, process::ExitCode};

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};

use self::{
    exit::Exit,
    failure::{Failure, Outcome},
    screen::Colour,
};
use crate::reference::ReferenceCommand;

/// Finds out, honestly, how far one telemetry server goes and why it stopped there.
///
/// A plan is one TOML file: what is loaded, how, for how long, what is watched, and what counts as a pass.
/// Scaler runs it, keeps everything that happened, and says pass, fail or inconclusive, with the reason.
#[derive(Debug, Parser)]
#[command(
    name = "scaler",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = format!("{FIRST_STEPS}\n{}", Exit::table())
)]
struct Cli {
    /// When to use colour; `NO_COLOR` is honoured.
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    color: Colour,
    #[command(subcommand)]
    verb: Verb,
}

const FIRST_STEPS: &str = "\
First steps:
  scaler plan check plans/quickstart.toml      is the plan right, and what will it cost?
  scaler plan run plans/quickstart.toml        run it
  scaler results list                          what was run so far
";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write, check, compare and run plans.
    #[command(subcommand, arg_required_else_help = true)]
    Plan(plan::Verb),
    /// Look at what was run, and judge it again.
    #[command(subcommand, arg_required_else_help = true)]
    Results(results::Verb),
    /// Measure what the generator itself reaches on this host.
    Calibrate(calibrate::Args),
    /// Run a server of the reference target.
    #[command(subcommand, arg_required_else_help = true)]
    Reference(ReferenceCommand),
    /// Print the completions of a shell.
    Completions(completions::Args),
    /// Print the manual page, or write all of them.
    Man(man::Args),
}

/// Runs the program with the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    panic::set_hook(Box::new(|info| explain_panic(&info.to_string())));
    let code = panic::catch_unwind(|| run(std::env::args_os().collect())).unwrap_or(Exit::Internal);
    if screen::lost_output() { Exit::Internal.into() } else { code.into() }
}

fn run(arguments: Vec<OsString>) -> Exit {
    if launch::is_meant(&arguments) {
        return end(launch::run(&arguments), Colour::Auto);
    }
    if guardian::is_meant(&arguments) {
        return end(guardian::run(), Colour::Auto);
    }
    let command = Cli::command().color(colour_for_help(&arguments));
    let parsed = command.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return explain_arguments(&error),
    };
    end(dispatch(cli.verb, cli.color), cli.color)
}

/// Says what failed, and gives the exit code.
fn end(outcome: Outcome, colour: Colour) -> Exit {
    outcome.unwrap_or_else(|failure| {
        screen::problems(&failure.problems, colour);
        failure.exit
    })
}

fn dispatch(verb: Verb, colour: Colour) -> Outcome {
    match verb {
        Verb::Plan(verb) => plan::run(verb, colour),
        Verb::Results(verb) => results::run(&verb),
        Verb::Calibrate(args) => calibrate::run(&args),
        Verb::Reference(command) => reference::run(command),
        Verb::Completions(args) => completions::run(&args),
        Verb::Man(args) => man::run(&args),
    }
}

/// Help and version are results; everything else that clap reports is a mistake in the arguments.
fn explain_arguments(error: &clap::Error) -> Exit {
    // A terminal that cannot be written to leaves nothing else to do than to end with the right code.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Pass,
        _ => Exit::BadPlan,
    }
}

/// Help is printed while the arguments are read, so `--color` is looked for before.
fn colour_for_help(arguments: &[OsString]) -> ColorChoice {
    let texts: Vec<&str> = arguments.iter().skip(1).map_while(|argument| argument.to_str()).collect();
    let own = texts.split(|text| *text == "--").next().unwrap_or_default();
    let after = own.iter().position(|text| *text == "--color").and_then(|at| own.get(at + 1).copied());
    match own.iter().find_map(|text| text.strip_prefix("--color=")).or(after) {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

fn explain_panic(what: &str) {
    screen::remark(&format!(
        "scaler stopped because of a defect of its own: {what}\n\
         A run that was going on has kept everything that happened: `scaler results recover` makes a result of it.\n\
         Please report this with the command you gave and the lines above.\n"
    ));
}

#[cfg(test)]
mod tests {
    use clap::{ColorChoice, CommandFactory};

    use super::{Cli, colour_for_help};

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn colour_is_known_before_the_arguments_are() {
        let choice = |texts: &[&str]| colour_for_help(&texts.iter().map(Into::into).collect::<Vec<_>>());
        assert_eq!(choice(&["scaler", "--color=always", "man"]), ColorChoice::Always);
        assert_eq!(choice(&["scaler", "man", "--color", "never"]), ColorChoice::Never);
        assert_eq!(choice(&["scaler", "launch", "--", "x", "--color", "never"]), ColorChoice::Auto);
        assert_eq!(choice(&["scaler"]), ColorChoice::Auto);
    }
}
