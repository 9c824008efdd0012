//! Watches: what is sampled on a period while a cell runs. A watch that fails leaves a gap with its reason, never a zero.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{one_of::one_of, quantity::Length};

one_of! {
    /// A watch: its period and exactly one body key.
    table WatchTable {
        /// The sampling period. Default 1s.
        #[serde(default = "one_second")]
        every: Length,
    }
    /// What is sampled.
    kind Watch {
        /// CPU, memory and I/O of the target's processes, from `/proc`.
        process => Process(ProcessWatch),
        /// CPU, memory, throttling and I/O of the target's containers, from the engine.
        containers => Containers(ContainersWatch),
        /// Load, CPU, memory, disk and pressure of the host.
        host => Host(HostWatch),
        /// A statement whose columns are the series.
        sql => Sql(SqlWatch),
        /// Numbers in a JSON answer.
        http_json => HttpJson(HttpJsonWatch),
        /// Numbers of a Prometheus exposition.
        prometheus => Prometheus(PrometheusWatch),
        /// The broker's `$SYS` topics.
        mqtt_sys => MqttSys(MqttSysWatch),
        /// A command that prints a number or a JSON object of numbers.
        exec => Exec(ExecWatch),
        /// A marked reading on a period, and the moment when the store shows it.
        canary => Canary(Canary),
    }
}

/// Processes of the target. Series: `SERVICE.cpu_pct` (100 is one core), `.rss_bytes`, `.anon_bytes`, `.file_bytes`, `.swap_bytes`,
/// `.peak_rss_bytes`, `.threads`, `.read_bytes`, `.write_bytes`, `.switches`, `.restarts`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessWatch {
    /// The processes, by their names in the target. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
}

/// Containers of a `compose` target, from the engine's stream of statistics, one a second for each container. Series: `SERVICE.cpu_pct` (100
/// is one core), `.throttled_pct` (periods in which the cap held it back, of those in which it ran), `.memory_bytes` (without the page
/// cache that can be given back), `.anon_bytes`, `.file_bytes`, `.kernel_bytes`, `.memory_cap_pct`, `.read_bytes`, `.write_bytes`,
/// `.processes`, `.restarts`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContainersWatch {
    /// The services, by their names in `target.compose.caps`. Default: all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
}

/// The host. Series: `load1`, `load1_per_cpu`, `cpu_pct` (100 is the whole machine), `steal_pct`, `memory_available_bytes`, `disk_free_bytes`,
/// `cpu_pressure_pct`, `io_pressure_pct`, `memory_pressure_pct`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostWatch {
    /// The folder whose disk is measured. Default: the target's working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
}

/// A statement. Its first row gives the series. A text that is no number is the reason why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlWatch {
    /// The `postgres` or `sqlite` connection.
    pub connection: String,
    /// The statement.
    pub statement: String,
    /// The names of its columns, in their order: the series.
    #[schemars(length(min = 1))]
    pub series: Vec<String>,
    /// A further series: the seconds from the question to the whole answer, as scaler times them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<String>,
}

/// Numbers in a JSON answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpJsonWatch {
    /// The `http` connection.
    pub connection: String,
    /// The path.
    pub path: String,
    /// Series to JSON pointer.
    #[schemars(extend("minProperties" = 1))]
    pub series: IndexMap<String, String>,
    /// A further series: the seconds from the question to the whole answer, as scaler times them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<String>,
}

/// Numbers of a Prometheus exposition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrometheusWatch {
    /// The `http` connection.
    pub connection: String,
    /// The path. Default `/metrics`.
    #[serde(default = "metrics_path")]
    pub path: String,
    /// Series to what is selected; several matches are added up.
    #[schemars(extend("minProperties" = 1))]
    pub series: IndexMap<String, PrometheusSelector>,
}

/// One sample of an exposition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrometheusSelector {
    /// The metric's name.
    pub name: String,
    /// Labels that it must have.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub labels: IndexMap<String, String>,
}

/// The broker's own counters. A topic that never arrives is unmeasured, not zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MqttSysWatch {
    /// The `mqtt` connection.
    pub connection: String,
    /// Series to topic.
    #[schemars(extend("minProperties" = 1))]
    pub series: IndexMap<String, String>,
}

/// A command. A bare number on standard output is the series `value`; a JSON object gives one series for each key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecWatch {
    /// The service of a `compose` target in whose container the command runs, by its name in `target.compose.caps`; it sees that
    /// container's files, network and environment. Default: it runs on this host, in the plan's folder.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The program and its arguments, one each; no shell is involved.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// The series that it must give.
    #[schemars(length(min = 1))]
    pub series: Vec<String>,
}

/// A marked reading: `every` is its period, its value is its number (1, 2, 3, …). Starts by a `hold` that names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Canary {
    /// The `mqtt` connection.
    pub connection: String,
    /// Its own topic.
    pub topic: String,
    /// The payload, a text or a table; may use `{{ value }}`, `{{ ts }}` and `{{ topic }}`.
    pub payload: serde_json::Value,
    /// How `{{ ts }}` is written. Default `unix_ms`.
    #[serde(default)]
    pub ts: super::load::TimestampFormat,
    /// The query that gives the highest number that the store shows.
    pub seen: String,
    /// How often the store is asked; it bounds the resolution. Default 100ms.
    #[serde(default = "tenth")]
    pub poll: Length,
    /// A reading that is not seen after this time is lost. Default 300s.
    #[serde(default = "five_minutes")]
    pub lost_after: Length,
}

fn one_second() -> Length {
    Length::seconds(1)
}
fn metrics_path() -> String {
    "/metrics".to_owned()
}
fn tenth() -> Length {
    Length::millis(100)
}
fn five_minutes() -> Length {
    Length::seconds(300)
}
