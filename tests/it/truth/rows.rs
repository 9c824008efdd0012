//! The rows.

use serde_json::Value;

use super::{HEALTHY, Row, golden};
use crate::end_to_end::{Bench, Run};

/// The names of readings that scaler gives: missing, surplus or changed.
fn named<'a>(run: &'a Run, which: &str) -> &'a [Value] {
    let custody = &run.cell(0)["custody"][0];
    assert_eq!(custody["identified"], true);
    custody[which].as_array().expect("named readings")
}

/// Whether as many are named as there are, up to the limit of the plan.
fn are_named(run: &Run, which: &str, metric: &str) -> bool {
    let names: Vec<&Value> = named(run, which).iter().collect();
    let count = run.metric(0, metric).min(20.0);
    names.iter().all(|name| name["topic"].as_str().is_some_and(|topic| topic.starts_with("fbf/scale/s0/e")))
        && (f64::from(u32::try_from(names.len()).expect("few names")) - count).abs() < 0.5
}

fn bottleneck(run: &Run) -> String {
    run.cell(0)["verdict"]["bottleneck"].to_string()
}

fn whole(run: &Run) {
    assert!(run.metric(0, "custody.acked") > 500.0);
    for metric in ["custody.missing", "custody.surplus", "custody.changed", "readings.in_doubt"] {
        assert!(run.metric(0, metric).abs() < 0.5, "{metric}");
    }
}

macro_rules! rows {
    ($($name:ident: $row:expr;)+) => {
        $(#[test]
        fn $name() {
            $row.holds();
        })+
    };
}

rows! {
    a_healthy_target_of_four_services_passes: Row { more: whole, ..HEALTHY };

    a_reading_is_dropped_after_its_acknowledgement: Row {
        fault: "dropped after the acknowledgement",
        sets: &["broker_fault=drop_after_ack=50"],
        truth: "broker_truth.dropped",
        equal: &["custody.missing"],
        broken: &["nothing lost"],
        word: "fail",
        cause: "custody.missing = ",
        more: |run| assert!(are_named(run, "missing_named", "custody.missing")),
        ..HEALTHY
    };

    a_reading_is_stored_twice: Row {
        fault: "stored twice",
        sets: &["listener_fault=duplicate=50"],
        truth: "listener_truth.duplicated",
        equal: &["custody.surplus"],
        broken: &["custody.surplus"],
        word: "fail",
        cause: "custody.surplus = ",
        more: |run| assert!(are_named(run, "surplus_named", "custody.surplus")),
        ..HEALTHY
    };

    a_value_is_changed: Row {
        fault: "value changed by 1/1024",
        sets: &["listener_fault=corrupt=50"],
        truth: "listener_truth.corrupted",
        equal: &["custody.changed"],
        broken: &["custody.changed"],
        word: "fail",
        cause: "custody.changed = ",
        more: |run| {
            let step = |said: &Value| said[1].as_str().expect("what is stored instead").to_owned();
            let stored: Vec<String> = named(run, "changed_named").iter().map(step).collect();
            assert!(!stored.is_empty());
        },
        ..HEALTHY
    };

    a_duplicate_hides_a_loss: Row {
        fault: "lost and another stored twice: equal counts",
        sets: &["listener_fault=drop_and_duplicate=50"],
        truth: "listener_truth.dropped",
        equal: &["custody.missing"],
        broken: &["nothing lost", "custody.surplus"],
        word: "fail",
        cause: "custody.missing = ",
        more: |run| {
            let duplicated = run.truth(0, "listener_truth", "duplicated");
            assert!((run.metric(0, "custody.surplus") - duplicated).abs() < 0.5);
            assert!(are_named(run, "missing_named", "custody.missing"));
            assert!(are_named(run, "surplus_named", "custody.surplus"));
        },
        ..HEALTHY
    };

    rows_come_late_and_are_not_called_lost: Row {
        fault: "1 in 10 rows committed 4 s late",
        sets: &["listener_fault=late=10:4s", "late_bar=3s"],
        truth: "listener_truth.late",
        broken: &["no reading comes late"],
        word: "fail",
        cause: "drain.drain_s = ",
        more: whole,
        ..HEALTHY
    };

    rows_that_come_too_late_are_not_called_lost_either: Row {
        fault: "1 in 2 rows committed 4 s late, 2 s allowed",
        sets: &["listener_fault=late=2:4s", "settle=2s"],
        truth: "listener_truth.late",
        broken: &["store at rest"],
        unmeasured: &["nothing lost", "custody.changed", "custody.surplus", "no reading comes late"],
        word: "fail",
        cause: "drain.settled = 0",
        ..HEALTHY
    };

    commits_stall_every_so_often: Row {
        fault: "no commit for 3 s in every 4 s",
        sets: &["listener_fault=stall=3s:4s", "still=4s", "stall_bar=1s"],
        truth: "listener_truth.stalls",
        broken: &["no stall"],
        word: "fail",
        cause: "lag.max_s = ",
        more: whole,
        ..HEALTHY
    };

    memory_leaks: Row {
        fault: "leaks 40 MB each second",
        sets: &["listener_fault=leak=40000000"],
        truth: "listener_truth.leaked",
        broken: &["memory at rest"],
        word: "fail",
        cause: "server.listener.anon_bytes.slope_per_min = ",
        more: |run| {
            whole(run);
            let (leaked, seen) = ("listener_truth.leaked.slope_per_min", "server.listener.anon_bytes.slope_per_min");
            let ratio = run.metric(0, seen) / run.metric(0, leaked);
            assert!((0.8..1.25).contains(&ratio), "the slope of memory is {ratio} of the leak's");
        },
        ..HEALTHY
    };

    reads_slow_with_size: Row {
        fault: "each row read takes 4 ms longer",
        sets: &["api_fault=slow_reads=4ms", "list_budget=500ms"],
        truth: "api_truth.rows_slowed",
        broken: &["list-points within budget", "history-1000 within budget"],
        word: "fail",
        cause: "list-points.warm_median_s = ",
        more: |run| {
            whole(run);
            assert!(bottleneck(run).contains("list-points was the first read to miss"), "{}", bottleneck(run));
        },
        ..HEALTHY
    };

    answers_are_wrong_with_status_200: Row {
        fault: "every list lacks its last row, HTTP 200",
        sets: &["api_fault=wrong_rows=1"],
        truth: "api_truth.wrong",
        broken: &["list-points answers right", "history-1000 answers right"],
        unmeasured: &["list-points within budget", "history-1000 within budget"],
        word: "fail",
        cause: "list-points.failures = ",
        more: |run| {
            whole(run);
            let failures = run.metric(0, "list-points.failures") + run.metric(0, "history-1000.failures");
            assert!((failures - run.truth(0, "api_truth", "wrong")).abs() < 0.5);
        },
        ..HEALTHY
    };

    the_listener_crashes: Row {
        fault: "the listener aborts after 800 rows",
        sets: &["listener_fault=crash=800", "settle=2s"],
        truth: "broker_truth.queued",
        broken: &["store at rest", "lag.lost", "target.unexpected_exits"],
        unmeasured: &["nothing lost", "no reading comes late", "no stall", "lag.p95_s", "no growing backlog"],
        word: "fail",
        cause: "drain.settled = 0",
        more: |run| {
            // What is not stored waits at the broker, beside what was committed and not acknowledged when the process ended.
            let waiting = run.truth(0, "broker_truth", "queued") + run.truth(0, "broker_truth", "inflight");
            let missing = run.cell(0)["custody"][0]["missing"].as_f64().expect("a count");
            let unseen = run.cell(0)["drained"][0]["canaries_unseen"].as_f64().expect("a count");
            assert!(missing > 0.0 && missing + unseen <= waiting, "{missing} and {unseen} of {waiting}");
            let events = run.cell(0)["events"].as_array().expect("events");
            let ended = events.iter().find(|event| event["kind"] == "unexpected_exit").expect("its end is seen");
            assert_eq!(ended["subject"], "listener");
            assert!(ended["detail"].as_str().is_some_and(|detail| detail.starts_with("signal 6")), "{ended}");
        },
        ..HEALTHY
    };

    the_listener_replaces_itself: Row {
        fault: "the listener restarts by itself after 600 rows",
        sets: &["listener_fault=restart=600"],
        truth: "listener_truth.restarts",
        unmeasured: &["listener counts on"],
        word: "inconclusive",
        cause: "unmeasured: stored.rows.delta is unmeasured: it went back from ",
        more: whole,
        ..HEALTHY
    };

    a_prefix_is_denied_by_the_acl: Row {
        fault: "two points denied by the ACL, and acknowledged",
        sets: &["acl_deny=fbf/scale/s0/e3/s", "tags_under=fbf/tags"],
        truth: "broker_truth.denied",
        equal: &["custody.missing"],
        broken: &["nothing lost"],
        word: "fail",
        cause: "custody.missing = ",
        more: |run| {
            let of_equip = |name: &Value| name["topic"].as_str().is_some_and(|topic| topic.starts_with("fbf/scale/s0/e3/s"));
            assert!(named(run, "missing_named").iter().all(of_equip));
        },
        ..HEALTHY
    };

    the_store_s_clock_is_apart: Row {
        fault: "the store writes times 2 s ahead",
        sets: &["listener_fault=clock_apart=2s"],
        truth: "listener_truth.shifted",
        broken: &["nothing lost", "custody.changed", "custody.surplus"],
        word: "fail",
        cause: "custody.missing = ",
        more: |run| {
            // No reading is where it was sent to: all are missing, or another one stands in their place.
            let wrong = run.metric(0, "custody.missing") + run.metric(0, "custody.changed");
            assert!((wrong - run.truth(0, "listener_truth", "shifted")).abs() < 0.5);
        },
        ..HEALTHY
    };

    a_watched_endpoint_stops_answering: Row {
        fault: "`/metrics` stops answering",
        sets: &["broker_fault=mute_metrics=6"],
        truth: "broker_truth.unanswered",
        unmeasured: &["broker counts on"],
        word: "inconclusive",
        cause: "unmeasured: counted.received.delta is unmeasured: ",
        more: whole,
        ..HEALTHY
    };

    a_sys_topic_is_missing: Row {
        fault: "a `$SYS` topic is missing",
        sets: &["broker_fault=missing_sys=publish/messages/dropped"],
        truth: "broker_truth.withheld",
        unmeasured: &["nobody missed a reading"],
        word: "inconclusive",
        cause: "unmeasured: broker_sys.dropped.delta is unmeasured: ",
        more: whole,
        ..HEALTHY
    };

    a_counter_is_reset: Row {
        fault: "a counter goes back to 0 once",
        sets: &["broker_fault=reset_counter=600"],
        truth: "broker_truth.resets",
        unmeasured: &["broker counts on"],
        word: "inconclusive",
        cause: "unmeasured: counted.received.delta is unmeasured: it went back from ",
        more: whole,
        ..HEALTHY
    };

    a_healthy_target_of_all_services_passes: Row {
        fault: "none, all services",
        plan: "truth-services",
        more: |run| {
            whole(run);
            assert!((run.truth(0, "broker_truth", "daemon_dropped")).abs() < 0.5);
        },
        ..HEALTHY
    };

    a_lazy_subscriber_s_queue_overflows: Row {
        fault: "one QoS 0 subscriber's queue overflows",
        plan: "truth-services",
        sets: &["broker_fault=small_queue=daemon:20", "think_ms=50"],
        truth: "broker_truth.daemon_dropped",
        broken: &["nobody missed a reading"],
        word: "fail",
        cause: "broker_sys.dropped.delta = ",
        more: |run| {
            whole(run);
            assert!(bottleneck(run).contains("broker_sys.dropped rose by"), "{}", bottleneck(run));
        },
        ..HEALTHY
    };

    a_stage_waits_and_then_drains: Row {
        fault: "the store-and-forward stage's upstream is away",
        plan: "truth-services",
        sets: &["forward_fault=away=700:5s", "late_bar=1s", "stall_bar=1s"],
        truth: "forward_truth.away",
        broken: &["no reading comes late", "no stall"],
        word: "fail",
        cause: "drain.drain_s = ",
        more: |run| {
            whole(run);
            assert!(run.metric(0, "drain.waiting_s") > 1.0, "a wait, and then a rate");
            let taken = run.truth(0, "forward_truth", "taken");
            assert!((run.truth(0, "forward_truth", "forwarded") - taken).abs() < 0.5);
        },
        ..HEALTHY
    };
}

#[test]
fn a_load_that_the_acl_denies_as_a_whole_is_refused_before_it_starts() {
    let bench = Bench::new();
    let (deny, tags) = ("acl_deny=fbf/scale/", "tags_under=fbf/tags");
    let run = bench.run("tests/plans/truth.toml", &[deny, tags]);
    assert_eq!(run.output.status.code(), Some(4), "refused");
    assert_eq!(run.line["verdict"], "inconclusive");
    let cause = run.cell(0)["verdict"]["cause"].as_str().expect("a cause");
    assert!(cause.contains("`fbf/scale/preflight` was acknowledged and did not reach the store"), "{cause}");
    assert!((run.truth(0, "broker_truth", "denied") - 1.0).abs() < 0.5, "the preflight reading, and nothing else");
    assert_eq!(run.broken(0), Vec::<String>::new());
    let line = format!(
        "| the whole load denied by the ACL | `{deny}`, `{tags}` | broker_truth.denied = 1 | **refused**: {cause} |"
    );
    golden::holds("the whole load denied by the ACL", &line);
}
