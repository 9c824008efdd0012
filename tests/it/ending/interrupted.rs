//! Ctrl-C once and twice, SIGTERM, a closed terminal: in the middle of an outage that the plan made.

use std::{
    process::{Command, Output, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Going, events, expect_nobody, files, journal, printed, result, wait_for};
use crate::end_to_end::{Bench, Run};

/// Starts a plan and waits until its listener is down.
fn in_the_outage(bench: &Bench, plan: &str) -> Going {
    let run = Going::of(bench, plan);
    run.wait_until("\"taken_down\"");
    run
}

/// What holds after every interruption.
fn expect_interrupted(bench: &Bench, output: Output) -> Value {
    assert_eq!(output.status.code(), Some(5), "{}", printed(&output));
    let run = Run::of(output);
    assert_eq!(run.line["verdict"], "inconclusive");
    assert_eq!(run.line["highest_pass"], Value::Null);
    expect_result(bench)
}

fn expect_result(bench: &Bench) -> Value {
    expect_nobody(bench.results.path());
    let result = result(&files(bench.results.path(), "json").pop().expect("a result"));
    assert_eq!((&result["interrupted"], &result["finished"]["interrupted"]), (&true.into(), &true.into()));
    assert_eq!(result["cells"][0]["cut_short"], "interrupted");
    assert!(files(bench.results.path(), "target").is_empty(), "the working folder goes with the run");
    // Brought back while the run still went on, which is before the target was stopped.
    let back = events(&result, "brought_back");
    assert_eq!(back.len(), 1, "{back:?}");
    assert_eq!(back[0]["subject"], "listener");
    result
}

#[test]
fn interrupted_once_the_load_stops_the_frozen_is_thawed_and_the_result_is_kept() {
    let bench = Bench::new();
    let run = in_the_outage(&bench, "tests/plans/ending-in-pause.toml");
    run.signal(Signal::INT);
    let result = expect_interrupted(&bench, run.end());
    let (down, back) = (&events(&result, "taken_down")[0], &events(&result, "brought_back")[0]);
    assert!(down["detail"].as_str().expect("words").contains("seen stopped"), "{down}");
    assert!(back["detail"].as_str().expect("words").ends_with(": ready"), "{back}");
    // A load that was stopped in order has said what it had offered.
    assert_eq!(result["cells"][0]["schedules"][0]["load"], "readings");
}

#[test]
fn a_wish_to_end_is_an_interruption_and_the_killed_is_started_again() {
    let bench = Bench::new();
    let run = in_the_outage(&bench, "tests/plans/ending-in-kill.toml");
    run.signal(Signal::TERM);
    let result = expect_interrupted(&bench, run.end());
    let back = &events(&result, "brought_back")[0];
    assert!(back["detail"].as_str().expect("words").ends_with(": ready"), "{back}");
}

#[test]
fn interrupted_twice_it_does_not_wait_and_still_brings_back() {
    let bench = Bench::new();
    let run = in_the_outage(&bench, "tests/plans/ending-in-pause.toml");
    // A broker that acknowledges nothing holds up the stop of the load, which is what the second wish cuts short.
    let broker = broker_of(&journal(bench.results.path()).expect("the journal"));
    kill_process(broker, Signal::STOP).expect("it runs");
    std::thread::sleep(Duration::from_millis(500));
    run.signal(Signal::INT);
    run.wait_until("asked to stop (1)");
    run.signal(Signal::INT);
    run.wait_until("asked to stop (2)");
    expect_interrupted(&bench, run.end());
}

/// The broker's process, from the entry of its start.
fn broker_of(journal: &str) -> Pid {
    let entries = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut started =
        entries.filter(|entry| entry["event"]["kind"] == "started" && entry["event"]["subject"] == "broker");
    let detail = started.next_back().expect("a start")["event"]["detail"].as_str().expect("words").to_owned();
    let number = detail.trim_start_matches("process ").split(',').next().and_then(|number| number.parse().ok());
    Pid::from_raw(number.expect("a number")).expect("a process")
}

#[test]
fn a_closed_terminal_is_an_interruption() {
    let bench = Bench::new();
    let command = bench.command("tests/plans/ending-in-pause.toml", &[]);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| word.to_str().expect("UTF-8")).collect::<Vec<_>>().join(" ");
    let mut terminal = Command::new("script")
        .args(["--quiet", "--return", "--command", &format!("exec {line} --yes"), "/dev/null"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("script starts");
    wait_for("the outage", || journal(bench.results.path())?.contains("\"taken_down\"").then_some(()));
    terminal.kill().expect("the terminal is closed");
    terminal.wait().expect("the terminal ends");
    wait_for("a result", || files(bench.results.path(), "json").pop());
    expect_result(&bench);
}

#[test]
fn a_run_that_shall_outlive_its_terminal_does() {
    let bench = Bench::new();
    let command = bench.command("tests/plans/ending-in-pause.toml", &[]);
    let mut deaf = Command::new("sh");
    deaf.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    let run = Going::start(deaf.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()), bench.results.path());
    run.wait_until("\"taken_down\"");
    kill_process(Pid::from_child(&run.child), Signal::HUP).expect("it runs");
    std::thread::sleep(Duration::from_millis(500));
    let entries = journal(bench.results.path()).expect("the journal");
    assert!(!entries.contains("asked to stop"), "the hang-up was no wish of the user");
    run.signal(Signal::INT);
    expect_interrupted(&bench, run.end());
}
