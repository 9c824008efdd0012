//! What was read, counted and waited for in a cell: the entries that figures are made from.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::fleet::Fleet;

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
    /// The longest time between two turns of the generator, seconds: for so long it did not run at all.
    pub stall_s: f64,
    /// Seconds in which a due reading waited because all publishes that a connection may have in flight were, averaged over the connections.
    pub window_full_s: f64,
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
    /// Seconds between the load's first and last payload second, which it filled only in part.
    #[serde(default)]
    pub whole_seconds: u64,
    /// Rows of those seconds.
    #[serde(default)]
    pub stored_in_whole: u64,
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
