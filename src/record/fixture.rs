//! A made-up run for tests: the quickstart's ladder in small, of which the last step is too much. Every number is chosen, so that
//! a reader can check what is made of it.

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::{
    Histogram,
    serialization::{Serializer, V2Serializer},
};
use indexmap::IndexMap;

use super::entry::{
    CanaryReading, CellFinished, CellStarted, Custody, Drained, Entry, Event, EventKind, FORMAT, Host, InDoubt, Ledger,
    NeighboursCompared, Outage, PlanIdentity, ProbeRun, Ran, RunFinished, RunStarted, Sample, Second, ServiceInForce,
    Slice, Subject, TargetInForce, Timed, WindowClosed, WindowOpened,
};
use crate::plan::{
    checked::{CheckedGate, Part, Window},
    gate::{Comparison, Miss, Unit},
};

/// A whole run of three steps: 1000 and 5000 points pass, 50000 are too many.
pub(crate) fn run() -> Vec<Entry> {
    let mut entries = vec![
        Entry::RunStarted(Box::new(started())),
        opened(0.1, "seed", "exec", false),
        Entry::Ran(Ran { window: "seed".into(), seconds: 0.2, wrong: None, output: "seeded\n".into() }),
        closed(0.3, "seed"),
        Entry::Target(in_force()),
    ];
    for (number, points) in [1000, 5000, 50_000].into_iter().enumerate() {
        entries.extend(cell(number, points));
    }
    entries.push(Entry::Neighbours(NeighboursCompared {
        at: 100.5,
        things: 7,
        sha256_before: "1a".repeat(32),
        sha256_after: "1a".repeat(32),
        changed: Vec::new(),
    }));
    entries.push(Entry::RunFinished(RunFinished { at: 101.0, interrupted: false }));
    entries
}

/// The start of the run.
pub(crate) fn started() -> RunStarted {
    let text = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    RunStarted {
        format: FORMAT,
        run_id: "20261130T180000Z".into(),
        started_unix_ms: 1_796_061_600_000,
        command: vec!["scaler".into(), "plan".into(), "run".into(), "plans/quickstart.toml".into()],
        scaler_version: "0.1.0".into(),
        scaler_build: Some("28600776 bytes of 2026-11-30T17:00:00Z".into()),
        plan: PlanIdentity {
            name: "quickstart".into(),
            question: "How many points, each every 5 s, does the reference target take before it chokes?".into(),
            path: "plans/quickstart.toml".into(),
            text: "format = 1\n".into(),
            bases: IndexMap::new(),
            sha256: "ab".repeat(32),
            gates_sha256: "cd".repeat(32),
            vars: IndexMap::from([("soak".to_owned(), "15s".into())]),
            steps: vec![Some(1000), Some(5000), Some(50_000)],
            step_name: Some("points".into()),
            not_covered: text(&[("webhooks", "no HTTP ingest on this target")]),
            not_proven: text(&[("one host", "Generator and target share this host's CPUs.")]),
            known_as: text(&[("list-points.warm_median_s", "read?filter=point")]),
        },
        host: Host {
            name: "bench".into(),
            cpus: 2,
            cpu_model: "Example CPU 3000".into(),
            affinity: "0-1".into(),
            memory_bytes: 8_000_000_000,
            disk_free_bytes: 40_000_000_000,
            load1_at_start: 0.25,
            kernel: "6.1.0".into(),
        },
        commits: text(&[("scaler", "0123456789abcdef0123456789abcdef01234567")]),
        generator_ceiling_per_s: None,
        live_check: true,
    }
}

/// What was in force for one container, whose cap the host could not give.
fn in_force() -> TargetInForce {
    let listener = ServiceInForce {
        container: "scale-listener-1".into(),
        image: "sha256:".to_owned() + &"2b".repeat(32),
        cpus: Some(2.0),
        cpus_clamped_from: Some(8.0),
        memory_bytes: Some(1_000_000_000),
        cpuset: Some("0-1".into()),
        overridden_by: vec!["SCALE_CPUS_LISTENER".into()],
    };
    TargetInForce {
        at: 0.4,
        engine: "28.0.1".into(),
        cgroup: "2".into(),
        compose: "2.33.1".into(),
        project: "scale".into(),
        started_here: true,
        services: IndexMap::from([("listener".to_owned(), listener)]),
        allowed: Vec::new(),
    }
}

/// The gates of every cell.
pub(crate) fn gates() -> Vec<CheckedGate> {
    let gate = |name: &str, metric: &str, comparison, bound, bound_text: &str, unit| CheckedGate {
        name: name.into(),
        metric: metric.into(),
        window: Window { phase: None, part: Part::Whole },
        comparison,
        bound,
        bound_text: bound_text.into(),
        unit,
        miss: Miss::Fail,
        cause: None,
        proof: false,
        requires: None,
        because: None,
    };
    vec![
        gate("store at rest", "drain.settled", Comparison::Equals, 1.0, "1", Unit::Count),
        CheckedGate {
            proof: true,
            requires: Some("store at rest".into()),
            because: Some("what the broker acknowledged is stored".into()),
            ..gate("nothing lost", "custody.missing", Comparison::Equals, 0.0, "0", Unit::Count)
        },
        CheckedGate {
            miss: Miss::Inconclusive,
            cause: Some("generator".into()),
            ..gate("generator kept pace", "readings.offered_ratio", Comparison::AtLeast, 0.99, "99%", Unit::Ratio)
        },
        gate("lag.lost", "lag.lost", Comparison::Equals, 0.0, "0", Unit::Count),
        gate("lag.max_s", "lag.max_s", Comparison::Below, 5.0, "5s", Unit::Seconds),
        gate("list-points", "list-points.warm_median_s", Comparison::AtMost, 0.06, "60ms", Unit::Seconds),
    ]
}

fn subjects(points: u64) -> IndexMap<String, Subject> {
    let phase = |kind: &str| Subject::Phase { kind: kind.into() };
    [
        ("readings", Subject::MqttPublish { nominal_per_s: points.div_ceil(5), points, inflight: 4000 }),
        ("lag", Subject::Canary { poll_ms: 20, every_ms: 0 }),
        ("server", Subject::Series { names: vec!["listener.cpu_pct".into()], every_ms: 1000, kind: "process".into() }),
        ("list-points", Subject::Probe { budget_ms: Some(60), budget_source: Some("provisional".into()) }),
        ("soak", phase("hold")),
        ("reads", phase("probe")),
        ("crash", phase("fault")),
        ("drain", phase("drain")),
        ("custody", phase("reconcile")),
        ("target", Subject::Target),
        ("live_safety", Subject::LiveSafety),
    ]
    .into_iter()
    .map(|(name, subject)| (name.to_owned(), subject))
    .collect()
}

/// One cell: 20 seconds of soak, five reads, an outage, a drain, a reconciliation.
fn cell(number: usize, points: u64) -> Vec<Entry> {
    let cell = u32::try_from(number).expect("a test has few cells");
    let at = 1.0 + 33.0 * f64::from(cell);
    let per_s = points / 5;
    let choked = points > 10_000;
    let mut entries = vec![
        Entry::CellStarted(CellStarted {
            at,
            cell,
            name: format!("points={points}"),
            step: Some(points),
            condition: None,
            repeat: 1,
            subjects: subjects(points),
            gates: gates(),
        }),
        opened(at, "soak", "hold", true),
    ];
    for second in 0..20_u32 {
        entries.extend(soak_second(at, second, per_s, choked));
    }
    entries.extend([closed(at + 20.0, "soak"), opened(at + 20.0, "reads", "probe", false)]);
    for run in 0..5_u32 {
        entries.push(Entry::ProbeRun(ProbeRun {
            probe: "list-points".into(),
            window: "reads".into(),
            at: at + 20.0 + 0.1 * f64::from(run),
            cold: false,
            seconds: if choked { 0.09 } else { 0.012 } + 0.001 * f64::from(run),
            wrong: None,
            bytes: points * 40,
        }));
    }
    entries.extend([closed(at + 21.0, "reads"), opened(at + 21.0, "crash", "fault", false), outage(at + 21.5)]);
    let in_doubt = Entry::InDoubt(InDoubt { load: "readings".into(), readings: Vec::new() });
    entries.extend([closed(at + 24.0, "crash"), opened(at + 24.0, "drain", "drain", false), in_doubt, drained()]);
    entries.extend([closed(at + 29.0, "drain"), opened(at + 29.0, "custody", "reconcile", false)]);
    entries.push(Entry::Custody(Custody {
        window: "custody".into(),
        load: "readings".into(),
        acked: per_s * 20,
        stored: per_s * 20,
        seconds: 20,
        whole_seconds: 18,
        stored_in_whole: per_s * 18,
        identified: true,
        ..Custody::default()
    }));
    entries.push(closed(at + 30.0, "custody"));
    entries.push(Entry::CellFinished(CellFinished { at: at + 31.0, cell, cut_short: None }));
    entries
}

fn soak_second(at: f64, second: u32, per_s: u64, choked: bool) -> Vec<Entry> {
    let from = at + f64::from(second);
    let unix = 1_796_061_600 + i64::from(second);
    let lag = if choked { 0.5 + 0.4 * f64::from(second) } else { 0.1 + 0.01 * f64::from(second) };
    let cpu = if choked { 98.0 } else { 21.0 };
    vec![
        Entry::Slice(Slice {
            load: "readings".into(),
            from,
            to: from + 1.0,
            due: per_s,
            offered: per_s,
            acked: per_s,
            bytes: per_s * 120,
            cpu_s: 0.02,
            in_flight: 10,
            schedule_lag: histogram(&[200, 300, 900]),
            ack_service: histogram(&[1000, 2000, 4000]),
            ack_response: histogram(&[1200, 2300, 4900]),
            ..Slice::default()
        }),
        Entry::Ledger(Ledger {
            load: "readings".into(),
            seconds: vec![Second { second: unix, due: per_s, offered: per_s, acked: per_s, acked_sum: 7, resent: 0 }],
        }),
        Entry::Sample(Sample {
            at: from + 0.5,
            watch: "server".into(),
            values: IndexMap::from([("listener.cpu_pct".to_owned(), cpu)]),
            gaps: IndexMap::new(),
        }),
        Entry::Canary(CanaryReading {
            canary: "lag".into(),
            number: u64::from(second) + 1,
            published: from,
            seen: Some(from + lag),
        }),
    ]
}

fn outage(at: f64) -> Entry {
    Entry::Outage(Outage {
        window: "crash".into(),
        service: "listener".into(),
        action: "kill SIGKILL".into(),
        down_at: at,
        up_at: at + 1.0,
        ready_at: Some(at + 1.25),
        pid_before: Some(4711),
        pid_after: Some(4712),
        ended: Some("signal 9".into()),
        proven: true,
        first_query: Timed::Seconds(1.5),
        wal_replay: Timed::unseen("the log of listener tells of no WAL replay"),
        retained_replay: Timed::unseen("the fault names no `retained`"),
    })
}

fn drained() -> Entry {
    Entry::Drained(Drained {
        window: "drain".into(),
        settled: true,
        drain_s: 1.5,
        waiting_s: Some(0.25),
        first: Some(100.0),
        last: Some(400.0),
        canaries_unseen: Some(0),
        wrong: None,
    })
}

fn histogram(values: &[u64]) -> String {
    let mut histogram = Histogram::<u64>::new(3).expect("three digits are allowed");
    for value in values {
        histogram.record(*value).expect("a resizing histogram takes every value");
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).expect("memory can be written");
    STANDARD.encode(bytes)
}

/// A phase begins.
pub(crate) fn opened(at: f64, name: &str, kind: &str, measured: bool) -> Entry {
    Entry::WindowOpened(WindowOpened { at, name: name.into(), kind: kind.into(), measured })
}

/// A phase ends.
pub(crate) fn closed(at: f64, name: &str) -> Entry {
    Entry::WindowClosed(WindowClosed { at, name: name.into() })
}

/// An event worth knowing.
pub(crate) fn event(at: f64, detail: &str) -> Entry {
    Entry::Event(Event { at, kind: EventKind::Note, subject: "broker".into(), detail: detail.into() })
}
