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

/// One test, because both plans use the same project and ports.
#[test]
fn the_reference_stack_passes_its_step_and_loses_nothing_in_a_crash() {
    let _turn = alone();
    let (code, result) = run(&["plans/reference.toml", "--set", "soak=20s"]);
    assert_eq!((code, &result["verdict"]["word"]), (Some(0), &"pass".into()), "{}", result["cells"][0]["gates"]);
    for (name, least) in [
        ("custody.acked", 4_000.0),
        ("lag.n", 50.0),
        ("containers.postgres.cpu_pct.mean", 0.1),
        ("containers.postgres.anon_bytes.max", 1e6),
        ("db.chunks.last", 1.0),
        ("db.total_bytes.last", 1e5),
        ("broker_sys.heap_bytes.last", 1e4),
    ] {
        assert!(metric(&result, name) >= least, "{name}: {}", metric(&result, name));
    }
    for name in ["custody.missing", "engine.foreign_changes", "engine.restarts", "target.unexpected_exits"] {
        assert!(metric(&result, name).abs() < f64::EPSILON, "{name}");
    }

    let (code, result) = run(&["plans/crash.toml", "--set", "points=200", "--set", "down=5s"]);
    assert_eq!(code, Some(0), "{}", result["cells"][0]["gates"]);
    for name in ["custody.missing", "custody-postgres.missing", "custody-random-kills.missing"] {
        assert!(metric(&result, name).abs() < f64::EPSILON, "{name}");
    }
    assert!((metric(&result, "kill-postgres-at-random.outages") - 2.0).abs() < f64::EPSILON);

    let (code, result) = run(&[
        "plans/crash.toml",
        "--set",
        "points=200",
        "--set",
        "down=5s",
        "--set",
        "listener_fault=ack_before_commit",
    ]);
    assert_eq!((code, &result["verdict"]["word"]), (Some(1), &"fail".into()));
    let of_all = |name: &str| {
        let custodies = ["custody", "custody-postgres", "custody-random-kills"];
        custodies.map(|custody| metric(&result, &format!("{custody}.{name}"))).iter().sum::<f64>()
    };
    let (acked, stored, missing) = (of_all("acked"), of_all("stored"), of_all("missing"));
    assert!(missing > 0.0, "readings that were acknowledged and not committed die with the listener");
    assert!((acked - stored - missing).abs() < f64::EPSILON, "{acked} acked, {stored} stored, {missing} missing");
}
