//! The pipeline's folder, and runs of its plans.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::RwLockWriteGuard,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    compose::bench::{alone, docker, home, left_of},
    ran::{Going, Run},
};

/// The files of the pipeline and of the live stack beside it.
const FILES: [&str; 5] = ["compose.yml", "live.pl", "live.toml", "live.yml", "pipeline.toml"];

/// The pipeline's project.
pub(super) const PROJECT: &str = "scalepipe";

/// A folder with the pipeline's files, on an engine that no other test uses meanwhile.
pub(super) struct Pipeline {
    pub(super) home: TempDir,
    pub(super) results: TempDir,
    _turn: RwLockWriteGuard<'static, ()>,
}

impl Pipeline {
    /// The broker queues so many messages for each session, and drops what comes beyond.
    pub(super) fn new(queue: u32) -> Self {
        let turn = alone();
        let home = home();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/pipeline");
        for file in FILES {
            fs::copy(source.join(file), home.path().join(file)).unwrap();
        }
        let broker = format!(
            "listener 1883\nallow_anonymous true\nsys_interval 1\nmax_inflight_messages 200\nmax_queued_messages {queue}\n"
        );
        fs::write(home.path().join("mosquitto.conf"), broker).unwrap();
        fs::write(home.path().join("stack.env"), "").unwrap();
        fs::create_dir(home.path().join("data")).unwrap();
        Self { home, results: tempfile::tempdir().unwrap(), _turn: turn }
    }

    /// `scaler plan run` of one of the plans, not started yet.
    pub(super) fn command(&self, plan: &str, sets: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scaler"));
        command.current_dir(self.home.path()).stdin(Stdio::null());
        command.args(["plan", "run", plan, "--json", "--results"]).arg(self.results.path());
        let home = format!("home={}", self.home.path().display());
        for set in sets.iter().copied().chain([home.as_str()]) {
            command.args(["--set", set]);
        }
        command
    }

    pub(super) fn start(&self, plan: &str, sets: &[&str]) -> Going {
        Going::of(self.results.path(), self.command(plan, sets))
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // Only a test that failed, or that leaves the stack up on purpose, leaves something.
        let down = ["compose", "--project-name", PROJECT, "--file"];
        let file = self.home.path().join("compose.yml").display().to_string();
        let arguments = [&down[..], &[&file, "down", "--volumes", "--timeout", "1"]].concat();
        let _ = Command::new("docker").env("THINK_MS", "0").args(arguments).output();
    }
}

/// The container of a service.
pub(super) fn container(service: &str) -> String {
    format!("{PROJECT}-{service}-1")
}

/// The host's process of a service.
pub(super) fn pid(service: &str) -> String {
    let pid = docker(&["inspect", "--format", "{{.State.Pid}}", &container(service)]);
    assert_ne!(pid, "0", "{service} does not run");
    pid
}

/// Nothing of the pipeline is left on the engine.
pub(super) fn assert_nothing_is_left() {
    assert_eq!(left_of(PROJECT), "");
}

/// The part that is named as the bottleneck of a cell, and the evidence.
pub(super) fn bottleneck(run: &Run, cell: usize) -> (Option<&str>, &str) {
    let bottleneck = &run.cell(cell)["verdict"]["bottleneck"];
    (bottleneck["part"].as_str(), bottleneck["evidence"].as_str().unwrap_or_default())
}

/// How a run ended: its exit code, and the words of its cells.
pub(super) fn ended(run: &Run) -> (Option<i32>, Vec<&str>) {
    let cells = run.result["cells"].as_array().unwrap();
    let words = cells.iter().map(|cell| cell["verdict"]["word"].as_str().unwrap_or_default());
    (run.output.status.code(), words.collect())
}

/// The subjects of the events of a kind.
pub(super) fn subjects<'a>(run: &'a Run, cell: usize, kind: &str) -> Vec<&'a str> {
    let events = run.cell(cell)["events"].as_array().unwrap();
    let of_kind = events.iter().filter(|event: &&Value| event["kind"] == kind);
    of_kind.filter_map(|event| event["subject"].as_str()).collect()
}
