//! The shipped plans for containers, run for real with shorter times.

use std::process::{Command, Output};

use serde_json::Value;

use super::bench::alone;

/// Runs a plan and gives its exit code and its result.
fn run(arguments: &[&str]) -> (Option<i32>, Value) {
    let results = tempfile::tempdir().unwrap();
    let init = Command::new(env!("CARGO_BIN_EXE_scaler")).args(["plan", "init", arguments[0]]).output().unwrap();
    assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
    let mut command = Command::new(env!("CARGO_BIN_EXE_scaler"));
    command.args(["plan", "run", "--json", "--no-live-check", "--results"]).arg(results.path()).args(arguments);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    let line: Value = serde_json::from_slice(&stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    let path = line["result"].as_str().unwrap_or_else(|| panic!("no result: {stderr}"));
    (status.code(), serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

/// The value of a metric in the first cell.
fn metric(result: &Value, name: &str) -> f64 {
    let metric = &result["cells"][0]["metrics"][name];
    metric["value"].as_f64().unwrap_or_else(|| panic!("{name} is {metric}; gates: {}", result["cells"][0]["gates"]))
}

/// What seed and plan call each figure, with the least that it must be on the reference stack; `None` for what the stack cannot have, which must be
/// unmeasured with this reason.
const FIGURES: &[(&str, Result<f64, &str>)] = &[
    // generator.achieved_rps, offered_ratio
    ("readings.acked_per_s", Ok(1.0)),
    ("readings.offered_ratio", Ok(0.5)),
    // ingest.acked, stored, stored_ratio, stored_rps, stored_rps_per_host_cpu, broker_dropped_delta, rows_per_day_at_this_rate
    ("custody.acked", Ok(4_000.0)),
    ("custody.stored", Ok(4_000.0)),
    ("custody.stored_ratio", Ok(1.0)),
    ("db.rows_written.per_s", Ok(1.0)),
    ("custody.stored_per_s_per_cpu", Ok(1.0)),
    ("broker_sys.dropped.delta", Ok(0.0)),
    ("growth.rows_per_day", Ok(86_400.0)),
    // lag.*
    ("lag.n", Ok(50.0)),
    ("lag.p50_s", Ok(0.0)),
    ("lag.p95_s", Ok(0.0)),
    ("lag.max_s", Ok(0.0)),
    ("lag.first_third_median_s", Ok(0.0)),
    ("lag.last_third_median_s", Ok(0.0)),
    ("lag.lost", Ok(0.0)),
    // broker.*
    ("broker_sys.received.delta", Ok(1.0)),
    ("broker_sys.sent.delta", Ok(1.0)),
    ("broker_sys.stored.last", Ok(1_000.0)),
    ("broker_sys.stored_bytes.last", Ok(10_000.0)),
    ("broker_sys.load_received_1min.last", Ok(1.0)),
    ("broker_sys.heap_bytes.last", Ok(1e4)),
    // resources.<service>, containers.<service>
    ("containers.postgres.cpu_pct.mean", Ok(0.1)),
    ("containers.postgres.anon_bytes.max", Ok(1e6)),
    ("containers.mqtt_listener.memory_cap_pct.max", Ok(0.1)),
    ("containers.oxigraph.memory_bytes.max", Ok(1e6)),
    ("containers.gateway.restarts.last", Ok(0.0)),
    ("engine.oom_kills", Ok(0.0)),
    // samples[].pg_roundtrip_s
    ("pg.roundtrip_s.median", Ok(1e-6)),
    // db.*
    ("db.chunks.last", Ok(1.0)),
    ("db.chunk_interval_s.last", Ok(21_600.0)),
    ("db.table_bytes.last", Ok(1e5)),
    ("db.index_bytes.last", Ok(1e5)),
    ("db.bytes_per_row.last", Ok(10.0)),
    ("db.database_bytes.last", Ok(1e6)),
    ("growth.bytes_per_day", Ok(1e6)),
    ("compression.compressed_chunks.last", Ok(0.0)),
    ("compression.before_bytes.last", Err("no chunk is compressed (edition: apache)")),
    ("compression.after_bytes.last", Err("no chunk is compressed (edition: apache)")),
    // graph.ingest_s, tags_per_s, triples, count_*_s
    ("tags.visible_s", Ok(1e-6)),
    ("tags.messages_per_s", Ok(1.0)),
    ("graph.triples.last", Ok(4_000.0)),
    ("graph.count_s.median", Ok(1e-6)),
    // probes[]
    ("read-points.warm_median_s", Ok(1e-6)),
    ("read-equips.warm_median_s", Ok(1e-6)),
    ("read-all-equips-today.warm_median_s", Ok(1e-6)),
    ("his-read-1000.warm_median_s", Ok(1e-6)),
    ("ops-status.warm_median_s", Ok(1e-6)),
    // rules.<service>.median_cycle_s, cx_run_s
    ("rules.fault_detector_cycle_s.last", Ok(2.9)),
    ("rules.derivation_engine_cycle_s.last", Ok(0.9)),
    ("cx.seconds", Ok(1e-6)),
    // durability.comparable
    ("durability.comparable", Ok(1.0)),
];

fn assert_figures(result: &Value) {
    for (name, expected) in FIGURES {
        match expected {
            Ok(least) => assert!(metric(result, name) >= *least, "{name}: {} < {least}", metric(result, name)),
            Err(reason) => {
                let why = result["cells"][0]["metrics"][*name]["unmeasured"].as_str().unwrap_or_default();
                assert!(why.contains(reason), "{name}: {why:?}");
            }
        }
    }
}

/// One test, because both plans use the same project and ports.
#[test]
fn the_reference_stack_passes_its_step_and_loses_nothing_in_a_crash() {
    let _turn = alone();
    // A busy machine is slow to read; what is tested here is that each read is right.
    let patient = ["lists_budget=30s", "history_budget=30s", "status_budget=30s", "soak=20s", "steps=[1000]"];
    let sets: Vec<&str> = patient.iter().flat_map(|set| ["--set", set]).collect();
    let (code, result) = run(&[&["plans/reference.toml"], &sets[..]].concat());
    assert_eq!((code, &result["verdict"]["word"]), (Some(0), &"pass".into()), "{}", result["cells"][0]["gates"]);
    assert_figures(&result);
    for name in
        ["custody.missing", "custody.changed", "engine.foreign_changes", "engine.restarts", "target.unexpected_exits"]
    {
        assert!(metric(&result, name).abs() < f64::EPSILON, "{name}");
    }

    let short = ["--set", "points=200", "--set", "down=5s"];
    let (code, result) = run(&[&["plans/crash.toml"], &short[..]].concat());
    assert_eq!(code, Some(0), "{}", result["cells"][0]["gates"]);
    for name in ["custody.missing", "custody-postgres.missing", "custody-random-kills.missing"] {
        assert!(metric(&result, name).abs() < f64::EPSILON, "{name}");
    }
    assert!(metric(&result, "kill-listener.retained_replay_s") > 0.0, "200 tags and 200 readings are retained");
    assert!((metric(&result, "kill-postgres-at-random.outages") - 2.0).abs() < f64::EPSILON);
    assert!((metric(&result, "kill-postgres.exit_code") - 137.0).abs() < f64::EPSILON);
    assert!(metric(&result, "kill-postgres.first_query_s") >= 5.0, "it was down for five seconds");
    assert!(metric(&result, "kill-postgres.wal_replay_s") >= 0.0);
    assert!((metric(&result, "custody-random-kills.kills") - 4.0).abs() < f64::EPSILON);
    let bound = metric(&result, "custody-random-kills.loss_chance_upper");
    assert!((bound - (1.0 - 0.05_f64.powf(0.25))).abs() < 1e-9, "{bound}");

    let early = ["--set", "listener_fault=ack_before_commit"];
    let (code, result) = run(&[&["plans/crash.toml"], &short[..], &early[..]].concat());
    assert_eq!((code, &result["verdict"]["word"]), (Some(1), &"fail".into()));
    let of_all = |name: &str| {
        let custodies = ["custody", "custody-postgres", "custody-random-kills"];
        custodies.map(|custody| metric(&result, &format!("{custody}.{name}"))).iter().sum::<f64>()
    };
    let (acked, stored, missing) = (of_all("acked"), of_all("stored"), of_all("missing"));
    assert!(missing > 0.0, "readings that were acknowledged and not committed die with the listener");
    assert!((acked - stored - missing).abs() < f64::EPSILON, "{acked} acked, {stored} stored, {missing} missing");
}
