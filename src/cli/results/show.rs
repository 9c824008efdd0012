//! `scaler results show RUN`: one result in detail.

use super::{Exit, Outcome, Place, screen};
use crate::{judge::result::RunResult, record::folder::read_json, report};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler results show 20261130T180000Z
  scaler results show results/20261130T180000Z-quickstart.json --figures")]
pub(in crate::cli) struct Args {
    /// A path, a run's identifier, or enough of its beginning.
    run: String,
    /// Show every metric that was measured as well.
    #[arg(long)]
    figures: bool,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args) -> Outcome {
    let path = args.place.folder().find_result(&args.run)?;
    let result: RunResult = read_json(&path)?;
    screen::print(&report::show::show(&result, args.figures, screen::shape()));
    Ok(Exit::Pass)
}
