//! The end of the program: whatever ends a run, nothing lives on, nothing stands in the way of the next run, and what was found out is kept.

mod consent;
mod defect;
mod display;
mod folder;
mod interrupted;
mod killed;
mod resumed;
mod two_runs;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::end_to_end::Bench;

/// How long anything may take before a test gives up; a slow machine is no failure.
const LIMIT: Duration = Duration::from_mins(2);

/// Asks until there is an answer.
fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A run that goes on.
struct Going {
    child: Child,
    results: PathBuf,
}

impl Going {
    fn start(command: &mut Command, results: &Path) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("scaler starts");
        Self { child, results: results.to_owned() }
    }

    fn of(bench: &Bench, plan: &str) -> Self {
        Self::start(&mut bench.command(plan, &[]), bench.results.path())
    }

    /// Waits until the journal has a text.
    fn wait_until(&self, text: &str) {
        wait_for(text, || journal(&self.results)?.contains(text).then_some(()));
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it still runs");
    }

    fn end(self) -> Output {
        self.child.wait_with_output().expect("scaler ends")
    }
}

/// The text of the newest journal of a folder.
fn journal(results: &Path) -> Option<String> {
    fs::read_to_string(files(results, "journal").pop()?).ok()
}

/// The files of a folder whose names end in a way, by name.
fn files(results: &Path, kind: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(results).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == kind)).collect();
    found.sort();
    found
}

/// The commands of all processes that live and have a folder in their arguments or as their working folder.
fn alive_in(folder: &Path) -> Vec<String> {
    let name = folder.to_str().expect("UTF-8");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let works_there = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        if works_there || command.contains(name) {
            found.push(format!("{} {command}", entry.file_name().display()));
        }
    }
    found
}

/// Waits until no process of a run lives; the kernel may take a moment.
fn expect_nobody(results: &Path) {
    let deadline = Instant::now() + LIMIT;
    while !alive_in(results).is_empty() {
        assert!(Instant::now() < deadline, "still alive: {:?}", alive_in(results));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn scaler(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scaler"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command.output().expect("scaler starts")
}

/// Everything that was printed.
fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[track_caller]
fn expect(output: &Output, code: i32, texts: &[&str]) {
    let all = printed(output);
    assert_eq!(output.status.code(), Some(code), "{all}");
    for text in texts {
        assert!(all.contains(text), "{text:?} is not in:\n{all}");
    }
}

/// A result that follows its schema.
fn result(path: &Path) -> Value {
    let result: Value = serde_json::from_slice(&fs::read(path).expect("the result")).expect("JSON");
    let schema: Value = serde_json::from_str(include_str!("../../schema/result.schema.json")).expect("JSON");
    jsonschema::draft7::new(&schema).expect("a schema").validate(&result).expect("the result follows its schema");
    result
}

/// The events of one kind in a result's cells.
fn events(result: &Value, kind: &str) -> Vec<Value> {
    let cells = result["cells"].as_array().expect("cells").iter();
    let events = cells.flat_map(|cell| cell["events"].as_array().expect("events"));
    events.filter(|event| event["kind"] == kind).cloned().collect()
}
