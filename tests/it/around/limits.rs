//! Limits of the machine: file descriptors, memory, and a broker that is not there.

use std::{fs, process::Command};

use super::{Going, assert_no_ceiling, cause, stderr, total};
use crate::end_to_end::{Bench, Run};

/// The same command under a limit of the kernel's.
fn limited(bench: &Bench, limit: &str, plan: &str, sets: &[&str]) -> Command {
    let inner = bench.command(plan, sets);
    let mut command = Command::new("prlimit");
    command.arg(limit).arg(inner.get_program()).args(inner.get_args());
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(std::process::Stdio::null());
    for (name, value) in inner.get_envs() {
        command.env(name, value.expect("a value"));
    }
    command
}

#[test]
fn too_few_file_descriptors_are_refused_before_anything_starts() {
    let bench = Bench::new();
    let output =
        limited(&bench, "--nofile=128:128", "tests/plans/many-connections.toml", &[]).output().expect("prlimit");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{words}");
    assert!(words.contains("200 connections need 300 file descriptors"), "{words}");
    assert!(words.contains("the limit is 128") && words.contains("ulimit -n 300"), "{words}");
    let journals = fs::read_dir(bench.results.path()).expect("results").flatten();
    assert_eq!(journals.filter(|entry| entry.path().extension().is_some_and(|end| end == "journal")).count(), 0);
}

#[test]
fn a_soft_limit_of_file_descriptors_is_raised_as_far_as_is_needed() {
    let bench = Bench::new();
    let output =
        limited(&bench, "--nofile=128:4096", "tests/plans/many-connections.toml", &[]).output().expect("prlimit");
    let run = Run::of(output);
    assert_eq!(run.output.status.code(), Some(0), "{}", stderr(&run));
    assert_eq!((total(&run, 0, "disconnects"), run.broken(0)), (0, Vec::new()));
    let made = run.cell(0)["events"].as_array().expect("events").iter().filter(|event| event["kind"] == "connected");
    assert_eq!(made.count(), 200);
}

/// Bytes of a million points at one word each: whoever holds something for a point needs more than is allowed below.
const ALLOWED_KB: u64 = 128 * 1024;

#[test]
fn a_million_points_take_no_memory_of_their_own() {
    let bench = Bench::new();
    let address_space = "--as=2147483648";
    let mut run = Going::of(bench.results.path(), limited(&bench, address_space, "tests/plans/million.toml", &[]));
    let mut peak_kb = 0;
    while !run.has_ended() {
        peak_kb = peak_kb.max(peak_of(run.child().id()).unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let run = run.end();
    assert_eq!(run.output.status.code(), Some(0), "{}", stderr(&run));
    let acked = total(&run, 0, "acked");
    assert!(acked > 10_000, "5000 readings a second for six seconds: {acked}");
    assert_eq!(format!("{acked}"), format!("{}", run.truth(0, "truth", "acknowledged")), "the sink's own count");
    println!("peak RSS of scaler with 1,000,000 points: {peak_kb} kB");
    assert!(peak_kb > 0 && peak_kb < ALLOWED_KB, "peak RSS {peak_kb} kB");
}

/// The greatest RSS of a process so far, kB.
fn peak_of(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

#[test]
fn a_load_that_never_connects_passes_nothing_although_no_gate_is_broken() {
    let bench = Bench::new();
    let run = bench.run("tests/plans/million.toml", &["port=9", "points=100", "interval=1s", "hold=2s"]);
    assert_eq!(run.broken(0), Vec::<String>::new());
    assert_no_ceiling(&run);
    assert_eq!(cause(&run, 0), "generator: load readings wrote no reading");
}
