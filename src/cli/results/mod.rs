//! `scaler results …`: looking at what was run.

mod judge;
mod list;
mod recover;
mod show;
mod table;

use std::path::PathBuf;

use super::{Failure, Outcome, exit::Exit, screen};
use crate::record::{folder::Folder, folder_error::FolderError};

/// The verbs.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Verb {
    /// List the runs of a results folder.
    List(list::Args),
    /// Show a result in detail: every gate, everything unmeasured, the evidence.
    Show(show::Args),
    /// Print results as rows of a Markdown table.
    Table(table::Args),
    /// Judge a result again under the gates of another plan. Runs nothing.
    Judge(judge::Args),
    /// Make a result of the journal of a run that was killed.
    Recover(recover::Args),
}

pub(super) fn run(verb: &Verb) -> Outcome {
    match verb {
        Verb::List(args) => list::run(args),
        Verb::Show(args) => show::run(args),
        Verb::Table(args) => table::run(args),
        Verb::Judge(args) => judge::run(args),
        Verb::Recover(args) => recover::run(args),
    }
}

/// Where results are.
#[derive(Debug, clap::Args)]
struct Place {
    /// The results folder.
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
}

impl Place {
    fn folder(&self) -> Folder {
        Folder::at(&self.results)
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        let exit = if matches!(error, FolderError::Locked(..)) { Exit::Refused } else { Exit::BadPlan };
        Self { exit, problems: crate::problem::Problem::from(error).into() }
    }
}
