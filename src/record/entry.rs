//! The journal's entries: what happened, one line of JSON each, in the order in which it became known.
//!
//! Times called `at`, `from` and `to` are seconds since the start of the run on the machine's monotonic clock. Payload seconds
//! are Unix seconds, because the store knows no other.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::{checked::CheckedGate, fleet::Fleet};

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
    /// The cell ended.
    CellFinished(CellFinished),
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
    /// The plan.
    pub plan: PlanIdentity,
    /// The machine.
    pub host: Host,
    /// Commits of the systems that the plan names.
    pub commits: IndexMap<String, String>,
    /// What the generator reached on this host, if `scaler calibrate` was run: messages acknowledged per second.
    pub generator_ceiling_per_s: Option<f64>,
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
    },
    /// A canary.
    Canary {
        /// Its polling period in milliseconds, the resolution of its lags.
        poll_ms: u64,
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

/// One reading of a watch: its series, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The time when the reading was complete.
    pub at: f64,
    /// The watch.
    pub watch: String,
    /// Series to value.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub values: IndexMap<String, f64>,
    /// Series to the reason why it has no value; the key `*` stands for all of them.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub gaps: IndexMap<String, String>,
}

/// What an `mqtt_publish` load did between two moments. Counts are differences, not totals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slice {
    /// The load.
    pub load: String,
    /// The beginning.
    pub from: f64,
    /// The end.
    pub to: f64,
    /// Readings whose due time lies in the slice.
    pub due: u64,
    /// Readings written to a socket for the first time.
    pub offered: u64,
    /// Readings whose PUBACK was seen.
    pub acked: u64,
    /// Readings written again with DUP.
    pub resent: u64,
    /// Readings whose PUBACK did not come in time.
    pub timed_out: u64,
    /// Publishes that wait for their PUBACK at the end of the slice.
    pub in_flight: u64,
    /// Readings that were due and not yet written at the end of the slice.
    pub backlog: u64,
    /// Connections lost.
    pub disconnects: u64,
    /// Connections made again.
    pub reconnects: u64,
    /// Bytes written.
    pub bytes: u64,
    /// CPU seconds of the generator's threads.
    pub cpu_s: f64,
    /// Due to written, microseconds: HDR histogram, V2 serialisation, base64.
    pub schedule_lag: String,
    /// Written to PUBACK, microseconds (service time).
    pub ack_service: String,
    /// Due to PUBACK, microseconds (response time).
    pub ack_response: String,
}

/// The counts of one payload second. Sums are in units of 1/1024, so that they are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// The Unix second of the readings' due times.
    pub second: i64,
    /// Readings due.
    pub due: u64,
    /// Readings written.
    pub offered: u64,
    /// Readings acknowledged.
    pub acked: u64,
    /// The sum of the acknowledged values times 1024.
    pub acked_sum: i64,
    /// Readings written again with DUP.
    pub resent: u64,
}

/// Payload seconds that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// The load.
    pub load: String,
    /// Their counts so far.
    pub seconds: Vec<Second>,
}

/// Readings that were written and never acknowledged. They may be stored or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InDoubt {
    /// The load.
    pub load: String,
    /// Unix second, topic and value times 1024 of each.
    pub readings: Vec<Reading>,
}

/// What a stopped `mqtt_publish` load had offered. Topic, value and due time of each reading follow from it, without a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// The load.
    pub load: String,
    /// When the first reading was due, Unix nanoseconds.
    pub start_unix_ns: u64,
    /// Each point is due once in this time, nanoseconds.
    pub interval_ns: u64,
    /// The seed of the values.
    pub seed: u64,
    /// The template of the topics.
    pub topic: String,
    /// The points.
    pub fleet: Fleet,
    /// How many readings each connection offered; connection `c` of `n` sends the points `p` with `p % n = c`, in the order of their due
    /// times.
    pub offered: Vec<u64>,
}

/// One reading.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The Unix second of its due time.
    pub second: i64,
    /// Its topic.
    pub topic: String,
    /// Its value times 1024.
    pub value: i64,
}

/// One canary reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CanaryReading {
    /// The canary.
    pub canary: String,
    /// Its number from 1.
    pub number: u64,
    /// When it was published.
    pub published: f64,
    /// When the store showed it; none when it never did within the limit.
    pub seen: Option<f64>,
}

/// One run of a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRun {
    /// The probe.
    pub probe: String,
    /// The phase.
    pub window: String,
    /// When it started.
    pub at: f64,
    /// Whether it counts as cold.
    pub cold: bool,
    /// How long it took, seconds.
    pub seconds: f64,
    /// What was wrong with the answer; none when it was right.
    pub wrong: Option<String>,
    /// Bytes of the answer.
    pub bytes: u64,
}

/// One run of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowRun {
    /// The workflow.
    pub workflow: String,
    /// The phase.
    pub window: String,
    /// When it started.
    pub at: f64,
    /// From the first request to the last answer, seconds.
    pub seconds: f64,
    /// Steps to their seconds.
    pub steps: IndexMap<String, f64>,
    /// What went wrong, with the step's name.
    pub wrong: Option<String>,
}

/// The end of a `publish` phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The phase.
    pub window: String,
    /// Messages written.
    pub messages: u64,
    /// Messages acknowledged.
    pub acked: u64,
    /// Until the last PUBACK, seconds.
    pub publish_s: f64,
    /// From the start until the query showed them; none without `until` or when it never did.
    pub visible_s: Option<f64>,
    /// What the query showed last.
    pub seen: Option<f64>,
    /// What it should have shown.
    pub wanted: Option<u64>,
    /// Why the phase did not end well.
    pub wrong: Option<String>,
}

/// One outage that scaler caused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outage {
    /// The phase.
    pub window: String,
    /// The process.
    pub service: String,
    /// `kill SIGKILL`, `stop` or `pause`.
    pub action: String,
    /// When it was taken down.
    pub down_at: f64,
    /// When it was brought back.
    pub up_at: f64,
    /// When it was ready again; none when it never was in time.
    pub ready_at: Option<f64>,
    /// The process identifier before.
    pub pid_before: Option<u32>,
    /// The process identifier after.
    pub pid_after: Option<u32>,
    /// How the process ended, as in `signal 9` or `exit 0`; none for a pause.
    pub ended: Option<String>,
    /// Whether the outage is proven: the process ended as meant and another one runs, or it was seen stopped.
    pub proven: bool,
}

/// The end of a `drain` phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drained {
    /// The phase.
    pub window: String,
    /// Whether the store came to rest within the limit.
    pub settled: bool,
    /// Seconds from the stop of the loads until the query's number last changed; the proof that it stands still comes after.
    pub drain_s: f64,
    /// Seconds until the number first moved.
    pub waiting_s: Option<f64>,
    /// The number at the stop of the loads.
    pub first: Option<f64>,
    /// The number at rest.
    pub last: Option<f64>,
    /// Canary readings still unseen at the end.
    pub canaries_unseen: Option<u64>,
    /// Why it did not settle.
    pub wrong: Option<String>,
}

/// The ledger against the store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Custody {
    /// The phase.
    pub window: String,
    /// The load.
    pub load: String,
    /// Why the store could not be read; everything else is empty then.
    pub wrong: Option<String>,
    /// Readings acknowledged.
    pub acked: u64,
    /// Readings written and never acknowledged.
    pub in_doubt: u64,
    /// Rows in the store over the load's payload seconds.
    pub stored: u64,
    /// Acknowledged readings that are not stored, summed over the seconds.
    pub missing: u64,
    /// Rows that no reading of the load explains.
    pub surplus: u64,
    /// Rows whose reading is known and whose value is another.
    pub changed: u64,
    /// Payload seconds compared.
    pub seconds: u64,
    /// Payload seconds that do not agree.
    pub disagreeing: Vec<SecondOutcome>,
    /// The first missing readings.
    pub missing_named: Vec<Reading>,
    /// The first rows too many.
    pub surplus_named: Vec<Reading>,
    /// The first changed readings: what was sent, and the value that the store holds instead, as it gave it.
    pub changed_named: Vec<(Reading, String)>,
    /// Whether the missing readings are known one by one (`rows_of_second`), or from counts and sums alone.
    pub identified: bool,
}

/// A payload second that does not agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecondOutcome {
    /// The Unix second.
    pub second: i64,
    /// Readings acknowledged.
    pub acked: u64,
    /// Readings in doubt.
    pub in_doubt: u64,
    /// Rows stored.
    pub stored: u64,
    /// Readings missing.
    pub missing: u64,
    /// Rows too many.
    pub surplus: u64,
    /// Rows changed.
    pub changed: u64,
}

/// The end of an `exec` or `sql` phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ran {
    /// The phase.
    pub window: String,
    /// How long it took.
    pub seconds: f64,
    /// What went wrong.
    pub wrong: Option<String>,
    /// The first lines that it printed.
    pub output: String,
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
    /// A phase could not do its work: its name and the reason.
    PhaseFailed(String),
    /// The user asked to stop, or scaler was killed.
    Interrupted,
}

/// The run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFinished {
    /// The time.
    pub at: f64,
    /// Whether the user asked to stop.
    pub interrupted: bool,
}
