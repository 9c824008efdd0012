//! A synthetic cell for tests: built by the same fold that reads a journal.

use indexmap::IndexMap;

use super::histogram::Latencies;
use crate::{
    plan::{
        checked::{Part, Window},
        fleet::Fleet,
        quantity::Count,
    },
    record::{
        cell::CellRecord,
        entry::{
            CanaryReading, CellFinished, CellStarted, CutShort, Entry, Host, PlanIdentity, RunStarted, Sample,
            Schedule, Slice, Subject, WindowClosed, WindowOpened,
        },
    },
};

/// A run on a host of two CPUs, calibrated to 10 000 messages per second.
pub(crate) fn run() -> RunStarted {
    RunStarted {
        format: 1,
        run_id: "20260101T000000Z".into(),
        started_unix_ms: 1_767_225_600_000,
        command: vec!["scaler".into()],
        scaler_version: "0.1.0".into(),
        scaler_build: Some("28600776 bytes of 2026-11-30T17:00:00Z".into()),
        plan: PlanIdentity {
            name: "test".into(),
            question: "?".into(),
            path: "test.toml".into(),
            text: String::new(),
            bases: IndexMap::new(),
            sha256: String::new(),
            gates_sha256: String::new(),
            vars: IndexMap::new(),
            steps: vec![Some(1000), Some(5000), Some(50_000)],
            step_name: Some("points".into()),
            not_covered: IndexMap::new(),
            not_proven: IndexMap::new(),
            known_as: IndexMap::new(),
        },
        host: Host {
            name: "host".into(),
            cpus: 2,
            cpu_model: "model".into(),
            affinity: "0-1".into(),
            memory_bytes: 8_000_000_000,
            disk_free_bytes: 50_000_000_000,
            load1_at_start: 0.1,
            kernel: "6".into(),
        },
        commits: IndexMap::new(),
        generator_ceiling_per_s: Some(10_000.0),
        live_check: true,
    }
}

/// A cell of 1000 points that has just begun at second 1, with a load `readings` and a canary `lag`.
pub(crate) fn cell() -> CellRecord {
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
    subject(&mut cell, "readings", Subject::MqttPublish { nominal_per_s: 200, points: 1000, inflight: 4000 });
    subject(&mut cell, "lag", Subject::Canary { poll_ms: 20, every_ms: 0 });
    cell
}

/// Adds a subject.
pub(crate) fn subject(cell: &mut CellRecord, name: &str, subject: Subject) {
    cell.started.subjects.insert(name.into(), subject);
}

/// The window of metrics that name none.
pub(crate) fn default_window() -> Window {
    Window { phase: None, part: Part::Whole }
}

/// A part of a phase.
pub(crate) fn in_phase(phase: &str, part: Part) -> Window {
    Window { phase: Some(phase.into()), part }
}

/// Adds an entry.
pub(crate) fn push(cell: &mut CellRecord, entry: Entry) {
    cell.push(entry).unwrap();
}

/// Adds a phase from its beginning to its end.
pub(crate) fn open_window(cell: &mut CellRecord, name: &str, measured: bool, from: f64, to: f64) {
    open_window_of(cell, name, "hold", measured, from, to);
}

/// Adds a phase of a kind.
pub(crate) fn open_window_of(cell: &mut CellRecord, name: &str, kind: &str, measured: bool, from: f64, to: f64) {
    push(cell, Entry::WindowOpened(WindowOpened { at: from, name: name.into(), kind: kind.into(), measured }));
    push(cell, Entry::WindowClosed(WindowClosed { at: to, name: name.into() }));
}

/// Ends the cell.
pub(crate) fn finish(cell: &mut CellRecord) {
    let at = cell.until;
    push(cell, Entry::CellFinished(CellFinished { at, cell: 0, cut_short: None }));
}

/// Ends the cell early.
pub(crate) fn cut_short(cell: &mut CellRecord, cut: CutShort) {
    let at = cell.until;
    push(cell, Entry::CellFinished(CellFinished { at, cell: 0, cut_short: Some(cut) }));
}

/// A slice of one second of the load `readings` that kept pace with 200 readings per second, each acknowledged after `ack_micros`.
pub(crate) fn slice(from: f64, ack_micros: u64) -> Slice {
    Slice {
        load: "readings".into(),
        from,
        to: from + 1.0,
        due: 200,
        offered: 200,
        acked: 200,
        in_flight: 10,
        bytes: 25_000,
        cpu_s: 0.02,
        schedule_lag: latencies(200, 2_000),
        ack_service: latencies(200, ack_micros),
        ack_response: latencies(200, ack_micros + 2_000),
        ..Slice::default()
    }
}

/// What the load `readings` had offered when it stopped.
pub(crate) fn schedule() -> Schedule {
    Schedule {
        load: "readings".into(),
        start_unix_ns: 1_767_225_600_000_000_000,
        interval_ns: 5_000_000_000,
        seed: 1,
        topic: "t{{ point }}".into(),
        fleet: Fleet { points: Count(1000), points_per_equip: 10, equips_per_site: 50, labels: Vec::new() },
        offered: vec![3000, 3000],
    }
}

/// A histogram of `n` equal observations.
pub(crate) fn latencies(n: u64, micros: u64) -> String {
    let mut latencies = Latencies::new();
    (0..n).for_each(|_| latencies.record(micros));
    latencies.encode()
}

/// A canary reading of `lag`.
pub(crate) fn canary(number: u64, published: f64, lag_s: Option<f64>) -> CanaryReading {
    CanaryReading { canary: "lag".into(), number, published, seen: lag_s.map(|lag| published + lag) }
}

/// A sample with one series.
pub(crate) fn sample(watch: &str, at: f64, series: &str, value: f64) -> Sample {
    Sample { at, watch: watch.into(), values: IndexMap::from([(series.into(), value)]), gaps: IndexMap::new() }
}

/// A sample that failed.
pub(crate) fn gap(watch: &str, at: f64, why: &str) -> Sample {
    Sample { at, watch: watch.into(), values: IndexMap::new(), gaps: IndexMap::from([("*".into(), why.into())]) }
}
