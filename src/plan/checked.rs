//! What the plan means: every name resolved, every default filled, every cell's numbers known.
//!
//! [`Checked`] is the whole experiment. [`Checked::cell`] fills the plan for one step of the ladder; the interpreter
//! runs a [`CellPlan`] and has nothing left to decide.

use std::fmt;

use indexmap::IndexMap;
use serde_json::Value;

use crate::problem::{Place, Problems};

use super::{
    connection::Connection,
    derived::{Durability, Growth},
    document::{NotCovered, NotProven},
    fleet::{Fleet, Message},
    gate::{Comparison, Miss, Unit},
    isolation::Isolation,
    ladder::Ladder,
    load::Load,
    page::Page,
    phase::Phase,
    probe::Probe,
    quantity::Length,
    query::{Clean, Query},
    safety::LiveSafety,
    secret::Secret,
    target::Target,
    watch::Watch,
    workflow::Workflow,
};

/// A plan that was checked for every step of its ladder, and found without errors.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The parts that are the same in all cells.
    pub header: Header,
    /// The texts of the plans that this one extends, by path.
    pub bases: IndexMap<String, String>,
    /// What can be run, but will not say what one may hope.
    pub warnings: Problems,
    /// What each step costs, in the ladder's order.
    pub estimates: Vec<StepEstimate>,
    pub(super) page: Page,
}

impl Checked {
    /// The plan for a step, also for one between those of the ladder (a search asks for such). Without a run, texts that use `run` and
    /// `secrets` stay as they are.
    ///
    /// # Errors
    /// When the plan cannot be filled for this step, such as for want of a secret's value.
    pub fn cell(&self, step: Option<u64>, run: Option<&RunScope>) -> Result<CellPlan, Problems> {
        self.page.cell(step, run)
    }

    /// The plan filled for the first step, as JSON: what was written, with `extends`, `--set` and templates applied, without defaults.
    #[must_use]
    pub fn effective(&self) -> &Value {
        &self.page.first.value
    }

    /// The file and line where the value at a JSON pointer into [`Checked::effective`] was written.
    #[must_use]
    pub fn origin(&self, pointer: &str) -> Option<(String, usize)> {
        let place = self.place(pointer)?;
        Some((place.source.name.clone(), place.line_and_column().0))
    }

    /// The place where the value at a JSON pointer into [`Checked::effective`] was written.
    #[must_use]
    pub fn place(&self, pointer: &str) -> Option<Place> {
        self.page.first.tree.at(pointer).map(|node| node.place.clone())
    }
}

/// What is known when a cell begins: `{{ run.scaler }}`, `{{ run.folder }}`, `{{ run.id }}` and `{{ secrets.NAME }}`.
#[derive(Clone, PartialEq, Eq)]
pub struct RunScope {
    /// The path of this program.
    pub scaler: String,
    /// The working folder of the target.
    pub folder: String,
    /// The run's name.
    pub id: String,
    /// The values of the declared secrets.
    pub secrets: IndexMap<String, String>,
}

/// Never shows a secret.
impl fmt::Debug for RunScope {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secrets: Vec<&String> = self.secrets.keys().collect();
        let mut shown = out.debug_struct("RunScope");
        shown.field("scaler", &self.scaler).field("folder", &self.folder).field("id", &self.id);
        shown.field("secrets", &secrets).finish()
    }
}

/// The plan for one cell: one step of the ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct CellPlan {
    /// The step's number, if there is a ladder.
    pub step: Option<u64>,
    /// The system under test.
    pub target: Target,
    /// What a `compose` target may never touch.
    pub isolation: Isolation,
    /// The named ends.
    pub connections: IndexMap<String, Connection>,
    /// The simulated equipment.
    pub fleet: Option<Fleet>,
    /// The messages of `publish` phases.
    pub messages: IndexMap<String, Message>,
    /// The loads.
    pub loads: IndexMap<String, Load>,
    /// The named reads of one number.
    pub queries: IndexMap<String, Query>,
    /// The watches.
    pub watches: IndexMap<String, CheckedWatch>,
    /// The probes.
    pub probes: IndexMap<String, CheckedProbe>,
    /// The workflows.
    pub workflows: IndexMap<String, Workflow>,
    /// Phases before the first cell.
    pub setup: Vec<NamedPhase>,
    /// The phases of the cell.
    pub phases: Vec<NamedPhase>,
    /// Phases after the last cell.
    pub teardown: Vec<NamedPhase>,
    /// The pass conditions in the plan's order; those that follow from budgets come last.
    pub gates: Vec<CheckedGate>,
    /// What the target must not hold yet when the first cell begins.
    pub clean: Option<Clean>,
    /// When to give way.
    pub live_safety: Option<LiveSafety>,
    /// The watches that show durability.
    pub durability: Option<Durability>,
    /// What growth is computed from.
    pub growth: Option<Growth>,
}

/// A phase and its name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPhase {
    /// The phase's name, also that of its window.
    pub name: String,
    /// What it does.
    pub phase: Phase,
}

/// A watch and its period.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedWatch {
    /// The sampling period.
    pub every: Length,
    /// What is sampled.
    pub watch: Watch,
}

/// A probe with its counts and its budget.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedProbe {
    /// Cold runs, the first ones.
    pub cold: u32,
    /// Warm runs.
    pub warm: u32,
    /// The most that the warm median may be.
    pub budget: Option<Length>,
    /// Where the budget comes from.
    pub budget_source: Option<String>,
    /// What is read.
    pub probe: Probe,
}

/// A gate whose names are resolved.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct CheckedGate {
    /// The gate's name, unique in the plan.
    pub name: String,
    /// The metric's full name, such as `lag.p95_s` or `server.store.cpu_pct.max`.
    pub metric: String,
    /// The window.
    pub window: Window,
    /// The comparison.
    pub comparison: Comparison,
    /// The bound in the metric's base unit.
    pub bound: f64,
    /// The bound as the plan wrote it.
    pub bound_text: String,
    /// The metric's unit.
    pub unit: Unit,
    /// What a miss means.
    pub miss: Miss,
    /// The cause of an inconclusive miss.
    pub cause: Option<String>,
    /// Whether a broken bound is a proof.
    pub proof: bool,
    /// The gate that must hold as well.
    pub requires: Option<String>,
    /// Why the bar is where it is.
    pub because: Option<String>,
}

/// The part of a cell that a metric is taken over.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Window {
    /// The phase's name; none means every phase with `measure = true`, or the whole cell when no phase measures.
    pub phase: Option<String>,
    /// The part of it.
    pub part: Part,
}

/// A part of a window, by time.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// The first half.
    FirstHalf,
    /// The last half.
    LastHalf,
    /// The first third.
    FirstThird,
    /// The middle third.
    MiddleThird,
    /// The last third.
    LastThird,
}

impl Part {
    /// The parts by the names that stand behind a window's `/`.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("first_half", Self::FirstHalf),
        ("last_half", Self::LastHalf),
        ("first_third", Self::FirstThird),
        ("middle_third", Self::MiddleThird),
        ("last_third", Self::LastThird),
    ];

    /// The part of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, part)| *part)
    }
}

/// What a step costs, as far as the plan says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepEstimate {
    /// The step.
    pub step: Option<u64>,
    /// Seconds, when every phase takes its stated time and each wait a tenth of its limit.
    pub seconds: f64,
    /// Seconds, when every wait takes its limit.
    pub seconds_at_most: f64,
    /// MQTT messages.
    pub messages: u64,
    /// Rows stored.
    pub rows: u64,
    /// Bytes on disk; none without `estimate.bytes_per_row`.
    pub disk_bytes: Option<u64>,
    /// Bytes of the target's memory; none without `estimate.memory_per_point`.
    pub memory_bytes: Option<u64>,
}

/// The facts of the host that a plan may ask for; known when it is checked.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct HostFacts {
    /// CPUs that this process may use.
    pub cpus: u64,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The host's name.
    pub name: String,
}

/// The parts of a plan that are the same in all cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The experiment's name.
    pub name: String,
    /// Its question.
    pub question: String,
    /// The plan's text as it was read.
    pub text: String,
    /// SHA-256 of the text, hexadecimal.
    pub sha256: String,
    /// SHA-256 of the effective gates alone, hexadecimal: the same bars give the same hash.
    pub gates_sha256: String,
    /// The effective variables.
    pub vars: IndexMap<String, Value>,
    /// The declared secrets.
    pub secrets: IndexMap<String, Secret>,
    /// The file of the secrets, relative to the plan.
    pub secrets_file: String,
    /// Systems whose commit is recorded: name to folder, relative to the plan.
    pub commits: IndexMap<String, String>,
    /// The ladder.
    pub ladder: Option<Ladder>,
    /// The steps in order, those for small hosts included; one `None` without a ladder.
    pub steps: Vec<Option<u64>>,
    /// Criteria left out.
    pub not_covered: Vec<NotCovered>,
    /// What a pass does not prove.
    pub not_proven: Vec<NotProven>,
    /// Metrics to the names under which readers know them.
    pub known_as: IndexMap<String, String>,
}
