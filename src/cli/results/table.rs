//! `scaler results table RUN…`: results side by side, as Markdown.

use super::{Exit, Failure, Outcome, Place, screen};
use crate::{
    judge::result::RunResult,
    record::{folder::read_json, folder_error::FolderError},
    report,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler results table 20261130T180000Z 20261201T090000Z >> RESULTS.md")]
pub(in crate::cli) struct Args {
    /// Paths, runs' identifiers, or enough of their beginnings.
    #[arg(required = true)]
    runs: Vec<String>,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args) -> Outcome {
    let folder = args.place.folder();
    let read = |run: &String| -> Result<RunResult, FolderError> { read_json(&folder.find_result(run)?) };
    let results = args.runs.iter().map(read).collect::<Result<Vec<_>, _>>().map_err(Failure::from)?;
    screen::print(&report::table::table(&results.iter().collect::<Vec<_>>()));
    Ok(Exit::Pass)
}
