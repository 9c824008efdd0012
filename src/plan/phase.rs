//! Phases: what happens in a cell, in order. Each phase is a named window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    one_of::one_of,
    quantity::{Count, Length},
    target::ten_seconds,
};

one_of! {
    /// One phase: a name and exactly one body key.
    table PhaseTable {
        /// The phase's name, which is also the name of its window and of its metrics' subject.
        name: String,
    }
    /// What a phase does.
    kind Phase {
        /// Send messages once for each site, equip or point, then wait until a query shows them.
        publish => Publish(Publish),
        /// Keep loads and watches running for a time.
        hold => Hold(Hold),
        /// Run timed reads.
        probe => Probe(ProbePhase),
        /// Run a sequence of HTTP steps, timed as one.
        workflow => Workflow(WorkflowPhase),
        /// Take a process of the target down, bring it back, and prove both.
        fault => Fault(Fault),
        /// Stop loads and wait until the store is at rest.
        drain => Drain(Drain),
        /// Compare what was acknowledged with what is stored, second by second.
        reconcile => Reconcile(Reconcile),
        /// Run a command to its end.
        exec => Exec(ExecPhase),
        /// Run a statement.
        sql => Sql(SqlPhase),
    }
}

/// Sends messages and waits until they arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Publish {
    /// The `mqtt` connection.
    pub connection: String,
    /// The messages, by name, in this order.
    #[schemars(length(min = 1))]
    pub messages: Vec<String>,
    /// What must be seen before the phase ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
}

/// A query that must reach a number in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The query.
    pub query: String,
    /// The number that it must reach.
    pub at_least: Count,
    /// How long that may take.
    pub within: Length,
    /// How often it is asked. Default 250ms.
    #[serde(default = "quarter_second")]
    pub poll: Length,
}

/// Keeps things running for a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Loads and canaries that start here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start: Vec<String>,
    /// How long.
    #[serde(rename = "for")]
    pub length: Length,
    /// The window counts for metrics that name no window, and live-safety is watched in it. Default false.
    #[serde(default)]
    pub measure: bool,
    /// Loads and canaries that stop at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

/// Runs timed reads one after another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbePhase {
    /// The probes, by name.
    #[schemars(length(min = 1))]
    pub probes: Vec<String>,
}

/// Runs a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowPhase {
    /// The workflow, by name.
    pub run: String,
}

/// Takes a process of the target down and brings it back. Exactly one of `kill`, `stop`, `pause` and `disconnect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The process, by its name in the target.
    pub service: String,
    /// Send this signal and expect the process to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill: Option<Signal>,
    /// Stop it in its own way: SIGTERM, then SIGKILL after its `stop_within`. Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
    /// Freeze it with SIGSTOP and thaw it with SIGCONT. Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pause: bool,
    /// Cut a container of a `compose` target off all its networks. Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disconnect: bool,
    /// Who sends the signal of `kill` to a container of a `compose` target. Default `engine`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Sender>,
    /// A random wait before it, drawn evenly between these two under `seed`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<RandomWait>,
    /// How long it stays down.
    pub down: Length,
    /// How long it may take to be ready again. Default 30s.
    #[serde(default = "thirty_seconds")]
    pub ready_within: Length,
    /// The query whose first answer ends the outage for those who read: `PHASE.first_query_s`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The retained messages that a new subscriber must get again: `PHASE.retained_replay_s`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retained: Option<Retained>,
    /// How often the sequence is repeated. Default 1.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1_000))]
    pub times: u32,
}

/// Retained messages that are counted before an outage and waited for after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retained {
    /// The `mqtt` connection.
    pub connection: String,
    /// The topic filter, such as `fbf/#`.
    pub topics: String,
}

/// Who sends a signal. The engine marks a container that it killed as stopped by hand, so that no restart policy brings it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// The engine: the container stays down until scaler brings it back.
    Engine,
    /// scaler, to the process on the host: the container's restart policy brings it back, and `down` is not waited for.
    HostPid,
}

/// A seeded random wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomWait {
    /// The shortest wait.
    pub at_least: Length,
    /// The longest wait.
    pub at_most: Length,
    /// The seed; the same seed gives the same waits.
    pub seed: u64,
}

/// A signal by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    /// Ends the process at once; it cannot be caught.
    SigKill,
    /// Asks the process to end.
    SigTerm,
    /// Ends the process with a core dump.
    SigAbrt,
    /// Interrupts the process.
    SigInt,
    /// Asks the process to quit with a core dump.
    SigQuit,
    /// Hangs up.
    SigHup,
}

/// Stops loads and waits until the store is at rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drain {
    /// The loads that stop first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// A canary whose outstanding readings must all be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<String>,
    /// A query whose number must stand still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// How long the number must stand still to count as rest. Default 3s.
    #[serde(default = "three_seconds")]
    pub still: Length,
    /// How long it may take; after it the store counts as not settled.
    pub within: Length,
}

/// Compares the load's ledger with the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reconcile {
    /// The `mqtt_publish` load whose readings are looked for.
    pub load: String,
    /// The `postgres` or `sqlite` connection.
    pub connection: String,
    /// A statement with the columns second (of payload time), rows, sum of values, over `{{ from_s }}` (included) to
    /// `{{ to_s }}` (excluded), Unix seconds.
    pub rows_per_second: String,
    /// A statement with the columns topic, value for every row of one second, over the same two variables; names the readings
    /// of a second that does not agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_of_second: Option<String>,
    /// When readings are missing, the store is compared once more after this time: what has changed by then was late, and nothing is called
    /// lost. Default 5s.
    #[serde(default = "five_seconds")]
    pub ask_again_after: Length,
    /// How many missing or changed readings are named. Default 20.
    #[serde(default = "twenty")]
    pub name_at_most: u32,
}

/// Runs a command to its end; a status other than 0 fails the phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecPhase {
    /// The program and its arguments, one each; no shell is involved.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// How long it may take. Default 10s.
    #[serde(default = "ten_seconds")]
    pub within: Length,
}

/// Runs a statement on a `postgres` connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlPhase {
    /// The connection.
    pub connection: String,
    /// The statement.
    pub statement: String,
    /// A counter that must move by this statement: whoever trusts it later knows that it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<Moves>,
}

/// A counter that is asked before and after a statement, with nothing else that moves it going on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Moves {
    /// The query that reads the counter.
    pub query: String,
    /// By how much it must rise: no less and no more.
    pub by: Count,
    /// How long that may take, because counters lag.
    pub within: Length,
    /// How often it is asked. Default 250ms.
    #[serde(default = "quarter_second")]
    pub poll: Length,
}

fn quarter_second() -> Length {
    Length::millis(250)
}
fn thirty_seconds() -> Length {
    Length::seconds(30)
}
fn three_seconds() -> Length {
    Length::seconds(3)
}
fn five_seconds() -> Length {
    Length::seconds(5)
}
fn once() -> u32 {
    1
}
fn twenty() -> u32 {
    20
}
