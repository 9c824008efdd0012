//! Live-safety: when the experiment must give way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quantity::{Bytes, Length};

/// Samples the live system and the host through every measured hold. When it trips, the load stops at once and the cell is
/// inconclusive: nothing is called a ceiling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveSafety {
    /// A cheap GET on the live system. Default: only the host is watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The sampling period. Default 5s.
    #[serde(default = "five_seconds")]
    pub every: Length,
    /// How many bad samples in a row trip it. Default 3.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 100))]
    pub bad_samples: u32,
    /// Latency is bad above this factor of its baseline before the run. Default 3.
    #[serde(default = "three_times")]
    pub latency_factor: f64,
    /// Latency is bad only when it is also this much above its baseline. Default 500ms.
    #[serde(default = "half_second")]
    pub latency_floor: Length,
    /// Load per CPU is bad above this factor of its baseline. Default 1.5.
    #[serde(default = "one_and_a_half")]
    pub load_factor: f64,
    /// Load per CPU is bad only when it is also at least this. Default 2.
    #[serde(default = "two")]
    pub load_floor: f64,
    /// The disk of the target's working folder may not fall below this; one sample is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_floor: Option<Bytes>,
}

fn five_seconds() -> Length {
    Length::seconds(5)
}
fn three() -> u32 {
    3
}
fn three_times() -> f64 {
    3.0
}
fn half_second() -> Length {
    Length::millis(500)
}
fn one_and_a_half() -> f64 {
    1.5
}
fn two() -> f64 {
    2.0
}
