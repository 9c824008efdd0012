//! Bottlenecks found in cells that were given one.

use super::{
    super::gate::{judge, tests::gate},
    *,
};
use crate::{
    measure::sample_cell::{cell, open_window, open_window_of, push, run, sample, slice, subject},
    record::entry::{Custody, Entry, Event, EventKind, ProbeRun, Second},
};

/// A watch, its series, and the value as a function of the second.
type Series<'a> = (&'a str, &'a str, fn(f64) -> f64);

/// A soak of ten seconds with these series, each a function of the second.
fn soak(series: &[Series]) -> CellRecord {
    let mut cell = cell();
    open_window(&mut cell, "soak", true, 10.0, 20.0);
    for (watch, name, value) in series {
        subject(&mut cell, watch, Subject::Series { names: vec![(*name).into()], every_ms: 1000, kind: "sql".into() });
        for second in 0..10 {
            let second = f64::from(second);
            push(&mut cell, Entry::Sample(sample(watch, 10.5 + second, name, value(second))));
        }
    }
    cell
}

fn found(cell: &CellRecord, metric: &str) -> Bottleneck {
    let outcome = GateOutcome { standing: Standing::Broken, ..judge(&run(), cell, &gate("it", metric)) };
    find(&run(), cell, &[outcome], &["it".to_owned()])
}

#[test]
fn a_process_at_a_full_core_is_named_and_a_growing_queue_confirms_it() {
    let alone = found(&soak(&[("server", "listener.cpu_pct", |_| 97.0)]), "lag.p95_s");
    assert_eq!((alone.part.as_deref(), alone.confidence), (Some("listener"), Confidence::Medium));
    assert_eq!(alone.evidence, "listener used 97% of one core on average over soak");
    let both = soak(&[("server", "listener.cpu_pct", |_| 97.0), ("queue", "depth", |second| 1000.0 * second)]);
    let both = found(&both, "lag.p95_s");
    assert_eq!((both.part.as_deref(), both.confidence), (Some("listener"), Confidence::High));
    assert!(both.evidence.ends_with("queue.depth grew from 0 to 9000 over soak"), "{}", both.evidence);
}

#[test]
fn the_busiest_of_several_comes_first() {
    let cell = soak(&[("a", "broker.cpu_pct", |_| 92.0), ("b", "listener.cpu_pct", |_| 99.0)]);
    assert_eq!(found(&cell, "lag.p95_s").part.as_deref(), Some("listener"));
}

#[test]
fn a_process_on_several_cores_is_at_its_limit_only_when_it_has_the_whole_machine() {
    assert_eq!(found(&soak(&[("server", "store.cpu_pct", |_| 140.0)]), "lag.p95_s").part, None);
    let all = found(&soak(&[("server", "store.cpu_pct", |_| 190.0)]), "lag.p95_s");
    assert_eq!(all.part.as_deref(), Some("store"));
}

#[test]
fn a_container_at_its_cap_is_named_at_a_low_average_too() {
    let cell = soak(&[("containers", "postgres.throttled_pct", |_| 80.0), ("other", "api.cpu_pct", |_| 97.0)]);
    let bottleneck = found(&cell, "lag.p95_s");
    assert_eq!((bottleneck.part.as_deref(), bottleneck.confidence), (Some("postgres"), Confidence::High));
    let first = "postgres was held back by its CPU cap in a share of its periods of 80% on average over soak";
    assert!(bottleneck.evidence.starts_with(first), "{}", bottleneck.evidence);
    assert_eq!(found(&soak(&[("containers", "api.throttled_pct", |_| 10.0)]), "lag.p95_s").part, None);
    let memory = found(&soak(&[("containers", "api.memory_cap_pct", |_| 99.0)]), "lag.p95_s");
    assert_eq!(memory.part.as_deref(), Some("api"));
}

#[test]
fn a_busy_host_names_its_busiest_process() {
    let cell = soak(&[("host", "cpu_pct", |_| 98.0), ("server", "store.cpu_pct", |_| 120.0)]);
    let bottleneck = found(&cell, "lag.p95_s");
    assert_eq!((bottleneck.part.as_deref(), bottleneck.confidence), (Some("the host's CPUs"), Confidence::Medium));
    assert!(bottleneck.evidence.contains("busiest part, store, 120%"), "{}", bottleneck.evidence);
    assert!(!bottleneck.evidence.contains("others"), "{}", bottleneck.evidence);
    let others = soak(&[("host", "cpu_pct", |_| 99.84), ("server", "api.cpu_pct", |_| 21.13)]);
    let others = found(&others, "lag.p95_s");
    assert_eq!((others.part.as_deref(), others.confidence), (Some("the host's CPUs"), Confidence::Low));
    assert!(others.evidence.ends_with("most of it was work of others on this host"), "{}", others.evidence);
}

#[test]
fn a_queue_that_only_wavers_did_not_grow() {
    let cell = soak(&[("queue", "depth", |second| 5000.0 + 300.0 * (second % 2.0))]);
    assert_eq!(found(&cell, "lag.p95_s").part, None);
    let counter = soak(&[("broker", "received", |second| 1000.0 * second)]);
    assert_eq!(found(&counter, "lag.p95_s").part, None, "a counter is no queue");
}

#[test]
fn drops_and_disk_waits_are_signs() {
    let dropped = found(&soak(&[("sys", "dropped", |second| second)]), "lag.p95_s");
    assert_eq!((dropped.part.as_deref(), dropped.confidence), (Some("sys.dropped"), Confidence::Low));
    assert_eq!(found(&soak(&[("host", "io_pressure_pct", |_| 40.0)]), "lag.p95_s").part.as_deref(), Some("the disk"));
}

#[test]
fn drops_of_a_broker_are_not_blamed_on_an_ingest_path_that_lost_nothing() {
    let dropped = |kind: &str, missing: Option<u64>| {
        let mut cell = soak(&[("sys", "dropped", |second| second)]);
        subject(&mut cell, "sys", Subject::Series { names: vec!["dropped".into()], every_ms: 1000, kind: kind.into() });
        subject(&mut cell, "custody", Subject::Phase { kind: "reconcile".into() });
        if let Some(missing) = missing {
            open_window_of(&mut cell, "custody", "reconcile", false, 20.0, 21.0);
            cell.seconds.entry("readings".into()).or_default().insert(1, Second { acked: 100, ..Second::default() });
            let (window, load) = ("custody".into(), "readings".into());
            let custody = Custody { window, load, acked: 100, stored: 100, missing, ..Custody::default() };
            push(&mut cell, Entry::Custody(custody));
        }
        found(&cell, "sys.dropped.delta")
    };
    let blamed = dropped("mqtt_sys", Some(0));
    assert_eq!((blamed.part.as_deref(), blamed.confidence), (Some("a QoS 0 subscriber"), Confidence::High));
    let evidence = "sys.dropped rose by 9 over soak, and all that was acknowledged is stored, so a subscriber at QoS 0 missed them \
        and not the ingest path";
    assert_eq!(blamed.evidence, evidence);
    for (kind, missing) in [("mqtt_sys", Some(3)), ("mqtt_sys", None), ("prometheus", Some(0))] {
        assert_eq!(dropped(kind, missing).part.as_deref(), Some("sys.dropped"), "{kind} {missing:?}");
    }
}

#[test]
fn what_befell_a_container_outweighs_what_was_busy_meanwhile() {
    let of = |metric: &str, kind, times: u32| {
        let mut cell = soak(&[("containers", "listener.throttled_pct", |_| 80.0)]);
        for second in 0..times {
            let (subject, detail) = ("rules".into(), "exit 137".into());
            push(&mut cell, Entry::Event(Event { at: 11.0 + f64::from(second), kind, subject, detail }));
        }
        found(&cell, metric)
    };
    let killed = of("engine.oom_kills", EventKind::OutOfMemory, 2);
    assert_eq!((killed.part.as_deref(), killed.confidence), (Some("rules"), Confidence::High));
    let first = "the kernel killed a process of rules for want of memory: exit 137 (2 times); listener was held back";
    assert!(killed.evidence.starts_with(first), "{}", killed.evidence);
    let ended = of("target.unexpected_exits", EventKind::UnexpectedExit, 1);
    assert!(ended.evidence.starts_with("rules ended although nobody took it down: exit 137; "), "{}", ended.evidence);
    assert_eq!(of("engine.restarts", EventKind::Restarted, 1).part.as_deref(), Some("rules"));
    // What happened beside the gate that decided is not its reason.
    assert_eq!(of("lag.p95_s", EventKind::OutOfMemory, 1).part.as_deref(), Some("listener"));
}

#[test]
fn a_short_generator_is_told_from_a_broker_that_does_not_acknowledge() {
    let mut cell = cell();
    open_window(&mut cell, "soak", true, 10.0, 20.0);
    for second in 0..10_u32 {
        let mut slice = slice(10.0 + f64::from(second), 1_000);
        (slice.offered, slice.cpu_s) = (100, 0.98);
        push(&mut cell, Entry::Slice(slice));
    }
    let short = found(&cell, "readings.offered_ratio");
    assert_eq!((short.part.as_deref(), short.confidence), (Some("the generator"), Confidence::Medium));
    assert!(short.evidence.ends_with("with 98% of one core for its threads"), "{}", short.evidence);
    cell.slices.iter_mut().for_each(|slice| slice.in_flight = 4000);
    let unacknowledged = found(&cell, "readings.offered_ratio");
    assert_eq!(unacknowledged.part.as_deref(), Some("the broker's acknowledgements"));
    assert_eq!(unacknowledged.evidence, "4000 of the 4000 publishes of readings that may wait for their PUBACK did");
}

#[test]
fn a_read_that_missed_is_explained_by_what_was_busy_in_its_own_phase() {
    let mut cell = soak(&[("server", "api.cpu_pct", |_| 3.0)]);
    subject(&mut cell, "list", Subject::Probe { budget_ms: Some(60), budget_source: None });
    open_window_of(&mut cell, "reads", "probe", false, 20.0, 30.0);
    let (probe, window) = ("list".into(), "reads".into());
    push(
        &mut cell,
        Entry::ProbeRun(ProbeRun { probe, window, at: 21.0, cold: false, seconds: 0.9, wrong: None, bytes: 1 }),
    );
    let alone = found(&cell, "list.warm_median_s");
    assert_eq!((alone.part.as_deref(), alone.confidence), (Some("list"), Confidence::Low));
    for second in 0..10 {
        push(&mut cell, Entry::Sample(sample("server", 20.5 + f64::from(second), "api.cpu_pct", 100.0)));
    }
    let explained = found(&cell, "list.warm_median_s");
    assert_eq!((explained.part.as_deref(), explained.confidence), (Some("api"), Confidence::High));
}

#[test]
fn without_evidence_none_is_named() {
    let nothing = found(&soak(&[("server", "listener.cpu_pct", |_| 20.0)]), "lag.p95_s");
    assert_eq!((nothing.part, nothing.confidence), (None, Confidence::Low));
    assert_eq!(found(&soak(&[]), "lag.p95_s").evidence, "nothing is watched that could tell");
}
