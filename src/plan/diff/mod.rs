//! What changes in meaning between two plans: what a reviewer of a pull request must see.
//!
//! Both plans are compared as they will be run, merged, filled and with every default: a value that is spelled otherwise
//! (`"60s"` for `"1m"`, a default written out) is no change. Gates are compared by the values that they accept, so that a bar
//! which was moved is called loosened or tightened.

pub(crate) mod bars;
mod cost;
mod excerpt;
mod tree;

use serde_json::Value;

pub use self::cost::Cost;
use super::{
    checked::{CheckedGate, StepEstimate},
    document::Plan,
};

/// One of the two plans.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The effective plan as a tree.
    pub plan: &'a Value,
    /// Its gates, for one step.
    pub gates: &'a [CheckedGate],
    /// What its steps cost.
    pub estimates: &'a [StepEstimate],
}

/// Everything that changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanDiff {
    /// The changes, by topic, in the order of the plan.
    pub changes: Vec<Change>,
    /// What the experiment costs before and after.
    pub cost: (Cost, Cost),
}

impl PlanDiff {
    /// Whether the two plans mean the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What a reviewer looks at it for.
    pub topic: Topic,
    /// The thing that changes: `soak`, `gate lag.p95_s`, `service broker`.
    pub subject: String,
    /// The part of it, as a path of keys; empty when it is the thing itself.
    pub part: String,
    /// How it changes.
    pub alteration: Alteration,
    /// What that does to a bar; none for what is no bar.
    pub effect: Option<Effect>,
}

/// How something changes. Texts are ready to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alteration {
    /// It is new.
    Added(String),
    /// It is gone.
    Removed(String),
    /// It has another value.
    Replaced {
        /// The value before.
        before: String,
        /// The value after.
        after: String,
    },
    /// A list has other elements.
    Elements {
        /// The new ones.
        added: Vec<String>,
        /// Those that are gone.
        removed: Vec<String>,
    },
}

/// What a change does to a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// More would pass than before.
    Loosened,
    /// Less would pass than before.
    Tightened,
    /// The bar is about something else now.
    Changed,
}

impl Effect {
    /// The word in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Loosened => "loosened",
            Self::Tightened => "tightened",
            Self::Changed => "changed",
        }
    }
}

/// What a change is about, in the order in which a reviewer wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// What counts as a pass.
    Bars,
    /// What is taken down.
    Faults,
    /// When the experiment gives way.
    Safety,
    /// What is started, and how.
    Target,
    /// What is talked to.
    Connections,
    /// How much is asked of the system.
    Load,
    /// What happens in a cell.
    Phases,
    /// What is measured.
    Measurement,
    /// Values used elsewhere.
    Variables,
    /// What is said about the experiment.
    Words,
}

impl Topic {
    /// The heading in reports.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Self::Bars => "Gates",
            Self::Faults => "Faults",
            Self::Safety => "Safety",
            Self::Target => "Target",
            Self::Connections => "Connections",
            Self::Load => "Load",
            Self::Phases => "Phases",
            Self::Measurement => "Measurement",
            Self::Variables => "Variables",
            Self::Words => "Words",
        }
    }

    /// The topic of a top-level key.
    fn of(key: &str) -> Self {
        match key {
            "clean" | "isolation" | "live_safety" => Self::Safety,
            "target" | "secrets" | "secrets_file" | "commits" => Self::Target,
            "connections" => Self::Connections,
            "fleet" | "messages" | "loads" | "ladder" => Self::Load,
            "setup" | "phase" | "teardown" => Self::Phases,
            "queries" | "watches" | "probes" | "workflows" | "durability" | "growth" => Self::Measurement,
            "vars" => Self::Variables,
            _ => Self::Words,
        }
    }
}

/// Compares two plans.
#[must_use]
pub fn diff(before: Side<'_>, after: Side<'_>) -> PlanDiff {
    let (old, new) = (meaning(before.plan), meaning(after.plan));
    let mut changes = bars::changes(before.gates, after.gates);
    changes.extend(fault_changes(&old, &new));
    changes.extend(tree::changes(&old, &new));
    changes.sort_by_key(|change| change.topic);
    PlanDiff { changes, cost: (Cost::of(before.estimates), Cost::of(after.estimates)) }
}

/// The plan with every default and each quantity in its canonical spelling: read into the types and written again. A tree
/// that is not a plan is compared as it stands.
fn meaning(tree: &Value) -> Value {
    let canonical = serde_json::from_value::<Plan>(tree.clone()).ok().and_then(|plan| serde_json::to_value(plan).ok());
    canonical.unwrap_or_else(|| tree.clone())
}

/// The ways of taking a process down that a `fault` phase has.
const TAKE_DOWN: [&str; 4] = ["kill", "stop", "pause", "disconnect"];

/// What may be taken down, and by what: the union over all phases, because that is what a reviewer has to allow.
fn fault_changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    for way in TAKE_DOWN {
        let (old, new) = (taken_down(before, way), taken_down(after, way));
        let added: Vec<String> = new.iter().filter(|service| !old.contains(service)).cloned().collect();
        let removed: Vec<String> = old.iter().filter(|service| !new.contains(service)).cloned().collect();
        if !(added.is_empty() && removed.is_empty()) {
            let alteration = Alteration::Elements { added, removed };
            changes.push(Change {
                topic: Topic::Faults,
                subject: way.to_owned(),
                part: String::new(),
                alteration,
                effect: None,
            });
        }
    }
    changes
}

fn taken_down(plan: &Value, way: &str) -> Vec<String> {
    let phases = ["setup", "phase", "teardown"].iter().filter_map(|key| plan.get(key)?.as_array()).flatten();
    let mut services: Vec<String> = phases
        .filter_map(|phase| phase.get("fault"))
        .filter(|fault| !matches!(fault.get(way), None | Some(Value::Null | Value::Bool(false))))
        .filter_map(|fault| Some(fault.get("service")?.as_str()?.to_owned()))
        .collect();
    services.sort();
    services.dedup();
    services
}

#[cfg(test)]
mod tests;
