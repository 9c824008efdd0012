//! A small stack of its own for each test, in a folder of its own.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    sync::{
        OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU32, Ordering},
    },
};

use scaler::{
    record::entry::{Event, EventKind},
    run::world::Call,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::bench::Bench;

/// A shell that waits for ever and ends at once when it is told to.
pub(crate) const WAITING: &str = "trap 'exit 0' TERM; while :; do sleep 0.2; done";

/// Whoever compares what is on the engine, or uses fixed ports, has it alone.
static ENGINE: RwLock<()> = RwLock::new(());

/// The engine, shared with tests that only look at their own stacks.
pub(crate) fn shared() -> RwLockReadGuard<'static, ()> {
    require_engine();
    ENGINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// The engine, with no other test on it.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    require_engine();
    ENGINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Makes sure that there is an engine with Compose v2, and the images with the scaler that is tested; once.
fn require_engine() {
    static READY: OnceLock<()> = OnceLock::new();
    READY.get_or_init(|| {
        for question in [["info", "--format", "{{.ServerVersion}}"], ["compose", "version", "--short"]] {
            docker(&question);
        }
        let mut build = Command::new("compose/reference/build");
        let status = build.env("SCALER_BINARY", env!("CARGO_BIN_EXE_scaler")).status();
        assert!(status.is_ok_and(|status| status.success()), "the images cannot be built");
    });
}

/// A project name that no other test has.
pub(crate) fn unique(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("scalertest-{}-{}-{name}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A service that runs a shell command from Debian's base image.
pub(crate) fn shell(command: &str) -> Value {
    json!({
        "image": "scaler-reference-base:latest",
        "pull_policy": "never",
        "init": false,
        "command": ["sh", "-c", command.replace('$', "$$")],
        "restart": "on-failure",
        "stop_grace_period": "2s",
    })
}

/// Writes the Compose file and the env file of a stack, and gives the plan's tables for it.
pub(crate) fn stack(home: &Path, project: &str, services: &Value, caps: &Value) -> Value {
    let file = json!({ "services": services });
    fs::write(home.join("compose.yml"), file.to_string()).unwrap();
    fs::write(home.join("stack.env"), "").unwrap();
    json!({
        "target": { "compose": {
            "project": project, "files": ["compose.yml"], "env_file": "stack.env", "caps": caps, "ready_within": "40s"
        } },
        "watches": { "containers": { "every": "1s", "containers": {} } }
    })
}

/// Caps for each of these services.
pub(crate) fn caps(services: &[&str]) -> Value {
    let cap = json!({ "cpus": 0.25, "memory": "32MiB" });
    services.iter().map(|service| ((*service).to_owned(), cap.clone())).collect::<serde_json::Map<_, _>>().into()
}

/// A world with a stack of one waiting service, `web`, that was started.
pub(crate) fn waiting(name: &str) -> (Bench, String) {
    let project = unique(name);
    let home = home();
    let plan = stack(home.path(), &project, &json!({ "web": shell(WAITING) }), &caps(&["web"]));
    let mut bench = Bench::in_home(home, &plan);
    bench.done(Call::StartTarget { fresh: false });
    (bench, project)
}

/// A folder whose name no project has.
pub(crate) fn home() -> TempDir {
    tempfile::Builder::new().prefix("checkout").tempdir().unwrap()
}

/// Runs `docker` and gives what it printed.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = Command::new("docker").args(arguments).output().unwrap();
    let why = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "docker {arguments:?} (`tests/run` starts an engine): {why}");
    String::from_utf8_lossy(&stdout).trim().to_owned()
}

/// Names of what is left of a project.
pub(crate) fn left_of(project: &str) -> String {
    let filter = format!("label=com.docker.compose.project={project}");
    let list = |what: &[&str]| docker(&[what, &["--filter", &filter, "--quiet"]].concat());
    [list(&["ps", "--all"]), list(&["network", "ls"]), list(&["volume", "ls"])].concat()
}

/// Waits for an event of a kind about a service.
pub(crate) fn event_of(bench: &mut Bench, kind: EventKind, service: &str) -> Event {
    if let Some(event) = bench.events(kind).into_iter().find(|event| event.subject == service) {
        return event.clone();
    }
    loop {
        let event = bench.event(kind);
        if event.subject == service {
            return event;
        }
    }
}
