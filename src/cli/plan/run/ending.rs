//! How a run ends: its exit code, and the one line for programs.

use serde_json::{Value, json};

use super::super::Exit;
use crate::{
    judge::{result::RunResult, verdict::Word},
    run::experiment::Ending,
};

/// The exit code.
pub(super) fn exit(ending: &Ending, word: Word) -> Exit {
    match (ending, word) {
        (Ending::Refused(_), _) => Exit::Refused,
        (Ending::Interrupted, _) => Exit::Interrupted,
        (Ending::Complete, Word::Pass) => Exit::Pass,
        (Ending::Complete, Word::Fail) => Exit::Fail,
        (Ending::Complete, Word::Inconclusive) => Exit::Inconclusive,
    }
}

/// What `--json` prints.
pub(super) fn line(path: &str, result: &RunResult) -> Value {
    let verdict = &result.verdict;
    json!({
        "result": path,
        "verdict": verdict.word.text(),
        "highest_pass": verdict.highest_pass,
        "stopped_by": verdict.stopped_by,
    })
}

#[cfg(test)]
mod tests {
    use super::{Ending, Exit, Word, exit};

    #[test]
    fn an_interrupted_or_refused_run_never_ends_like_a_whole_one() {
        for word in [Word::Pass, Word::Fail, Word::Inconclusive] {
            assert_eq!(exit(&Ending::Interrupted, word), Exit::Interrupted);
            assert_eq!(exit(&Ending::Refused(String::new()), word), Exit::Refused);
        }
        assert_eq!(
            [Word::Pass, Word::Fail, Word::Inconclusive].map(|word| exit(&Ending::Complete, word).code()),
            [0, 1, 2]
        );
    }
}
