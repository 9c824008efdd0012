//! The fleet: simulated equipment, and the messages that describe it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{connection::yes, quantity::Count};

/// How many points there are and how they are grouped. Point `i` belongs to equip `i / points_per_equip`, equip `e` to
/// site `e / equips_per_site`, and its label is the `i % points_per_equip`-th.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    /// The number of points, as a rule `"{{ step.points }}"`.
    pub points: Count,
    /// Points of one equip. Default 10.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 10_000))]
    pub points_per_equip: u32,
    /// Equips of one site. Default 50, so that a site has 500 points.
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub equips_per_site: u32,
    /// The points' names within an equip, repeated with a number behind when there are fewer than points. Default `p0`, `p1`, ….
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// What a message is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Each {
    /// Once for the whole fleet.
    Fleet,
    /// Once for each site.
    Site,
    /// Once for each equip.
    Equip,
    /// Once for each point.
    Point,
}

/// A message that a `publish` phase sends once for each thing. Topic and payload may use `{{ site }}`, `{{ equip }}`,
/// `{{ label }}`, `{{ point }}` (the index), `{{ labels }}` (the list of the equip's labels), `{{ sequence }}` and `{{ ts }}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// What it is sent for.
    pub each: Each,
    /// The topic.
    pub topic: String,
    /// The payload: a text, or a table that becomes a JSON object. A string inside the table that holds JSON stays a JSON string.
    pub payload: Value,
    /// Quality of service, 0 or 1. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1))]
    pub qos: u8,
    /// Ask the broker to keep the message for later subscribers. Default true.
    #[serde(default = "yes")]
    pub retain: bool,
}

fn ten() -> u32 {
    10
}
fn fifty() -> u32 {
    50
}
pub(super) fn one() -> u8 {
    1
}
