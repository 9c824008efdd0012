//! The record: what the journal's entries say, put together by cell. It has every figure that the journal has, and no judgement.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entry::{
    CanaryReading, CellFinished, CellStarted, Custody, Drained, Entry, Event, InDoubt, NeighboursCompared, Outage,
    ProbeRun, Published, Ran, Resumed, RunFinished, RunStarted, Sample, Schedule, Second, Slice, TargetInForce,
    WorkflowRun,
};
use crate::plan::checked::{Part, Window};

/// A whole run, or the part of it that is known so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What was known before the first cell.
    pub started: RunStarted,
    /// The cells in the order in which they were run.
    pub cells: Vec<CellRecord>,
    /// What happened outside the cells, as it was journaled: setup, teardown, events between two cells.
    pub around: Vec<Entry>,
    /// What was in force for the target's containers, at each start of them.
    pub targets: Vec<TargetInForce>,
    /// The comparisons of what else is on the engine.
    pub neighbours: Vec<NeighboursCompared>,
    /// How often the run went on after an interruption, and where.
    pub resumed: Vec<Resumed>,
    /// The end; none while the run goes on, and for ever when scaler was killed.
    pub finished: Option<RunFinished>,
}

impl Record {
    /// Whether the run did not reach its own end: the user asked to stop, or scaler was killed.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.finished.as_ref().is_none_or(|finished| finished.interrupted)
    }
}

/// One cell: a step, under a condition, for the n-th time.
#[derive(Clone, Debug, PartialEq)]
pub struct CellRecord {
    /// The cell's identity, its subjects and its gates.
    pub started: CellStarted,
    /// The phases that were begun, in order.
    pub windows: Vec<WindowSpan>,
    /// The readings of all watches.
    pub samples: Vec<Sample>,
    /// What the `mqtt_publish` loads did.
    pub slices: Vec<Slice>,
    /// The ledger: load to payload second to its counts.
    pub seconds: IndexMap<String, BTreeMap<i64, Second>>,
    /// What the stopped loads had offered, from which every reading follows.
    pub schedules: Vec<Schedule>,
    /// Readings that were written and never acknowledged, by load.
    pub in_doubt: Vec<InDoubt>,
    /// The canary readings whose fate is known.
    pub canaries: Vec<CanaryReading>,
    /// The probes' runs.
    pub probe_runs: Vec<ProbeRun>,
    /// The workflows' runs.
    pub workflow_runs: Vec<WorkflowRun>,
    /// The ends of `publish` phases.
    pub published: Vec<Published>,
    /// The outages of `fault` phases.
    pub outages: Vec<Outage>,
    /// The ends of `drain` phases.
    pub drained: Vec<Drained>,
    /// The ends of `reconcile` phases.
    pub custody: Vec<Custody>,
    /// The ends of `exec` and `sql` phases.
    pub ran: Vec<Ran>,
    /// What is worth knowing.
    pub events: Vec<Event>,
    /// The latest moment that is known of the cell; its end once it has finished.
    pub until: f64,
    /// The end; none while the cell goes on.
    pub finished: Option<CellFinished>,
}

/// A phase as it was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSpan {
    /// The phase's name.
    pub name: String,
    /// The phase's kind.
    pub kind: String,
    /// Whether it counts for metrics that name no window.
    pub measured: bool,
    /// The beginning.
    pub from: f64,
    /// The end; for a phase that is still open, the latest moment that is known.
    pub to: f64,
    /// Whether the phase has ended.
    pub closed: bool,
}

impl WindowSpan {
    /// How long the phase took, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        (self.to - self.from).max(0.0)
    }
}

impl CellRecord {
    /// A cell of which only the beginning is known.
    #[must_use]
    pub fn new(started: CellStarted) -> Self {
        Self {
            until: started.at,
            started,
            windows: Vec::new(),
            samples: Vec::new(),
            slices: Vec::new(),
            seconds: IndexMap::new(),
            schedules: Vec::new(),
            in_doubt: Vec::new(),
            canaries: Vec::new(),
            probe_runs: Vec::new(),
            workflow_runs: Vec::new(),
            published: Vec::new(),
            outages: Vec::new(),
            drained: Vec::new(),
            custody: Vec::new(),
            ran: Vec::new(),
            events: Vec::new(),
            finished: None,
        }
    }

    /// The phase that is open.
    #[must_use]
    pub fn open_window(&self) -> Option<&WindowSpan> {
        self.windows.last().filter(|window| !window.closed)
    }

    /// The stretches of time that a window means, in order: the phase of that name; without a name all measured phases, or the
    /// whole cell when none measures. A part is taken of their time laid end to end, so that the first half of two phases of a
    /// minute each is the first of them. Empty when the phase was not run.
    #[must_use]
    pub fn window_spans(&self, window: &Window) -> Vec<(f64, f64)> {
        let span = |window: &WindowSpan| (window.from, window.to.max(window.from));
        let whole: Vec<(f64, f64)> = match &window.phase {
            Some(name) => self.windows.iter().filter(|window| window.name == *name).map(span).collect(),
            None => self.windows.iter().filter(|window| window.measured).map(span).collect(),
        };
        let whole = match &window.phase {
            None if whole.is_empty() => vec![(self.started.at, self.until.max(self.started.at))],
            _ => whole,
        };
        match share(window.part) {
            None => whole,
            Some((first, last)) => part_of(&whole, first, last),
        }
    }
}

/// Where a part begins and ends, as shares of the whole.
fn share(part: Part) -> Option<(f64, f64)> {
    match part {
        Part::Whole => None,
        Part::FirstHalf => Some((0.0, 0.5)),
        Part::LastHalf => Some((0.5, 1.0)),
        Part::FirstThird => Some((0.0, 1.0 / 3.0)),
        Part::MiddleThird => Some((1.0 / 3.0, 2.0 / 3.0)),
        Part::LastThird => Some((2.0 / 3.0, 1.0)),
    }
}

/// The stretches between two shares of the time of all spans laid end to end.
fn part_of(spans: &[(f64, f64)], first: f64, last: f64) -> Vec<(f64, f64)> {
    let total: f64 = spans.iter().map(|(from, to)| to - from).sum();
    let (begin, end) = (total * first, total * last);
    let mut passed = 0.0;
    let mut parts = Vec::new();
    for (from, to) in spans {
        let length = to - from;
        let cut_from = from + (begin - passed).clamp(0.0, length);
        let cut_to = if end >= passed + length { *to } else { from + (end - passed).max(0.0) };
        if cut_to > cut_from {
            parts.push((cut_from, cut_to));
        }
        passed += length;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(windows: &[(&str, bool, f64, f64)]) -> CellRecord {
        let mut cell = CellRecord::new(CellStarted {
            at: 1.0,
            cell: 0,
            name: "points=1000".into(),
            step: Some(1000),
            condition: None,
            repeat: 1,
            subjects: IndexMap::new(),
            gates: Vec::new(),
        });
        for (name, measured, from, to) in windows {
            cell.windows.push(WindowSpan {
                name: (*name).into(),
                kind: "hold".into(),
                measured: *measured,
                from: *from,
                to: *to,
                closed: true,
            });
            cell.until = *to;
        }
        cell
    }

    fn spans(cell: &CellRecord, phase: Option<&str>, part: Part) -> Vec<(f64, f64)> {
        cell.window_spans(&Window { phase: phase.map(str::to_owned), part })
    }

    #[test]
    fn a_name_means_that_phase_and_no_name_all_measured_ones() {
        let cell = cell(&[("warm-up", false, 2.0, 5.0), ("soak", true, 5.0, 35.0), ("soak-2", true, 40.0, 70.0)]);
        assert_eq!(spans(&cell, Some("warm-up"), Part::Whole), [(2.0, 5.0)]);
        assert_eq!(spans(&cell, None, Part::Whole), [(5.0, 35.0), (40.0, 70.0)]);
        assert_eq!(spans(&cell, Some("drain"), Part::Whole), []);
        assert_eq!(spans(&cell, Some("drain"), Part::LastThird), []);
    }

    #[test]
    fn without_a_measured_phase_the_whole_cell_counts() {
        let cell = cell(&[("tags", false, 2.0, 5.0)]);
        assert_eq!(spans(&cell, None, Part::Whole), [(1.0, 5.0)]);
    }

    #[test]
    fn parts_are_taken_of_the_time_laid_end_to_end() {
        let cell = cell(&[("a", true, 0.0, 30.0), ("b", true, 100.0, 130.0)]);
        assert_eq!(spans(&cell, Some("a"), Part::FirstHalf), [(0.0, 15.0)]);
        assert_eq!(spans(&cell, Some("a"), Part::LastHalf), [(15.0, 30.0)]);
        assert_eq!(spans(&cell, None, Part::FirstHalf), [(0.0, 30.0)]);
        assert_eq!(spans(&cell, None, Part::LastHalf), [(100.0, 130.0)]);
        assert_eq!(spans(&cell, None, Part::MiddleThird), [(20.0, 30.0), (100.0, 110.0)]);
    }
}
