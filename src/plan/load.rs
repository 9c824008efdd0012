//! Loads: what runs beside the phases until it is stopped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    fleet::one,
    one_of::one_of,
    quantity::{Length, Share},
    target::ten_seconds,
};

one_of! {
    /// A load, by exactly one body key.
    table LoadTable {}
    /// What kind of load it is.
    kind Load {
        /// The fleet's readings over MQTT: each point once per interval, spread evenly over it.
        mqtt_publish => MqttPublish(MqttPublish),
        /// A command that runs until it is stopped.
        exec => Exec(ExecLoad),
    }
}

/// The fleet's readings. Topic and payload may use `{{ site }}`, `{{ equip }}`, `{{ label }}`, `{{ point }}` (the index),
/// `{{ value }}`, `{{ ts }}`, `{{ sequence }}` and, in the payload, `{{ topic }}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MqttPublish {
    /// The `mqtt` connection.
    pub connection: String,
    /// Each point is published once in this time.
    pub interval: Length,
    /// The topic of a point's readings.
    pub topic: String,
    /// The payload: a text, or a table that becomes a JSON object; a string that is only one placeholder keeps the value's type.
    pub payload: Value,
    /// How `{{ ts }}`, the reading's due time, is written. Default `unix_ms`.
    #[serde(default)]
    pub ts: TimestampFormat,
    /// Quality of service, 0 or 1. Custody needs 1. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1))]
    pub qos: u8,
    /// Ask the broker to keep the last reading of each point. Default true.
    #[serde(default = "super::connection::yes")]
    pub retain: bool,
    /// How many connections share the points. Default 1.
    #[serde(default = "one_connection")]
    #[schemars(range(min = 1, max = 10_000))]
    pub connections: u32,
    /// How many publishes of one connection may wait for their PUBACK. Default 2000.
    #[serde(default = "window")]
    #[schemars(range(min = 1, max = 65_535))]
    pub inflight: u32,
    /// After this time without its PUBACK a publish counts as timed out, and the connection is made anew. Default 10s.
    #[serde(default = "ten_seconds")]
    pub ack_timeout: Length,
    /// How fast a late generator may catch up, as a share of the nominal rate. Default 200%.
    #[serde(default = "double")]
    pub catch_up: Share,
    /// How a lost connection is made again.
    #[serde(default)]
    pub reconnect: Reconnect,
    /// Readings that must reach the store before the first cell, so that a broker which acknowledges what its ACL denies is found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preflight: Option<Preflight>,
}

/// How a timestamp is written in a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimestampFormat {
    /// Whole milliseconds since 1970, a number.
    #[default]
    UnixMs,
    /// Seconds since 1970 with three decimals, a number.
    UnixS,
    /// RFC 3339 in UTC with milliseconds, a string.
    Rfc3339,
}

/// Exponential back-off with seeded jitter: attempt k waits `first × 2^k`, at most `max`, less a random share of up to `jitter`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reconnect {
    /// The first wait. Default 100ms.
    pub first: Length,
    /// The longest wait. Default 5s.
    pub max: Length,
    /// The random share taken off each wait. Default 50%.
    pub jitter: Share,
    /// The seed of the jitter. Default 1.
    pub seed: u64,
}

impl Default for Reconnect {
    fn default() -> Self {
        Self { first: Length::millis(100), max: Length::seconds(5), jitter: Share(0.5), seed: 1 }
    }
}

/// One reading per connection and topic prefix that must be seen in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preflight {
    /// The query that counts the preflight readings in the store; it may use `{{ preflight.topic }}`, and must reach 1.
    pub query: String,
    /// The topic of the preflight reading, under the same prefix and account as the load.
    pub topic: String,
    /// How long it may take. Default 10s.
    #[serde(default = "ten_seconds")]
    pub within: Length,
}

/// A command that runs as a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecLoad {
    /// The program and its arguments, one each; no shell is involved.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
}

fn one_connection() -> u32 {
    1
}
fn window() -> u32 {
    2_000
}
fn double() -> Share {
    Share(2.0)
}
