//! Judging an old record under other bars, without running anything, and saying what moved.

use super::result::RunResult;
use crate::{
    plan::{
        checked::CheckedGate,
        gate::{Comparison, Miss},
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
    /// The cells in which it moved.
    pub cells: Vec<String>,
    /// The gate's name.
    pub gate: String,
    /// The bar before; none for a new gate.
    pub before: Option<String>,
    /// The bar now; none for a gate that is gone.
    pub after: Option<String>,
    /// Which way it moved.
    pub direction: Direction,
}

/// Which way a bar moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It is harder to meet now, or new.
    Tightened,
    /// It is easier to meet now, or gone.
    Loosened,
    /// It asks for something else.
    Changed,
}

impl Direction {
    /// The word as it is printed.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Tightened => "tightened",
            Self::Loosened => "loosened",
            Self::Changed => "changed",
        }
    }
}

/// Judges a record under the gates that `gates_for` gives for each step, by the code that judged it live.
pub fn rejudge(record: &Record, gates_for: impl Fn(Option<u64>) -> Vec<CheckedGate>) -> Rejudged {
    let mut other = record.clone();
    let mut moved = Vec::new();
    for cell in &mut other.cells {
        let gates = gates_for(cell.started.step);
        for bar in moved_bars(&cell.started.gates, &gates) {
            note(&mut moved, bar, &cell.started.name);
        }
        cell.started.gates = gates;
    }
    Rejudged { before: RunResult::new(record), after: RunResult::new(&other), moved }
}

/// Adds a moved bar, or the cell's name to the one that is known already.
fn note(moved: &mut Vec<MovedBar>, bar: MovedBar, cell: &str) {
    let same =
        |known: &&mut MovedBar| (&known.gate, &known.before, &known.after) == (&bar.gate, &bar.before, &bar.after);
    match moved.iter_mut().find(same) {
        Some(known) => known.cells.push(cell.to_owned()),
        None => moved.push(MovedBar { cells: vec![cell.to_owned()], ..bar }),
    }
}

fn moved_bars(before: &[CheckedGate], after: &[CheckedGate]) -> Vec<MovedBar> {
    let named = |gates: &[CheckedGate], name: &str| gates.iter().find(|gate| gate.name == name).cloned();
    let bar = |old: Option<&CheckedGate>, new: Option<&CheckedGate>, direction| MovedBar {
        cells: Vec::new(),
        gate: old.or(new).map(|gate| gate.name.clone()).unwrap_or_default(),
        before: old.map(words),
        after: new.map(words),
        direction,
    };
    let mut moved = Vec::new();
    for old in before {
        match named(after, &old.name) {
            None => moved.push(bar(Some(old), None, Direction::Loosened)),
            Some(new) => moved.extend(direction(old, &new).map(|way| bar(Some(old), Some(&new), way))),
        }
    }
    let added = after.iter().filter(|new| named(before, &new.name).is_none());
    moved.extend(added.map(|new| bar(None, Some(new), Direction::Tightened)));
    moved
}

/// Which way a gate moved; none when it is the same bar. Its reason and the spelling of its bound are no part of the bar.
fn direction(old: &CheckedGate, new: &CheckedGate) -> Option<Direction> {
    let meaning = |gate: &CheckedGate| CheckedGate { because: None, bound_text: String::new(), ..gate.clone() };
    if meaning(old) == meaning(new) {
        return None;
    }
    let bound_and_miss =
        |gate: &CheckedGate| CheckedGate { bound: 0.0, miss: Miss::Fail, cause: None, ..meaning(gate) };
    if bound_and_miss(old) != bound_and_miss(new) {
        return Some(Direction::Changed);
    }
    let bound = match old.comparison {
        Comparison::AtLeast | Comparison::Above => new.bound.total_cmp(&old.bound),
        Comparison::AtMost | Comparison::Below => old.bound.total_cmp(&new.bound),
        Comparison::Equals if old.bound.total_cmp(&new.bound).is_ne() => return Some(Direction::Changed),
        Comparison::Equals => std::cmp::Ordering::Equal,
    };
    let miss = weight(new.miss).cmp(&weight(old.miss));
    match (bound, miss) {
        (one, other) if one == other.reverse() => Some(Direction::Changed),
        (one, other) if one.then(other).is_gt() => Some(Direction::Tightened),
        _ => Some(Direction::Loosened),
    }
}

/// How heavy a miss weighs.
fn weight(miss: Miss) -> u8 {
    match miss {
        Miss::Caveat => 0,
        Miss::Inconclusive => 1,
        Miss::Fail => 2,
    }
}

/// The bar in words: `lag.p95_s < 5s`, with what a miss means unless it is a fail.
fn words(gate: &CheckedGate) -> String {
    let miss = match gate.miss {
        Miss::Fail => "",
        Miss::Inconclusive => ", else inconclusive",
        Miss::Caveat => ", else a caveat",
    };
    let window = gate.window.phase.as_ref().map(|phase| format!(" in {phase}")).unwrap_or_default();
    format!("{}{window} {} {}{miss}", gate.metric, gate.comparison.sign(), gate.bound_text)
}
