//! Judging an old record under other bars, without running anything, and saying what moved.

use super::result::RunResult;
use crate::{
    plan::{
        checked::CheckedGate,
        diff::{Change, bars},
    },
    record::cell::Record,
};

/// An old result and the same record under other bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejudged {
    /// The judgement under the bars of the record.
    pub before: RunResult,
    /// The judgement under the other ones.
    pub after: RunResult,
    /// The bars that moved.
    pub moved: Vec<MovedBar>,
}

/// A bar that is not what it was.
#[derive(Clone, Debug, PartialEq)]
pub struct MovedBar {
    /// How it moved.
    pub change: Change,
    /// The cells in which it did.
    pub cells: Vec<String>,
}

/// Judges a record under the gates that `gates_for` gives for each step, by the code that judged it live.
pub fn rejudge(record: &Record, gates_for: impl Fn(Option<u64>) -> Vec<CheckedGate>) -> Rejudged {
    let mut other = record.clone();
    let mut moved: Vec<MovedBar> = Vec::new();
    for cell in &mut other.cells {
        let gates = gates_for(cell.started.step);
        for change in bars::changes(&cell.started.gates, &gates) {
            match moved.iter_mut().find(|known| known.change == change) {
                Some(known) => known.cells.push(cell.started.name.clone()),
                None => moved.push(MovedBar { change, cells: vec![cell.started.name.clone()] }),
            }
        }
        cell.started.gates = gates;
    }
    Rejudged { before: RunResult::new(record), after: RunResult::new(&other), moved }
}
