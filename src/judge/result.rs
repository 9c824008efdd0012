//! The result of a run: one file that holds the whole plan, the machine, every raw figure and the judgement of them.
//!
//! The judgement is made from the record alone, and the record can be taken out of the result again, so that an old result can be
//! judged under other bars by the same code and a doubt can be settled years later.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    caveats::caveats,
    histograms, judge_cell, judge_run,
    verdict::{Bottleneck, CellVerdict, GateOutcome, RunVerdict, Word},
};
use crate::{
    measure::{
        live::{self, LiveLatency},
        measured::Measured,
        metric,
    },
    plan::checked::CheckedGate,
    record::{
        cell::{CellRecord, Record, WindowSpan},
        entry::{
            CanaryReading, CellFinished, CellStarted, Custody, CutShort, Drained, Entry, Event, Host, InDoubt,
            NeighboursCompared, Outage, PlanIdentity, ProbeRun, Published, Ran, Resumed, RunFinished, RunStarted,
            Sample, Schedule, Second, Slice, Subject, TargetInForce, WorkflowRun, looked,
        },
    },
};

/// Everything that a run found out. Times called `at`, `from`, `to` and `until` are seconds since the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "scaler result, format 1")]
pub struct RunResult {
    /// The version of the result format.
    pub format: u32,
    /// `YYYYMMDDTHHMMSSZ`, unique in the results folder.
    pub run_id: String,
    /// Wall clock at the start, Unix milliseconds.
    pub started_unix_ms: u64,
    /// The full command.
    pub command: Vec<String>,
    /// The version of scaler.
    pub scaler_version: String,
    /// Which build of it: the size of the program's file, and when it was written. None in results from before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaler_build: Option<String>,
    /// Whether the user asked to stop, or scaler was killed.
    pub interrupted: bool,
    /// The answer.
    pub verdict: RunVerdict,
    /// What the reader of the answer should know about the run as a whole.
    pub caveats: Vec<String>,
    /// The plan, with what it leaves out and what a pass does not prove.
    pub plan: PlanIdentity,
    /// The machine.
    pub host: Host,
    /// Commits of the systems that the plan names.
    pub commits: IndexMap<String, String>,
    /// What the generator reached on this host, messages acknowledged per second, if `scaler calibrate` was run.
    pub generator_ceiling_per_s: Option<f64>,
    /// Whether the live URL could be asked; `--no-live-check` forbids it.
    #[serde(default = "looked")]
    pub live_check: bool,
    /// The cells in the order in which they were run.
    pub cells: Vec<CellResult>,
    /// What happened outside the cells, as it was journaled: setup, teardown, events between two cells.
    pub around: Vec<Entry>,
    /// What was in force for the target's containers, at each start of them: caps, CPU set, images; empty for other targets.
    #[serde(default)]
    pub targets: Vec<TargetInForce>,
    /// The comparisons of what else is on the engine with what was there before the target was started.
    #[serde(default)]
    pub neighbours: Vec<NeighboursCompared>,
    /// The live URL's latency before, during and after the cells.
    #[serde(default)]
    pub live_latency: LiveLatency,
    /// How often the run went on after an interruption, and where.
    #[serde(default)]
    pub resumed: Vec<Resumed>,
    /// The end of the run; none when scaler was killed.
    pub finished: Option<RunFinished>,
}

/// One cell: its judgement, its figures, and the raw data that they were made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellResult {
    /// The cell's number from 0.
    pub cell: u32,
    /// The cell's name, such as `points=2500`.
    pub name: String,
    /// The step.
    pub step: Option<u64>,
    /// The condition, in experiments that have some.
    pub condition: Option<String>,
    /// 1 for the first run of this step, 2 for the second, ….
    pub repeat: u32,
    /// When it began.
    pub from: f64,
    /// The latest moment that is known of it.
    pub until: f64,
    /// When it ended; none while it goes on.
    pub finished_at: Option<f64>,
    /// Why it ended before its last phase; none when it was run as planned.
    pub cut_short: Option<CutShort>,
    /// The judgement.
    pub verdict: Decision,
    /// How each gate ended.
    pub gates: Vec<GateOutcome>,
    /// Every metric: a figure, or the reason why there is none.
    pub metrics: IndexMap<String, Measured>,
    /// The gates as the plan had them.
    pub bars: Vec<CheckedGate>,
    /// What metrics can be taken of.
    pub subjects: IndexMap<String, Subject>,
    /// The phases.
    pub windows: Vec<WindowSpan>,
    /// What is worth knowing.
    pub events: Vec<Event>,
    /// The ledger against the store.
    pub custody: Vec<Custody>,
    /// The ends of `drain` phases.
    pub drained: Vec<Drained>,
    /// The outages of `fault` phases.
    pub outages: Vec<Outage>,
    /// The ends of `publish` phases.
    pub published: Vec<Published>,
    /// The ends of `exec` and `sql` phases.
    pub ran: Vec<Ran>,
    /// The probes' runs.
    pub probe_runs: Vec<ProbeRun>,
    /// The workflows' runs.
    pub workflow_runs: Vec<WorkflowRun>,
    /// The canary readings whose fate is known.
    pub canaries: Vec<CanaryReading>,
    /// What the stopped loads had offered, from which every reading follows.
    pub schedules: Vec<Schedule>,
    /// Readings that were written and never acknowledged, by load.
    pub in_doubt: Vec<InDoubt>,
    /// The readings of all watches.
    pub samples: Vec<Sample>,
    /// `LOAD.LATENCY` to all its observations in the measured phases: microseconds, HDR histogram, V2 serialisation, base64.
    pub histograms: IndexMap<String, String>,
    /// What the loads did, stretch by stretch, with the histograms of each.
    pub slices: Vec<Slice>,
    /// The ledger: load to its payload seconds.
    pub seconds: IndexMap<String, Vec<Second>>,
}

/// The judgement of a cell without its gates, which stand beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// The word.
    pub word: Word,
    /// Why it is not a pass.
    pub cause: Option<String>,
    /// The names of the gates that made the word; empty for a pass.
    pub decided_by: Vec<String>,
    /// What the reader should know although it decided nothing.
    pub caveats: Vec<String>,
    /// What stopped the system; absent for a pass.
    pub bottleneck: Option<Bottleneck>,
}

impl RunResult {
    /// Judges a record.
    #[must_use]
    pub fn new(record: &Record) -> Self {
        let RunStarted {
            format,
            run_id,
            started_unix_ms,
            command,
            scaler_version,
            scaler_build,
            plan,
            host,
            commits,
            generator_ceiling_per_s,
            live_check,
        } = record.started.clone();
        Self {
            format,
            run_id,
            started_unix_ms,
            command,
            scaler_version,
            scaler_build,
            interrupted: record.interrupted(),
            verdict: judge_run(record),
            caveats: caveats(record),
            plan,
            host,
            commits,
            generator_ceiling_per_s,
            live_check,
            cells: record.cells.iter().map(|cell| CellResult::new(&record.started, cell)).collect(),
            around: record.around.clone(),
            targets: record.targets.clone(),
            neighbours: record.neighbours.clone(),
            live_latency: live::latency(record),
            resumed: record.resumed.clone(),
            finished: record.finished.clone(),
        }
    }

    /// What the result was made from.
    #[must_use]
    pub fn record(&self) -> Record {
        let this = self.clone();
        Record {
            started: RunStarted {
                format: this.format,
                run_id: this.run_id,
                started_unix_ms: this.started_unix_ms,
                command: this.command,
                scaler_version: this.scaler_version,
                scaler_build: this.scaler_build,
                plan: this.plan,
                host: this.host,
                commits: this.commits,
                generator_ceiling_per_s: this.generator_ceiling_per_s,
                live_check: this.live_check,
            },
            cells: this.cells.into_iter().map(CellResult::into_record).collect(),
            around: this.around,
            targets: this.targets,
            neighbours: this.neighbours,
            resumed: this.resumed,
            finished: this.finished,
        }
    }
}

impl CellResult {
    /// Measures and judges a cell.
    fn new(started: &RunStarted, cell: &CellRecord) -> Self {
        let CellVerdict { word, cause, decided_by, gates, caveats, bottleneck } = judge_cell(started, cell);
        let metrics = metric::all(started, cell);
        let histograms = histograms::merged(cell);
        let cell = cell.clone();
        let seconds = cell.seconds.into_iter().map(|(load, seconds)| (load, seconds.into_values().collect()));
        Self {
            cell: cell.started.cell,
            name: cell.started.name,
            step: cell.started.step,
            condition: cell.started.condition,
            repeat: cell.started.repeat,
            from: cell.started.at,
            until: cell.until,
            finished_at: cell.finished.as_ref().map(|finished| finished.at),
            cut_short: cell.finished.and_then(|finished| finished.cut_short),
            verdict: Decision { word, cause, decided_by, caveats, bottleneck },
            gates,
            metrics,
            bars: cell.started.gates,
            subjects: cell.started.subjects,
            windows: cell.windows,
            events: cell.events,
            custody: cell.custody,
            drained: cell.drained,
            outages: cell.outages,
            published: cell.published,
            ran: cell.ran,
            probe_runs: cell.probe_runs,
            workflow_runs: cell.workflow_runs,
            canaries: cell.canaries,
            schedules: cell.schedules,
            in_doubt: cell.in_doubt,
            samples: cell.samples,
            histograms,
            slices: cell.slices,
            seconds: seconds.collect(),
        }
    }

    fn into_record(self) -> CellRecord {
        let by_second = |seconds: Vec<Second>| -> BTreeMap<i64, Second> {
            seconds.into_iter().map(|second| (second.second, second)).collect()
        };
        let (number, cut_short) = (self.cell, self.cut_short);
        CellRecord {
            started: CellStarted {
                at: self.from,
                cell: number,
                name: self.name,
                step: self.step,
                condition: self.condition,
                repeat: self.repeat,
                subjects: self.subjects,
                gates: self.bars,
            },
            windows: self.windows,
            samples: self.samples,
            slices: self.slices,
            seconds: self.seconds.into_iter().map(|(load, seconds)| (load, by_second(seconds))).collect(),
            schedules: self.schedules,
            in_doubt: self.in_doubt,
            canaries: self.canaries,
            probe_runs: self.probe_runs,
            workflow_runs: self.workflow_runs,
            published: self.published,
            outages: self.outages,
            drained: self.drained,
            custody: self.custody,
            ran: self.ran,
            events: self.events,
            until: self.until,
            finished: self.finished_at.map(|at| CellFinished { at, cell: number, cut_short }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::record::{fixture, fold::fold};

    #[test]
    fn a_result_is_judged_again_from_its_file_alone() {
        let record = fold(fixture::run()).unwrap();
        let result = RunResult::new(&record);
        let text = serde_json::to_string(&result).unwrap();
        let read: RunResult = serde_json::from_str(&text).unwrap();
        assert_eq!(read, result);
        assert_eq!(read.record(), record);
        assert_eq!(RunResult::new(&read.record()), result);
    }

    #[test]
    fn every_beginning_of_a_run_makes_a_result_that_can_be_judged_again() {
        let run = fixture::run();
        for length in (1..run.len()).step_by(7) {
            let record = fold(run[..length].iter().cloned()).unwrap();
            let result = RunResult::new(&record);
            assert!(result.interrupted, "{length} entries");
            assert_eq!(result.record(), record, "{length} entries");
            assert!(result.caveats.iter().any(|caveat| caveat.starts_with("scaler was killed")));
        }
    }

    #[test]
    fn the_result_has_what_was_promised() {
        let value = serde_json::to_value(RunResult::new(&fold(fixture::run()).unwrap())).unwrap();
        let pointers = [
            "/format",
            "/run_id",
            "/command",
            "/plan/name",
            "/plan/text",
            "/plan/sha256",
            "/plan/gates_sha256",
            "/plan/vars",
            "/host/cpus",
            "/host/cpu_model",
            "/host/affinity",
            "/host/memory_bytes",
            "/host/kernel",
            "/host/disk_free_bytes",
            "/host/load1_at_start",
            "/commits",
            "/cells/0/name",
            "/cells/0/step",
            "/cells/0/condition",
            "/cells/0/repeat",
            "/cells/0/verdict/word",
            "/cells/0/verdict/cause",
            "/cells/0/gates",
            "/cells/0/metrics",
            "/cells/0/windows",
            "/cells/0/samples",
            "/cells/0/histograms",
            "/cells/0/events",
            "/verdict/word",
            "/verdict/highest_pass",
            "/verdict/lowest_fail",
            "/verdict/stopped_by",
            "/verdict/bottleneck",
        ];
        for pointer in pointers {
            assert!(value.pointer(pointer).is_some(), "{pointer} is missing");
        }
        let metrics = value["cells"][0]["metrics"].as_object().unwrap();
        let complete = |metric: &Value| ["value", "unit", "n", "window"].iter().all(|key| metric.get(key).is_some());
        assert!(!metrics.is_empty());
        assert!(metrics.values().all(|metric| complete(metric) || metric["unmeasured"].is_string()));
    }
}
