//! Faults around the target, through the real binary: the generator that is held up, the path, the disks, the live service, the limits.
//!
//! Each test knows the truth from somewhere else than scaler, and demands exactly that truth, the right word and cause, and nothing else broken.

mod broker;
mod clock;
mod database;
mod disk;
mod generator;
mod limits;
mod live;
mod path;

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::end_to_end::{Bench, Run};

/// A run that goes on while the test acts on what is around it.
struct Going<'a> {
    bench: &'a Bench,
    child: Option<Child>,
}

impl<'a> Going<'a> {
    fn start(bench: &'a Bench, plan: &str, sets: &[&str]) -> Self {
        Self::of(bench, bench.command(plan, sets))
    }

    fn of(bench: &'a Bench, mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("scaler starts");
        Self { bench, child: Some(child) }
    }

    fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it was not ended yet")
    }

    fn has_ended(&mut self) -> bool {
        self.child().try_wait().expect("a child").is_some()
    }

    fn journal_path(&self) -> Option<PathBuf> {
        let files = fs::read_dir(self.bench.results.path()).ok()?.flatten().map(|entry| entry.path());
        files.filter(|path| path.extension().is_some_and(|end| end == "journal")).max()
    }

    fn journal(&self) -> String {
        self.journal_path().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
    }

    /// Waits until the journal has a line of this kind that holds a text.
    fn until(&mut self, kind: &str, holds: &str) {
        let start = format!("{{\"{kind}\"");
        while !self.journal().lines().any(|line| line.starts_with(&start) && line.contains(holds)) {
            assert!(!self.has_ended(), "no {kind} with {holds} before the end:\n{}", self.last_words());
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn until_phase(&mut self, name: &str) {
        self.until("window_opened", &format!("\"name\":\"{name}\""));
    }

    fn signal(&mut self, signal: Signal) {
        let pid = i32::try_from(self.child().id()).ok().and_then(Pid::from_raw).expect("a process identifier");
        kill_process(pid, signal).expect("the signal is sent");
    }

    fn last_words(&mut self) -> String {
        let output = self.child.take().expect("a child").wait_with_output().expect("it ends");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    fn output(mut self) -> std::process::Output {
        self.child.take().expect("a child").wait_with_output().expect("it ends")
    }

    fn end(self) -> Run {
        Run::of(self.output())
    }
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What the run said, for the message of an assertion.
fn stderr(run: &Run) -> String {
    format!("{}\n{}", run.line, String::from_utf8_lossy(&run.output.stderr))
}

/// The cause of a cell's word.
fn cause(run: &Run, cell: usize) -> &str {
    run.cell(cell)["verdict"]["cause"].as_str().unwrap_or_default()
}

/// How a gate ended.
fn standing<'a>(run: &'a Run, cell: usize, name: &str) -> &'a str {
    let gates = run.cell(cell)["gates"].as_array().expect("gates");
    let gate = gates.iter().find(|gate| gate["name"] == name).unwrap_or_else(|| panic!("no gate {name}"));
    gate["standing"].as_str().expect("a standing")
}

/// A count of all slices of the cell's load, whatever the window.
fn total(run: &Run, cell: usize, count: &str) -> u64 {
    let slices = run.cell(cell)["slices"].as_array().expect("slices");
    slices.iter().map(|slice| slice[count].as_u64().unwrap_or_else(|| panic!("{count} of {slice}"))).sum()
}

/// The events of a kind, in words.
fn events<'a>(run: &'a Run, cell: usize, kind: &str) -> Vec<&'a str> {
    let events = run.cell(cell)["events"].as_array().expect("events");
    events.iter().filter(|event| event["kind"] == kind).filter_map(|event| event["detail"].as_str()).collect()
}

/// Nothing was called a ceiling, and no further step was tried.
fn assert_no_ceiling(run: &Run) {
    let verdict = &run.result["verdict"];
    assert_eq!(verdict["word"], "inconclusive", "{verdict}");
    assert_eq!(run.output.status.code(), Some(2), "{}", stderr(run));
    assert_eq!((&verdict["highest_pass"], &verdict["lowest_fail"]), (&Value::Null, &Value::Null));
    assert_eq!(run.result["cells"].as_array().map(Vec::len), Some(1), "the ladder stops");
}

/// Everything that was acknowledged is stored, nothing else, and nothing is left in doubt.
#[expect(clippy::float_cmp, reason = "counts are whole")]
fn assert_custody_is_whole(run: &Run, cell: usize) {
    for name in ["missing", "surplus", "changed", "in_doubt"] {
        assert_eq!(run.metric(cell, &format!("custody.{name}")), 0.0, "{name}");
    }
    let acked = run.metric(cell, "custody.acked");
    assert!(acked > 100.0, "{acked} readings were acknowledged");
    assert_eq!(run.metric(cell, "custody.stored"), acked);
}
