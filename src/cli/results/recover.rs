//! `scaler results recover RUN`: a result from the journal of a run that was killed.

use super::{Exit, Failure, Outcome, Place, screen};
use crate::{
    judge::result::RunResult,
    record::{
        cell::Record,
        folder::{read_json, write_json},
        journal::{self, Torn},
    },
    report,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler results recover 20261130T180000Z
  scaler results recover results/20261130T180000Z-quickstart.journal")]
pub(in crate::cli) struct Args {
    /// The journal: a path, a run's identifier, or enough of its beginning.
    run: String,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args) -> Outcome {
    let journal = args.place.folder().find_journal(&args.run)?;
    let path = journal.with_extension("json");
    if path.exists() {
        let title = format!("{} is there already", path.display());
        let help = match read_json::<RunResult>(&path) {
            Ok(_) => format!("`scaler results show {}` shows it", path.display()),
            Err(_) => "it is no result: move it away, and recover then".to_owned(),
        };
        return Err(Failure::arguments(title, help));
    }
    let read = journal::read(&journal).map_err(|error| Failure::file("recover", journal.display(), &error))?;
    if let Some(Torn { line, why, behind }) = &read.torn
        && *behind > 0
    {
        screen::remark(&format!(
            "warning: line {line} of {} is damaged ({why}): it and the {behind} lines behind it are left out, and what they told",
            journal.display()
        ));
    }
    let record = Record::recovered(read).map_err(|error| {
        let help = "without the first line nothing can be said of a run";
        Failure::arguments(format!("{} is no journal of a run: {error}", journal.display()), help)
    })?;
    let result = RunResult::new(&record);
    let value = serde_json::to_value(&result).map_err(|error| Failure::internal(error.to_string()))?;
    write_json(&path, &value)?;
    screen::print(&report::summary::summary(&result, &path.display().to_string(), screen::shape()));
    Ok(Exit::Pass)
}
