//! The ladder: which cells there are, and when climbing stops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quantity::{Count, Share};

/// The steps, climbed from the first until one does not pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// What a step is called elsewhere: `variable = "points"` gives `{{ step.points }}`.
    pub variable: String,
    /// The steps, rising.
    #[schemars(length(min = 1, max = super::bounds::LADDER_STEPS))]
    pub steps: Vec<Count>,
    /// Smaller steps that come first on small hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_host: Option<SmallHost>,
    /// Climb on after a step that failed. A refused or interrupted run stops all the same. Default false.
    #[serde(default)]
    pub continue_on_fail: bool,
    /// Search between the highest pass and the lowest fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refine: Option<Refine>,
}

/// Steps for small hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SmallHost {
    /// An expression over `host`, such as `host.cpus < 4`.
    pub when: String,
    /// The steps that come before the others then.
    #[schemars(length(min = 1))]
    pub first: Vec<Count>,
}

/// Bisection between the highest pass and the lowest fail, then confirmation of the ceiling found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refine {
    /// Stop when the gap between pass and fail is at most this share of the pass.
    pub until: Share,
    /// How many further runs of the highest pass must pass. Default 1.
    #[serde(default = "once")]
    #[schemars(range(min = 0, max = 20))]
    pub confirm: u32,
    /// The most cells that the search may add. Default 10.
    #[serde(default = "ten_cells")]
    #[schemars(range(min = 1, max = 50))]
    pub most: u32,
}

fn once() -> u32 {
    1
}
fn ten_cells() -> u32 {
    10
}
