//! `scaler results list`: the runs of a folder.

use serde::Deserialize;

use super::{Exit, Outcome, Place, screen};
use crate::{
    judge::verdict::RunVerdict,
    record::{
        folder::{RunFiles, read_json},
        journal,
    },
    report::list::{Listed, State, list},
};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args) -> Outcome {
    let runs: Vec<Listed> = args.place.folder().runs()?.into_iter().map(listed).collect();
    screen::print(&list(&runs, &args.place.results.display().to_string(), screen::shape()));
    Ok(Exit::Pass)
}

/// The part of a result that a list needs.
#[derive(Deserialize)]
struct Answer {
    verdict: RunVerdict,
    interrupted: bool,
}

fn listed(run: RunFiles) -> Listed {
    let state = match (&run.result, &run.journal) {
        (Some(result), _) => match read_json::<Answer>(result) {
            Ok(Answer { verdict, interrupted }) => State::Ended { verdict, interrupted },
            Err(error) => State::Unreadable(error.to_string()),
        },
        (None, Some(journal)) if journal::is_being_written(journal) => State::Running,
        (None, _) => State::Killed,
    };
    Listed { name: run.name, state }
}
