//! `scaler plan …`: everything that is done with a plan.

mod check;
mod diff;
mod down;
mod guard;
mod init;
mod limits;
mod new;
mod run;
mod schema;
mod secrets;
mod show;
pub(super) mod source;
mod stack;
mod up;

use super::{Exit, Failure, Outcome, screen, screen::Colour};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Verb {
    /// Run a plan, and say how far the target goes and why it stops there.
    Run(run::Args),
    /// Say what is wrong with plans, or what they will cost. Starts nothing.
    Check(check::Args),
    /// Print the plan as it will be run, where each value comes from, and all that it touches.
    Show(show::Args),
    /// Say what changes in meaning between two plans.
    Diff(diff::Args),
    /// Make a plan from a template.
    New(new::Args),
    /// Print the JSON schema of plans, or of results.
    Schema(schema::Args),
    /// Write the secrets that a plan declares, with random values.
    Init(init::Args),
    /// Say what the containers of a plan consist of, or refuse them with every reason. Starts nothing.
    Guard(guard::Args),
    /// Build, start and wait for the containers of a plan.
    Up(up::Args),
    /// Remove the containers of a plan, and say what was removed.
    Down(down::Args),
}

pub(super) fn run(verb: Verb, colour: Colour) -> Outcome {
    match verb {
        Verb::Run(args) => run::run(&args, colour),
        Verb::Check(args) => Ok(check::run(&args, colour)),
        Verb::Show(args) => show::run(&args, colour),
        Verb::Diff(args) => diff::run(&args),
        Verb::New(args) => new::run(&args, colour),
        Verb::Schema(args) => schema::run(&args),
        Verb::Init(args) => init::run(&args),
        Verb::Guard(args) => guard::run(&args),
        Verb::Up(args) => up::run(&args),
        Verb::Down(args) => down::run(&args),
    }
}
