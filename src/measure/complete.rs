//! The vocabulary and what is computed are the same: for a cell in which everything was done, every entry has a value.

use indexmap::IndexMap;

use super::{
    all,
    metric::name_over,
    sample_cell::{
        canary, cell, finish, in_phase, open_window, open_window_of, push, run, sample, schedule, slice, subject,
    },
};
use crate::{
    plan::{
        checked::{CheckedGate, Part},
        derived::DURABILITY_SETTINGS,
        gate::{Comparison, Miss, Unit},
        metric::{AGGREGATES, METRICS},
    },
    record::{
        cell::CellRecord,
        entry::{
            Custody, Drained, Entry, Event, EventKind, Ledger, Outage, ProbeRun, Published, Ran, Sample, Second, Slice,
            Subject, Timed, WorkflowRun,
        },
    },
};

/// A cell with one subject of each kind, in which everything was done and went well.
fn full_cell() -> CellRecord {
    let mut cell = cell();
    add_subjects(&mut cell);
    for watch in ["on_server", "on_ingest"] {
        let values = DURABILITY_SETTINGS.into_iter().map(|setting| (setting.to_owned(), 1.0)).collect();
        push(&mut cell, Entry::Sample(Sample { at: 1.0, watch: watch.into(), values, gaps: IndexMap::new() }));
    }
    open_window_of(&mut cell, "tags", "publish", false, 1.0, 5.0);
    open_window(&mut cell, "soak", true, 10.0, 40.0);
    for second in 0..30_u32 {
        let at = 10.0 + f64::from(second);
        push(&mut cell, Entry::Slice(slice(at, 1_000)));
        let acked = Second { second: i64::from(second), acked: 200, ..Second::default() };
        push(&mut cell, Entry::Ledger(Ledger { load: "readings".into(), seconds: vec![acked] }));
        push(&mut cell, Entry::Sample(sample("queue", at + 0.5, "depth", f64::from(second))));
        push(&mut cell, Entry::Sample(sample("live_safety", at + 0.5, "load_per_cpu", 0.5)));
        for half in 0..2_u32 {
            let number = u64::from(2 * second + half + 1);
            push(&mut cell, Entry::Canary(canary(number, at + 0.5 * f64::from(half), Some(0.2))));
        }
    }
    open_window_of(&mut cell, "reads", "probe", false, 40.0, 45.0);
    for (at, cold) in [(40.0, true), (41.0, false), (42.0, false)] {
        let (probe, window) = ("list".into(), "reads".into());
        push(&mut cell, Entry::ProbeRun(ProbeRun { probe, window, at, cold, seconds: 0.01, wrong: None, bytes: 100 }));
    }
    for (name, kind) in
        [("cx", "workflow"), ("kill", "fault"), ("drain", "drain"), ("custody", "reconcile"), ("job", "exec")]
    {
        let from = cell.until + 1.0;
        open_window_of(&mut cell, name, kind, false, from, from + 10.0);
    }
    // The load still ran when the process was killed.
    push(&mut cell, Entry::Slice(Slice { load: "readings".into(), from: 57.0, to: 59.0, ..slice(57.0, 1_000) }));
    for entry in endings() {
        push(&mut cell, entry);
    }
    finish(&mut cell);
    cell
}

fn add_subjects(cell: &mut CellRecord) {
    subject(cell, "noise", Subject::ExecLoad);
    subject(cell, "queue", Subject::Series { names: vec!["depth".into()], every_ms: 1000, kind: "sql".into() });
    subject(cell, "list", Subject::Probe { budget_ms: Some(60), budget_source: Some("provisional".into()) });
    for (name, kind) in [
        ("tags", "publish"),
        ("cx", "workflow"),
        ("kill", "fault"),
        ("drain", "drain"),
        ("custody", "reconcile"),
        ("job", "exec"),
    ] {
        subject(cell, name, Subject::Phase { kind: kind.into() });
    }
    subject(cell, "target", Subject::Target);
    subject(cell, "engine", Subject::Engine);
    subject(cell, "live_safety", Subject::LiveSafety);
    subject(cell, "durability", Subject::Durability { server: "on_server".into(), ingest: "on_ingest".into() });
    let series = || "queue.depth".to_owned();
    let (custody, total_bytes) = ("custody".into(), Some(series()));
    subject(cell, "growth", Subject::Growth { custody, bytes_per_row: series(), total_bytes });
}

/// The entries that end the phases.
fn endings() -> Vec<Entry> {
    vec![
        Entry::Schedule(schedule()),
        Entry::Published(Published {
            window: "tags".into(),
            messages: 1000,
            acked: 1000,
            publish_s: 1.0,
            visible_s: Some(2.0),
            seen: Some(1000.0),
            wanted: Some(1000),
            wrong: None,
        }),
        Entry::WorkflowRun(WorkflowRun {
            workflow: "run".into(),
            window: "cx".into(),
            at: 47.0,
            seconds: 1.0,
            steps: IndexMap::new(),
            wrong: None,
        }),
        Entry::Outage(Outage {
            window: "kill".into(),
            service: "listener".into(),
            action: "kill SIGKILL".into(),
            down_at: 58.0,
            up_at: 60.0,
            ready_at: Some(61.0),
            pid_before: Some(1),
            pid_after: Some(2),
            ended: Some("signal 9".into()),
            proven: true,
            first_query: Timed::Seconds(3.0),
            wal_replay: Timed::Seconds(0.5),
            retained_replay: Timed::Seconds(0.25),
        }),
        Entry::Drained(Drained {
            window: "drain".into(),
            settled: true,
            drain_s: 3.0,
            waiting_s: Some(1.0),
            first: Some(5000.0),
            last: Some(6000.0),
            canaries_unseen: Some(0),
            wrong: None,
        }),
        Entry::Custody(Custody {
            window: "custody".into(),
            load: "readings".into(),
            acked: 6000,
            stored: 6000,
            seconds: 30,
            whole_seconds: 28,
            stored_in_whole: 5600,
            identified: true,
            ..Custody::default()
        }),
        Entry::Ran(Ran { window: "job".into(), seconds: 1.0, wrong: None, output: String::new() }),
        Entry::Event(Event {
            at: 60.0,
            kind: EventKind::OthersCompared,
            subject: "engine".into(),
            detail: String::new(),
        }),
    ]
}

#[test]
fn every_metric_and_aggregate_of_the_vocabulary_is_computed() {
    let values = all(&run(), &full_cell());
    for (name, measured) in &values {
        assert!(measured.figure().is_some(), "{name}: {measured:?}");
    }
    for spec in METRICS {
        let of = values.iter().filter(|(name, _)| name.ends_with(&format!(".{}", spec.name)));
        let units: Vec<Unit> = of.filter_map(|(_, measured)| measured.figure().map(|figure| figure.unit)).collect();
        assert!(units.contains(&spec.unit), "{}: {units:?}", spec.name);
    }
    for aggregate in AGGREGATES {
        assert!(values.contains_key(&format!("queue.depth.{}", aggregate.name)), "{}", aggregate.name);
    }
    assert_eq!(values.len(), METRICS.len() + AGGREGATES.len());
}

#[test]
fn gates_add_their_own_windows() {
    let mut cell = full_cell();
    let window = in_phase("soak", Part::LastHalf);
    cell.started.gates.push(CheckedGate {
        name: "late lag".into(),
        metric: "lag.p50_s".into(),
        window: window.clone(),
        comparison: Comparison::Below,
        bound: 1.0,
        bound_text: "1s".into(),
        unit: Unit::Seconds,
        miss: Miss::Fail,
        cause: None,
        proof: false,
        requires: None,
        because: None,
    });
    let values = all(&run(), &cell);
    let figure = values[&name_over("lag.p50_s", &window)].figure().unwrap();
    assert_eq!((figure.window.as_str(), figure.n), ("soak/last_half", 30));
    assert_eq!(values["lag.p50_s"].figure().unwrap().n, 60);
}

#[test]
fn in_a_cell_in_which_nothing_was_done_nothing_but_events_is_measured() {
    let mut cell = cell();
    add_subjects(&mut cell);
    finish(&mut cell);
    let measured: Vec<String> = all(&run(), &cell)
        .into_iter()
        .filter(|(_, measured)| measured.figure().is_some())
        .map(|(name, _)| name)
        .collect();
    let known_without_doing = [
        "readings.generator_ceiling_ratio",
        "noise.unexpected_exits",
        "target.unexpected_exits",
        "engine.oom_kills",
        "engine.restarts",
    ];
    assert_eq!(measured, known_without_doing);
}
