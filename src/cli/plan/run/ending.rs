//! How a run ends: the result from its journal, the exit code, and the one line for programs.

use std::{io, path::Path};

use serde_json::{Value, json};

use super::{Exit, Failure};
use crate::{
    judge::{result::RunResult, verdict::Word},
    problem::Problem,
    record::{cell::Record, folder::write_json, journal},
    run::experiment::Ending,
};

/// Writes the result. It is folded from the journal on disk, so that it holds nothing that the journal does not.
pub(super) fn write_result(journal: &Path, path: &Path) -> Result<RunResult, Failure> {
    let read = journal::read(journal).map_err(|error| lost(journal, &error))?;
    let record = Record::recovered(read)
        .map_err(|error| Failure::internal(format!("the journal {} makes no record: {error}", journal.display())))?;
    let result = RunResult::new(&record);
    let value = serde_json::to_value(&result).map_err(|error| Failure::internal(error.to_string()))?;
    write_json(path, &value).map_err(|error| {
        let help = format!(
            "make room or mend the folder; then `scaler results recover {}` makes the result",
            journal.display()
        );
        Failure { exit: Exit::Internal, problems: Problem::error(error.to_string()).help(help).into() }
    })?;
    Ok(result)
}

/// The exit code.
pub(super) fn exit(ending: &Ending, word: Word) -> Exit {
    match (ending, word) {
        (Ending::Refused(_), _) => Exit::Refused,
        (Ending::Defect(_), _) => Exit::Internal,
        (Ending::Interrupted, _) => Exit::Interrupted,
        (Ending::Complete, Word::Pass) => Exit::Pass,
        (Ending::Complete, Word::Fail) => Exit::Fail,
        (Ending::Complete, Word::Inconclusive) => Exit::Inconclusive,
    }
}

/// What `--json` prints.
pub(super) fn line(result: &RunResult, path: &Path) -> Value {
    json!({
        "result": path.display().to_string(),
        "verdict": result.verdict.word,
        "highest_pass": result.verdict.highest_pass,
        "stopped_by": result.verdict.stopped_by,
    })
}

/// The journal can be kept no longer, and the run was given up.
pub(super) fn lost(journal: &Path, error: &io::Error) -> Failure {
    let help = if journal.exists() {
        format!("make room or mend the folder; `scaler results recover {}` keeps what was written", journal.display())
    } else {
        "nothing of the run could be kept; leave its results folder alone while it goes on".to_owned()
    };
    let title = format!("the run was given up, because its journal {} cannot be kept: {error}", journal.display());
    Failure { exit: Exit::Internal, problems: Problem::error(title).help(help).into() }
}

/// A part of scaler failed, and the run was given up.
pub(super) fn defect(journal: &Path, what: &str) -> Failure {
    let help = format!("`scaler results recover {}` makes a result of what happened until then", journal.display());
    let title = format!("the run was given up, because a part of scaler failed: {what}");
    Failure { exit: Exit::Internal, problems: Problem::error(title).help(help).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_did_not_end_by_itself_never_ends_like_a_whole_one() {
        let broken = [(Ending::Interrupted, 5), (Ending::Refused("x".into()), 4), (Ending::Defect("x".into()), 70)];
        for (word, code) in [(Word::Pass, 0), (Word::Fail, 1), (Word::Inconclusive, 2)] {
            assert_eq!(exit(&Ending::Complete, word).code(), code);
            for (ending, code) in &broken {
                assert_eq!(exit(ending, word).code(), *code);
            }
        }
    }
}
