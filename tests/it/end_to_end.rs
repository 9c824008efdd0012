//! The main job through the real binary: a plan, real processes, real sockets, a real store, and the exact truth.
//!
//! Each fault of the reference target is switched on by a variable of the plan. The target counts what it did; scaler must report exactly that.

#![expect(clippy::float_cmp, clippy::cast_precision_loss, reason = "counts are whole and compared exactly")]

use std::{
    path::Path,
    process::{Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

pub(crate) use crate::ran::Run;

/// The plans use fixed ports, and two runs at once would measure each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(crate) struct Bench {
    _turn: MutexGuard<'static, ()>,
    pub(crate) results: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        Self { _turn: turn, results: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn command(&self, plan: &str, sets: &[&str]) -> Command {
        Self::command_in(self.results.path(), plan, sets)
    }

    /// The same with another results folder.
    pub(crate) fn command_in(results: &Path, plan: &str, sets: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scaler"));
        command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["plan", "run", plan, "--json", "--results"]);
        command.arg(results).env("SCALEGEN_PASSWORD", SECRET).stdin(Stdio::null());
        for set in sets {
            command.args(["--set", set]);
        }
        command
    }

    pub(crate) fn run(&self, plan: &str, sets: &[&str]) -> Run {
        let output = self.command(plan, sets).output().expect("scaler starts");
        Run::of(output)
    }
}

/// The planted secret, searched for in everything that is written.
const SECRET: &str = "Pl4nted-s3cret-value-0123456789";

/// Leaves a calibration of this host, as `scaler calibrate` does.
fn calibrated(results: &Path, acked_per_s: u64) {
    let host = scaler::host::facts().expect("the facts of this host");
    let reached = serde_json::json!({
        "acked_per_s": acked_per_s, "offered_ratio": 1, "cpu_s_per_million": 0.2, "cpu_pct": 100,
        "schedule_lag_p50_ms": 1, "schedule_lag_p99_ms": 2,
    });
    let calibration = serde_json::json!({ "measured_unix_ms": 1, "unbounded": reached, "paced": reached });
    let kept = serde_json::json!({ "host": host.name, "cpus": host.cpus, "calibration": calibration });
    std::fs::write(results.join("calibration.json"), kept.to_string()).expect("a file in the results folder");
}

#[test]
fn the_healthy_target_passes_every_step_and_nothing_is_found() {
    let bench = Bench::new();
    calibrated(bench.results.path(), 450);
    let run = bench.run("tests/plans/short.toml", &[]);
    assert_eq!(run.output.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.output.stderr));
    assert_eq!(run.line["verdict"], "pass");
    assert_eq!(run.line["highest_pass"], 400);
    // 200 readings a second are 44% of that ceiling, 400 are 89%.
    let near = ["readings asks for 88.9% of what the generator reached on this host (marked above 80%)"];
    for (cell, marked) in [(0, &[][..]), (1, &near[..])] {
        let caveats = run.cell(cell)["verdict"]["caveats"].as_array().expect("caveats");
        let of_ceiling: Vec<&str> = caveats
            .iter()
            .filter_map(Value::as_str)
            .filter(|caveat| caveat.contains("what the generator reached"))
            .collect();
        assert_eq!(of_ceiling, marked);
    }
    for cell in 0..2 {
        assert_eq!(run.broken(cell), Vec::<String>::new());
        assert_eq!(run.metric(cell, "custody.missing"), 0.0);
        assert!(run.metric(cell, "custody.acked") > 500.0);
        assert_eq!(run.metric(cell, "custody.stored"), run.metric(cell, "custody.acked"));
    }
}

#[test]
fn a_reading_dropped_after_its_acknowledgement_is_counted_and_named() {
    let bench = Bench::new();
    let run = bench.run("tests/plans/short.toml", &["broker_fault=drop_after_ack=50"]);
    assert_eq!(run.output.status.code(), Some(1), "{}", String::from_utf8_lossy(&run.output.stderr));
    assert_eq!(run.line["verdict"], "fail");
    assert_eq!(run.line["highest_pass"], Value::Null);
    let dropped = run.truth(0, "broker_truth", "dropped");
    assert!(dropped >= 10.0, "the fault was at work: {dropped}");
    assert_eq!(run.metric(0, "custody.missing"), dropped);
    assert_eq!(run.broken(0), ["nothing lost"]);
    let custody = &run.cell(0)["custody"][0];
    assert_eq!(custody["identified"], true);
    let named = custody["missing_named"].as_array().expect("named readings");
    assert_eq!(named.len() as f64, dropped.min(20.0));
}

#[test]
fn reads_that_slow_with_size_break_their_budget_and_nothing_else() {
    let bench = Bench::new();
    let run = bench.run("tests/plans/short.toml", &["api_fault=slow_reads=1ms"]);
    assert_eq!(run.output.status.code(), Some(1));
    assert_eq!(run.broken(0), ["list-points within budget", "history-1000 within budget"]);
    assert_eq!(run.metric(0, "custody.missing"), 0.0);
    assert!(run.metric(0, "list-points.warm_median_s") >= 0.2, "200 rows of 1 ms each");
    assert!(run.truth(0, "api_truth", "rows_slowed") >= 1200.0, "six reads of 200 rows");
}

#[test]
fn a_killed_listener_that_acknowledged_before_its_commit_loses_exactly_what_scaler_says() {
    let bench = Bench::new();
    let run = bench.run("tests/plans/listener-kill.toml", &["listener_fault=ack_before_commit"]);
    assert_eq!(run.output.status.code(), Some(1), "{}", String::from_utf8_lossy(&run.output.stderr));
    let missing = run.metric(0, "custody.missing");
    assert!(missing > 0.0, "something was in the listener's hands when it was killed");
    assert!(run.broken(0).contains(&"nothing lost".to_owned()));
    assert_eq!(run.metric(0, "kill-listener.outages"), 2.0);
    assert_eq!(run.metric(0, "kill-listener.unproven"), 0.0);
    // What the listener acknowledged to the broker and the store does not hold is what was lost; nothing else was.
    let acked = run.metric(0, "custody.acked");
    let stored = run.metric(0, "custody.stored");
    assert_eq!(acked - stored, missing);
}

#[test]
fn a_killed_listener_that_acknowledges_after_its_commit_loses_nothing() {
    let bench = Bench::new();
    let run = bench.run("tests/plans/listener-kill.toml", &[]);
    assert_eq!(run.output.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.output.stderr));
    assert_eq!(run.metric(0, "custody.missing"), 0.0);
    assert_eq!(run.metric(0, "custody.surplus"), 0.0);
    assert_eq!(run.metric(0, "kill-listener.unproven"), 0.0);
}

#[test]
fn a_planted_secret_is_in_nothing_that_a_run_writes() {
    let bench = Bench::new();
    let run = bench.run("tests/plans/short.toml", &["soak=3s"]);
    let mut written = vec![run.output.stdout.clone(), run.output.stderr.clone()];
    collect_files(bench.results.path(), &mut written);
    assert!(written.len() > 3, "the results folder holds files");
    for bytes in written {
        let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!found, "the secret is in {}", String::from_utf8_lossy(&bytes[..bytes.len().min(200)]));
    }
}

fn collect_files(folder: &Path, written: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            collect_files(&entry.path(), written);
        } else if let Ok(bytes) = std::fs::read(entry.path()) {
            written.push(bytes);
        }
    }
}
