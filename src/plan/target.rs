//! The target: the system under test.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    one_of::one_of,
    quantity::{Bytes, Length},
};

one_of! {
    /// The system under test, by exactly one body key.
    table TargetTable {}
    /// What the target is.
    kind Target {
        /// Commands that scaler starts as its children, each with a working folder of its own, and stops again.
        processes => Processes(Processes),
        /// A Docker Compose project with images, volumes and ports of its own.
        compose => Compose(Compose),
        /// A system that is already running: never started, stopped or killed.
        external => External(External),
    }
}

/// A target made of child processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Processes {
    /// The processes by name, started in this order (`after` moves one behind others) and stopped in reverse.
    pub services: IndexMap<String, Service>,
    /// Start every cell on a fresh target: all processes stopped, working folders emptied, all started. Default false.
    #[serde(default)]
    pub fresh_per_cell: bool,
}

/// One child process of the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// The program and its arguments, one each; no shell is involved. `{{ run.scaler }}` is this program, `{{ run.folder }}`
    /// the working folder of the whole target.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Environment variables; nothing else but `PATH`, `HOME`, `LANG` and `TZ` is passed on. Secrets belong here, never in `command`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    /// Files that are written into the process's working folder before each start, name to text. Only the process's user may read
    /// them (mode 600), so secrets may stand here.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub files: IndexMap<String, String>,
    /// The user to run as when scaler runs as root, for programs that refuse root, such as PostgreSQL; the working folder becomes
    /// theirs. Without root the process runs as whoever runs scaler. Default: the same user as scaler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The process is a step: it must end by itself with status 0 within this time, before the processes behind it start. It runs
    /// once for each fresh working folder. Default: the process runs until it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_within: Option<Length>,
    /// Processes that must be ready, and steps that must have ended, before this one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// How scaler knows that the process serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// Loopback ports that the process listens on; the run is refused when something else holds one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// The CPUs that the process may use, as in `"0"` or `"2-5,7"`. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpuset: Option<String>,
    /// How long the process may take to end after SIGTERM before it is killed. Default 10s.
    #[serde(default = "ten_seconds")]
    pub stop_within: Length,
}

impl Processes {
    /// The names of the processes that run until they are stopped: all but the steps.
    pub fn lasting(&self) -> impl Iterator<Item = &String> {
        self.services.iter().filter(|(_, service)| service.ends_within.is_none()).map(|(name, _)| name)
    }
}

/// The sign that a process serves. Exactly one of `tcp` and `http`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// `HOST:PORT` accepts a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<String>,
    /// The URL answers with status 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// How long that may take from the start. Default 10s.
    #[serde(default = "ten_seconds")]
    pub within: Length,
}

/// A target made of containers: a Docker Compose project, started by `docker compose` v2 with an emptied environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compose {
    /// The project's name; every container, network and volume of the target carries it.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9_-]*$"))]
    pub project: String,
    /// The Compose files, relative to the plan; later ones override earlier ones.
    #[schemars(length(min = 1))]
    pub files: Vec<String>,
    /// The file that fills `${NAME}` in the Compose files, relative to the plan; also where `scaler plan init` writes the plan's secrets,
    /// unless `secrets_file` names another.
    pub env_file: String,
    /// Further variables for the Compose files, such as faults of the reference stack. Secrets belong in `env_file`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub variables: IndexMap<String, String>,
    /// The host's CPUs that all containers share, as in `"2-5"`. Default: all; `SCALE_CPUSET` in the environment overrides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpuset: Option<String>,
    /// Caps by service. A service without one is refused. `SCALE_CPUS_<SERVICE>` and `SCALE_MEM_<SERVICE>` in the environment override them.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub caps: IndexMap<String, Caps>,
    /// The most that one container's log may take on disk, in three files. Default 150MB.
    #[serde(default = "log_size")]
    pub log_size: Bytes,
    /// How long all containers together may take to be healthy. Default 5m.
    #[serde(default = "five_minutes")]
    pub ready_within: Length,
    /// Start every cell on a fresh target: containers and volumes removed, all started. Default false.
    #[serde(default)]
    pub fresh_per_cell: bool,
}

impl Target {
    /// The services that a plan can name: the processes, or the containers that it caps.
    #[must_use]
    pub fn services(&self) -> Vec<&str> {
        match self {
            Self::Processes(processes) => processes.services.keys().map(String::as_str).collect(),
            Self::Compose(compose) => compose.caps.keys().map(String::as_str).collect(),
            Self::External(_) => Vec::new(),
        }
    }
}

/// What one container may use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// CPUs; more than the host has is lowered to what it has, and the result says so.
    #[schemars(range(min = 0.01, max = 4096))]
    pub cpus: f64,
    /// Memory; swap is not given on top of it.
    pub memory: Bytes,
}

/// A target that scaler only talks to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct External {
    /// What it is and who runs it, in one sentence.
    #[schemars(length(min = 1))]
    pub description: String,
}

fn log_size() -> Bytes {
    Bytes(150_000_000)
}
fn five_minutes() -> Length {
    Length::seconds(300)
}
pub(super) fn ten_seconds() -> Length {
    Length::seconds(10)
}
