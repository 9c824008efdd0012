//! `scaler plan run`: the experiment itself. Everything that can be known to be wrong is looked at before anything is started; then the run
//! is in the hands of [`experiment`](crate::run::experiment); what it left in the journal becomes the result.

mod consent;
mod ending;
mod identity;
mod leftovers;
mod prepared;

use std::path::{Path, PathBuf};

use self::{consent::Consent, prepared::Prepared};
use super::{Colour, Exit, Failure, Outcome, limits, screen, secrets, source::PlanArgs};
use crate::{report, run::experiment::Ending};

/// The end of the name of a target's working folder, which goes with its run.
const WORK: &str = "target";
/// The same of a folder that stays.
const KEPT: &str = "kept";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler plan run plans/quickstart.toml
  scaler plan run plans/quickstart.toml --set soak=60s --results results
  scaler plan run plans/quickstart.toml --resume 20261130T180000Z
  scaler plan run plans/quickstart.toml --json | tail -n 1 | jq .verdict

Ctrl-C stops the load, brings back what was taken down, and keeps the results (exit code 5); a second Ctrl-C does not wait and still brings
back what was taken down. SIGTERM and a closed terminal do the same, unless scaler was started by `nohup`.

Running a plan runs the commands that it names. A plan outside of the present folder is asked about first; without a terminal it is refused
unless --trust is given. On a terminal, a plan that takes long or takes processes down is asked about as well, unless --yes is given.")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    /// Where the journal and the result are kept.
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
    /// Go on with an interrupted run behind its last whole cell: a path, a run's identifier, or enough of its beginning. Plan, variables,
    /// host and scaler must be the same.
    #[arg(long, value_name = "RUN")]
    resume: Option<String>,
    #[command(flatten)]
    consent: Consent,
    /// Print one line of JSON at the end, on standard output, instead of the tables.
    #[arg(long)]
    json: bool,
    /// Do not look at the live system; the host's load and disk are watched all the same. The result says so.
    #[arg(long)]
    no_live_check: bool,
    /// Keep the target's working folder (its stores and logs) beside the result.
    #[arg(long)]
    keep_target: bool,
}

pub(super) fn run(args: &Args, colour: Colour) -> Outcome {
    let checked = args.plan.load()?;
    if !checked.warnings.0.is_empty() {
        screen::problems(&checked.warnings, colour);
    }
    let first = checked.cell(checked.header.steps.first().copied().flatten(), None)?;
    args.consent.obtain(&args.plan.path, &checked, &first)?;
    let ended = Prepared::new(args, &checked, &first)?.run(args, &checked)?;
    if args.json {
        screen::print(&ending::line(&ended.result, &ended.path).to_string());
    } else {
        let path = ended.path.display().to_string();
        screen::print(&report::summary::summary(&ended.result, &path, screen::shape()));
    }
    match ended.ending {
        Ending::Refused(reason) => Err(Failure::refused(reason)),
        ending => Ok(ending::exit(&ending, ended.result.verdict.word)),
    }
}

/// The folder of a plan, as an absolute path.
pub(super) fn parent(path: &str) -> Result<PathBuf, Failure> {
    let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    absolute(folder)
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::file("find", path.display(), &error))
}
