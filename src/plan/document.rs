//! The whole plan, as the file says it: one field per top-level table, in the order of a plan file.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    connection::ConnectionTable,
    derived::{Durability, Growth},
    fleet::{Fleet, Message},
    gate::Gate,
    isolation::Isolation,
    ladder::Ladder,
    load::LoadTable,
    phase::PhaseTable,
    probe::ProbeTable,
    quantity::Bytes,
    query::{Clean, QueryTable},
    safety::LiveSafety,
    secret::Secret,
    target::TargetTable,
    watch::WatchTable,
    workflow::Workflow,
};

/// The version of the plan language that this program reads.
pub const FORMAT: u32 = 1;

/// One experiment: what is loaded, how, for how long, what is watched, and what counts as a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "scaler plan, format 1")]
pub struct Plan {
    /// The version of the plan language. This program reads 1.
    #[schemars(range(min = 1, max = 1))]
    pub format: u32,
    /// The experiment's name: letters, digits, `-`, `_` and `.`; part of the result's file name.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub name: String,
    /// The question that the experiment answers, in one sentence. It heads every report.
    #[schemars(length(min = 1))]
    pub question: String,
    /// Another plan that this one changes: tables merge by key, arrays of tables by `name`; a new element is put behind the one before it in this file's list. Relative to this file, as every path is to the file that names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// What this plan leaves out of the one that it extends, such as `"live_safety/url"` or `"phase/reads"`: keys, and names of elements of arrays of tables, joined by `/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Values used elsewhere as `{{ vars.NAME }}`; `--set NAME=VALUE` overrides one that is declared here.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub vars: IndexMap<String, Value>,
    /// Secrets used elsewhere as `{{ secrets.NAME }}`. Their values are never written to a plan, a result or a log.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub secrets: IndexMap<String, Secret>,
    /// The file that `scaler plan init` writes the secrets to (mode 600). Relative to this file. Default: the target's `env_file`, or
    /// the plan's name with `.env`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets_file: Option<String>,
    /// The system under test: how it is started, stopped, killed and inspected.
    pub target: TargetTable,
    /// Systems whose commit is recorded in the result: name to a folder with a git checkout, relative to this file.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub commits: IndexMap<String, String>,
    /// What a `compose` target may never touch; a plan with one needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// When the experiment must give way to a live system or to the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_safety: Option<LiveSafety>,
    /// What the target must not hold yet when the first cell begins; otherwise the run is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean: Option<Clean>,
    /// Named ends that loads, phases, watches and probes talk to.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub connections: IndexMap<String, ConnectionTable>,
    /// The simulated equipment: how many points there are and how they are named and grouped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// Messages that a `publish` phase sends once per site, equip or point.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub messages: IndexMap<String, Message>,
    /// Loads that run beside the phases, from a `hold` that starts them to a `drain` or `hold` that stops them.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub loads: IndexMap<String, LoadTable>,
    /// Named reads of one number, used by `until`, `drain` and the canary.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub queries: IndexMap<String, QueryTable>,
    /// What is sampled on a period while a cell runs.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub watches: IndexMap<String, WatchTable>,
    /// The watches that show whether what is stored is durable from end to end; a result without it is not comparable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    /// What the store's growth is computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// Metrics to the names under which readers know them, for the headings of tables and beside the figures of `results show`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub known_as: IndexMap<String, String>,
    /// Timed reads, run by a `probe` phase.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub probes: IndexMap<String, ProbeTable>,
    /// Sequences of HTTP steps timed as one, run by a `workflow` phase.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub workflows: IndexMap<String, Workflow>,
    /// The steps that the experiment climbs. Without a ladder there is one cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Ladder>,
    /// Phases before the first cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<PhaseTable>,
    /// The phases of each cell, in order.
    #[schemars(length(min = 1))]
    pub phase: Vec<PhaseTable>,
    /// Phases after the last cell; they run also when a cell failed or the run was interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teardown: Vec<PhaseTable>,
    /// The pass conditions. A plan without a gate is refused.
    #[schemars(length(min = 1))]
    pub gate: Vec<Gate>,
    /// Criteria that this experiment does not cover, with the reason; part of every report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<NotCovered>,
    /// What a pass does not prove; part of every report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_proven: Vec<NotProven>,
    /// Figures that `plan check` estimates disk and memory with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<EstimateHints>,
}

/// A criterion that the experiment leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotCovered {
    /// The criterion's name, for merging with `extends` and for comparing results.
    pub name: String,
    /// Why it is not covered.
    #[schemars(length(min = 1))]
    pub reason: String,
}

/// A statement that the result must not be read as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotProven {
    /// A short name, for merging with `extends` and for comparing results.
    pub name: String,
    /// What a pass of this experiment does not prove.
    #[schemars(length(min = 1))]
    pub statement: String,
}

/// Figures for the estimate of disk and memory; they change no measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EstimateHints {
    /// Bytes on disk for each stored row, indexes included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_row: Option<Bytes>,
    /// Bytes of memory of the target for each point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_per_point: Option<Bytes>,
}
