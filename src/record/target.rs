//! What was in force for a target of containers, and what stood beside it on the engine.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A target of containers as it was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetInForce {
    /// When it was ready.
    pub at: f64,
    /// The version of the engine.
    pub engine: String,
    /// The version of cgroups that caps are kept by: `1` or `2`.
    pub cgroup: String,
    /// The version of Compose.
    pub compose: String,
    /// The project.
    pub project: String,
    /// Whether this run started it; otherwise it was up already, and was left up.
    pub started_here: bool,
    /// The services.
    pub services: IndexMap<String, ServiceInForce>,
    /// Hazards that the plan allows by name, in words.
    pub allowed: Vec<String>,
}

/// One service of it, as the engine has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceInForce {
    /// The container.
    pub container: String,
    /// The identifier of its image.
    pub image: String,
    /// The CPUs that it may use; none without a cap.
    pub cpus: Option<f64>,
    /// The CPUs that were asked for, when the host has fewer and the cap was lowered to those.
    pub cpus_clamped_from: Option<f64>,
    /// The bytes of memory that it may use; none without a cap.
    pub memory_bytes: Option<u64>,
    /// The CPUs that it is confined to, as in `2-5`; none for all of the host.
    pub cpuset: Option<String>,
    /// The environment variables that its caps and CPU set come from, when they are not the plan's.
    pub overridden_by: Vec<String>,
}

/// All that is on the engine and not ours, compared with what was there before the target was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeighboursCompared {
    /// When it was compared.
    pub at: f64,
    /// How many containers, networks, volumes and images of others there were before.
    pub things: u64,
    /// SHA-256 over all of them and their facts before the target was started.
    pub sha256_before: String,
    /// The same at the comparison.
    pub sha256_after: String,
    /// What changed: the thing, and how.
    pub changed: Vec<(String, String)>,
}
