//! A run of the real program: while it goes on, and what it left behind.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) struct Run {
    pub(crate) output: Output,
    pub(crate) line: Value,
    pub(crate) result: Value,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = stdout.lines().last().unwrap_or_default();
        let line: Value = serde_json::from_str(last)
            .unwrap_or_else(|error| panic!("{error}: {stdout}\n{}", String::from_utf8_lossy(&output.stderr)));
        let path = line["result"].as_str().expect("a result path");
        let text = std::fs::read_to_string(path).expect("the result file");
        let result = serde_json::from_str(&text).expect("the result is JSON");
        Self { output, line, result }
    }

    pub(crate) fn cell(&self, index: usize) -> &Value {
        &self.result["cells"][index]
    }

    pub(crate) fn metric(&self, cell: usize, name: &str) -> f64 {
        let metric = &self.cell(cell)["metrics"][name];
        metric["value"].as_f64().unwrap_or_else(|| panic!("{name} is {metric}"))
    }

    /// The last reading of a series, after everything was at rest: the target's own count of the truth.
    pub(crate) fn truth(&self, cell: usize, watch: &str, series: &str) -> f64 {
        let samples = self.cell(cell)["samples"].as_array().expect("samples");
        let of_watch = samples.iter().rev().filter(|sample| sample["watch"] == watch);
        let mut values = of_watch.filter_map(|sample| sample["values"][series].as_f64());
        values.next().unwrap_or_else(|| panic!("{watch}.{series} was never read"))
    }

    pub(crate) fn broken(&self, cell: usize) -> Vec<String> {
        let gates = self.cell(cell)["gates"].as_array().expect("gates");
        let broken = gates.iter().filter(|gate| gate["standing"] == "broken");
        broken.map(|gate| gate["name"].as_str().expect("a name").to_owned()).collect()
    }
}

/// A run that goes on while the test acts on what is around it.
pub(crate) struct Going {
    results: PathBuf,
    child: Option<Child>,
}

impl Going {
    /// Starts the command, whose results go to this folder.
    pub(crate) fn of(results: &Path, mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("scaler starts");
        Self { results: results.to_owned(), child: Some(child) }
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it was not ended yet")
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child().try_wait().expect("a child").is_some()
    }

    pub(crate) fn journal_path(&self) -> Option<PathBuf> {
        let files = fs::read_dir(&self.results).ok()?.flatten().map(|entry| entry.path());
        files.filter(|path| path.extension().is_some_and(|end| end == "journal")).max()
    }

    pub(crate) fn journal(&self) -> String {
        self.journal_path().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
    }

    /// Waits until the journal has a line of this kind that holds a text.
    pub(crate) fn until(&mut self, kind: &str, holds: &str) {
        let start = format!("{{\"{kind}\"");
        while !self.journal().lines().any(|line| line.starts_with(&start) && line.contains(holds)) {
            assert!(!self.has_ended(), "no {kind} with {holds} before the end:\n{}", self.last_words());
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn until_phase(&mut self, name: &str) {
        self.until("window_opened", &format!("\"name\":\"{name}\""));
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        let pid = i32::try_from(self.child().id()).ok().and_then(Pid::from_raw).expect("a process identifier");
        kill_process(pid, signal).expect("the signal is sent");
    }

    pub(crate) fn last_words(&mut self) -> String {
        let output = self.child.take().expect("a child").wait_with_output().expect("it ends");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    pub(crate) fn output(mut self) -> Output {
        self.child.take().expect("a child").wait_with_output().expect("it ends")
    }

    pub(crate) fn end(self) -> Run {
        Run::of(self.output())
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What the run said, for the message of an assertion.
pub(crate) fn stderr(run: &Run) -> String {
    format!("{}\n{}", run.line, String::from_utf8_lossy(&run.output.stderr))
}

/// The cause of a cell's word.
pub(crate) fn cause(run: &Run, cell: usize) -> &str {
    run.cell(cell)["verdict"]["cause"].as_str().unwrap_or_default()
}

/// How a gate ended.
pub(crate) fn standing<'a>(run: &'a Run, cell: usize, name: &str) -> &'a str {
    let gates = run.cell(cell)["gates"].as_array().expect("gates");
    let gate = gates.iter().find(|gate| gate["name"] == name).unwrap_or_else(|| panic!("no gate {name}"));
    gate["standing"].as_str().expect("a standing")
}

/// A count of all slices of the cell's load, whatever the window.
pub(crate) fn total(run: &Run, cell: usize, count: &str) -> u64 {
    let slices = run.cell(cell)["slices"].as_array().expect("slices");
    slices.iter().map(|slice| slice[count].as_u64().unwrap_or_else(|| panic!("{count} of {slice}"))).sum()
}

/// The events of a kind, in words.
pub(crate) fn events<'a>(run: &'a Run, cell: usize, kind: &str) -> Vec<&'a str> {
    let events = run.cell(cell)["events"].as_array().expect("events");
    events.iter().filter(|event| event["kind"] == kind).filter_map(|event| event["detail"].as_str()).collect()
}

/// Nothing was called a ceiling, and no further step was tried.
pub(crate) fn assert_no_ceiling(run: &Run) {
    let verdict = &run.result["verdict"];
    assert_eq!(verdict["word"], "inconclusive", "{verdict}");
    assert_eq!(run.output.status.code(), Some(2), "{}", stderr(run));
    assert_eq!((&verdict["highest_pass"], &verdict["lowest_fail"]), (&Value::Null, &Value::Null));
    assert_eq!(run.result["cells"].as_array().map(Vec::len), Some(1), "the ladder stops");
}

/// Everything that was acknowledged is stored, nothing else, and nothing is left in doubt.
#[expect(clippy::float_cmp, reason = "counts are whole")]
pub(crate) fn assert_custody_is_whole(run: &Run, cell: usize) {
    for name in ["missing", "surplus", "changed", "in_doubt"] {
        assert_eq!(run.metric(cell, &format!("custody.{name}")), 0.0, "{name}");
    }
    let acked = run.metric(cell, "custody.acked");
    assert!(acked > 100.0, "{acked} readings were acknowledged");
    assert_eq!(run.metric(cell, "custody.stored"), acked);
}
