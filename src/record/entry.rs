//! The journal's entries: what happened, one line of JSON each, in the order in which it became known.
//!
//! Times called `at`, `from` and `to` are seconds since the start of the run on the machine's monotonic clock. Payload seconds
//! are Unix seconds, because the store knows no other.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::reading::{
    CanaryReading, Custody, Drained, InDoubt, Ledger, Outage, ProbeRun, Published, Ran, Reading, Sample, Schedule,
    Second, SecondOutcome, Slice, Timed, WorkflowRun,
};
pub use super::target::{NeighboursCompared, ServiceInForce, TargetInForce};
use crate::plan::checked::CheckedGate;

/// The version of journals and results that this program writes and reads.
pub const FORMAT: u32 = 1;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The run began. Always the first entry.
    RunStarted(Box<RunStarted>),
    /// A cell began.
    CellStarted(CellStarted),
    /// A phase began.
    WindowOpened(WindowOpened),
    /// The phase that is open ended.
    WindowClosed(WindowClosed),
    /// A watch was read.
    Sample(Sample),
    /// What a load did in a stretch of time.
    Slice(Slice),
    /// Payload seconds of a load whose counts changed; each replaces what was known of that second.
    Ledger(Ledger),
    /// The readings of a stopped load that are neither acknowledged nor lost.
    InDoubt(InDoubt),
    /// What a stopped load had offered, so that each reading can be named again.
    Schedule(Schedule),
    /// A canary's fate.
    Canary(CanaryReading),
    /// One run of a probe.
    ProbeRun(ProbeRun),
    /// One run of a workflow.
    WorkflowRun(WorkflowRun),
    /// A `publish` phase ended.
    Published(Published),
    /// One outage of a `fault` phase.
    Outage(Outage),
    /// A `drain` phase ended.
    Drained(Drained),
    /// A `reconcile` phase ended.
    Custody(Custody),
    /// An `exec` or `sql` phase ended.
    Ran(Ran),
    /// Something worth knowing.
    Event(Event),
    /// The target's containers were started: what is in force for them.
    Target(TargetInForce),
    /// What else is on the engine was compared.
    Neighbours(NeighboursCompared),
    /// The cell ended.
    CellFinished(CellFinished),
    /// The run goes on; the cells before this entry were copied from the journal of the run that was interrupted.
    Resumed(Resumed),
    /// The run ended. Its absence means that scaler was killed.
    RunFinished(RunFinished),
}

/// Everything about the run that is known before the first cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// The version of the result format.
    pub format: u32,
    /// `YYYYMMDDTHHMMSSZ`, unique in the results folder.
    pub run_id: String,
    /// Wall clock at the start, Unix milliseconds.
    pub started_unix_ms: u64,
    /// The full command.
    pub command: Vec<String>,
    /// The version of scaler.
    pub scaler_version: String,
    /// Which build of it: the size of the program's file, and when it was written. None in results from before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaler_build: Option<String>,
    /// The plan.
    pub plan: PlanIdentity,
    /// The machine.
    pub host: Host,
    /// Commits of the systems that the plan names.
    pub commits: IndexMap<String, String>,
    /// What the generator reached on this host, if `scaler calibrate` was run: messages acknowledged per second.
    pub generator_ceiling_per_s: Option<f64>,
    /// Whether the live URL could be asked; `--no-live-check` forbids it.
    #[serde(default = "looked")]
    pub live_check: bool,
}

/// Results before this was recorded come from runs that looked, unless their command says otherwise.
#[must_use]
pub fn looked() -> bool {
    true
}

/// The plan as it was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanIdentity {
    /// The plan's name.
    pub name: String,
    /// The question.
    pub question: String,
    /// The path as it was given.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// The texts of the plans that it extends, by path.
    #[serde(default)]
    pub bases: IndexMap<String, String>,
    /// SHA-256 of the text.
    pub sha256: String,
    /// SHA-256 of the effective gates.
    pub gates_sha256: String,
    /// The effective variables.
    pub vars: IndexMap<String, Value>,
    /// The steps that were meant.
    pub steps: Vec<Option<u64>>,
    /// The name of the step variable.
    pub step_name: Option<String>,
    /// Criteria left out: name and reason.
    pub not_covered: IndexMap<String, String>,
    /// What a pass does not prove: name and statement.
    pub not_proven: IndexMap<String, String>,
    /// Metrics to the names under which readers know them.
    #[serde(default)]
    pub known_as: IndexMap<String, String>,
}

/// The machine that the run used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// The host's name.
    pub name: String,
    /// Number of CPUs online.
    pub cpus: u64,
    /// The CPU's model.
    pub cpu_model: String,
    /// The CPUs that scaler may use, as in `0-3`.
    pub affinity: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Free bytes on the disk of the results folder.
    pub disk_free_bytes: u64,
    /// Load average over one minute at the start.
    pub load1_at_start: f64,
    /// The kernel's release.
    pub kernel: String,
}

/// The cell that begins, with its gates as they will be judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellStarted {
    /// The time.
    pub at: f64,
    /// The cell's number from 0.
    pub cell: u32,
    /// The cell's name, such as `points=2500`.
    pub name: String,
    /// The step.
    pub step: Option<u64>,
    /// The condition, in experiments that have some.
    pub condition: Option<String>,
    /// 1 for the first run of this step, 2 for the second, ….
    pub repeat: u32,
    /// The subjects that metrics can be taken of, and their kinds.
    pub subjects: IndexMap<String, Subject>,
    /// The gates.
    pub gates: Vec<CheckedGate>,
}

/// What a metric's subject is; it decides which metrics there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// An `mqtt_publish` load.
    MqttPublish {
        /// Readings per second that the plan asks for, rounded up.
        nominal_per_s: u64,
        /// The number of points.
        points: u64,
        /// Readings that may wait for their PUBACK at once over all connections.
        inflight: u64,
    },
    /// An `exec` load.
    ExecLoad,
    /// A watch whose samples are series.
    Series {
        /// The names of its series.
        names: Vec<String>,
        /// The sampling period in milliseconds.
        every_ms: u64,
        /// The key of the watch's kind: `containers`, `mqtt_sys`, ….
        #[serde(default)]
        kind: String,
    },
    /// A canary.
    Canary {
        /// Its polling period in milliseconds, the resolution of its lags.
        poll_ms: u64,
        /// The period of its readings in milliseconds; 0 when it is not known.
        #[serde(default)]
        every_ms: u64,
    },
    /// A probe.
    Probe {
        /// Its budget in milliseconds.
        budget_ms: Option<u64>,
        /// Where the budget comes from.
        budget_source: Option<String>,
    },
    /// A phase, by the key of its kind.
    Phase {
        /// The key: `publish`, `hold`, ….
        kind: String,
    },
    /// The target as a whole: `target.unexpected_exits`.
    Target,
    /// The container engine: `engine.oom_kills` and what is on it beside the target.
    Engine,
    /// Live-safety: `live_safety.trips`.
    LiveSafety,
    /// Durability from end to end: `durability.comparable`.
    Durability {
        /// The watch of the settings on the server.
        server: String,
        /// The watch of the settings on the ingest path.
        ingest: String,
    },
    /// What the store grows by.
    Growth {
        /// The `reconcile` phase whose rows are counted.
        custody: String,
        /// The series with the bytes of a row, as `WATCH.SERIES`.
        bytes_per_row: String,
        /// The series with the bytes of the store, as `WATCH.SERIES`.
        total_bytes: Option<String>,
    },
}

/// A phase begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowOpened {
    /// The time.
    pub at: f64,
    /// The phase's name.
    pub name: String,
    /// The phase's kind.
    pub kind: String,
    /// Whether it counts for metrics that name no window.
    pub measured: bool,
}

/// A phase ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowClosed {
    /// The time.
    pub at: f64,
    /// The phase's name.
    pub name: String,
}

/// Something worth knowing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The time.
    pub at: f64,
    /// What kind of event.
    pub kind: EventKind,
    /// What it is about: a load, service or watch.
    pub subject: String,
    /// In words.
    pub detail: String,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A connection of the generator was made.
    Connected,
    /// A connection of the generator was lost; the detail has the reason.
    Disconnected,
    /// A broker refused a connection.
    Refused,
    /// A publish waited too long for its PUBACK.
    AckTimeout,
    /// A process of the target ended although nobody took it down.
    UnexpectedExit,
    /// The kernel killed a process of a container for want of memory.
    OutOfMemory,
    /// The engine's restart policy started a container again.
    Restarted,
    /// The engine's events could not be followed for a while: why.
    EngineLost,
    /// What is on the engine beside the target was compared with what was there before; the detail has both hashes.
    OthersCompared,
    /// Something on the engine that is not ours is not as it was.
    OtherChanged,
    /// A process of the target was started.
    Started,
    /// A process of the target was taken down by the plan.
    TakenDown,
    /// A process of the target was brought back.
    BroughtBack,
    /// Live-safety tripped; the detail has the cause.
    LiveSafety,
    /// The user asked to stop.
    Interrupted,
    /// A phase could not do its work; the rest of the cell was left out.
    PhaseFailed,
    /// Anything else.
    Note,
}

/// The cell ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellFinished {
    /// The time.
    pub at: f64,
    /// The cell's number.
    pub cell: u32,
    /// Whether all phases were run; otherwise why not.
    pub cut_short: Option<CutShort>,
}

/// Why a cell ended before its last phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CutShort {
    /// Live-safety tripped: the cause.
    LiveSafety(String),
    /// The disk had less room left than the plan's floor: how much.
    DiskLow(String),
    /// A phase could not do its work: its name and the reason.
    PhaseFailed(String),
    /// The user asked to stop, or scaler was killed.
    Interrupted,
}

/// A run goes on where another was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resumed {
    /// The run that was interrupted.
    pub run_id: String,
    /// Its whole cells, which were kept.
    pub cells: u32,
    /// The latest moment that is known of it.
    pub stopped_at: f64,
    /// When this run went on; between the two moments nobody looked.
    pub at: f64,
}

/// The run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFinished {
    /// The time.
    pub at: f64,
    /// Whether the user asked to stop.
    pub interrupted: bool,
}
