//! The guard: whether a Docker Compose target stays within what is ours, decided on the *effective* config before anything
//! starts. Pure: the caller brings the config and the [`Facts`] of the host; every reason to refuse comes back at once.

mod display;
mod mounts;
mod names;
mod ports;
mod powers;
#[cfg(test)]
mod property;
mod raw;
mod service;

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use mounts::paths;
pub use ports::PublishedPort;
pub use raw::{Reference, ReferenceKind, references};

use crate::plan::isolation::{Hazard, Isolation};

/// What the caller knows of the host and of the files. Paths are absolute, without symbolic links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The project's name in the plan.
    pub project: String,
    /// Folder names that Compose would make a project of: the checkout's and the first Compose file's.
    pub folder_names: Vec<String>,
    /// Services that the plan caps.
    pub capped: Vec<String>,
    /// The checkout: nothing outside it may be written.
    pub checkout: String,
    /// The env file in use.
    pub env_file: String,
    /// The names that the env file sets.
    pub variables: Vec<String>,
    /// The env files that are live.
    pub live_env_files: Vec<String>,
    /// Variables that Compose found unset.
    pub unset: Vec<String>,
    /// The files that the Compose files draw in.
    pub drawn_in: Vec<DrawnIn>,
    /// Host paths of the config, as written, to what they are.
    pub real: IndexMap<String, String>,
    /// The sockets of container engines.
    pub sockets: Vec<String>,
    /// Other folders from which the project runs already.
    pub running_from: Vec<String>,
}

/// A file that a Compose file draws in, and where it can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnIn {
    /// The Compose file, as the plan names it.
    pub file: String,
    /// What it says.
    pub reference: Reference,
    /// The existing files that it can mean, as paths may be relative to more than one folder; none when it cannot be told.
    pub means: Option<Vec<String>>,
}

/// Which rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The project's name is live, or that of a checkout.
    LiveProject,
    /// A volume's name is outside the prefix.
    VolumePrefix,
    /// A published port is live.
    LivePort,
    /// A published port is reachable from other machines.
    OpenPort,
    /// A published port is left to the engine.
    LoosePort,
    /// An env file is live.
    LiveEnvFile,
    /// The plan caps a service that is not there.
    UnknownService,
    /// The plan allows what is not there.
    UnusedAllowance,
    /// A hazard that the plan does not allow.
    Hazard(Hazard),
}

impl Rule {
    /// The rule's name, as reports and `isolation.allow` spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LiveProject => "live_project",
            Self::VolumePrefix => "volume_prefix",
            Self::LivePort => "live_port",
            Self::OpenPort => "open_port",
            Self::LoosePort => "loose_port",
            Self::LiveEnvFile => "live_env_file",
            Self::UnknownService => "unknown_service",
            Self::UnusedAllowance => "unused_allowance",
            Self::Hazard(hazard) => hazard.name(),
        }
    }
}

/// One reason to refuse the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The rule.
    pub rule: Rule,
    /// The place in the effective config, such as `services.postgres`.
    pub at: String,
    /// What is there.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}; {} [{}]", self.at, self.what, self.remedy, self.rule.name())
    }
}

/// What the target consists of, when nothing speaks against it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guarded {
    /// The project.
    pub project: String,
    /// Volumes by their names on the engine.
    pub volumes: Vec<String>,
    /// Published ports.
    pub ports: Vec<PublishedPort>,
    /// Networks by their names on the engine.
    pub networks: Vec<String>,
    /// Caps by service.
    pub caps: IndexMap<String, ServiceCaps>,
    /// Hazards that the plan allows, in words.
    pub allowed: Vec<String>,
}

/// The caps of one service in the effective config.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceCaps {
    /// CPUs of each container.
    pub cpus: f64,
    /// Bytes of memory of each container.
    pub memory_bytes: u64,
    /// Containers.
    pub replicas: u64,
}

/// What the rules have found so far.
#[derive(Default)]
struct Findings {
    refusals: Vec<Refusal>,
    guarded: Guarded,
}

impl Findings {
    fn refuse(&mut self, rule: Rule, at: &str, what: impl Into<String>, remedy: impl Into<String>) {
        self.refusals.push(Refusal { rule, at: at.to_owned(), what: what.into(), remedy: remedy.into() });
    }

    fn hazard(&mut self, hazard: Hazard, at: &str, what: impl Into<String>, remedy: impl Into<String>) {
        self.refuse(Rule::Hazard(hazard), at, what, remedy);
    }
}

/// Decides whether the target of this effective config (`docker compose config --format json`) may be started.
///
/// # Errors
/// Every reason to refuse it, in the order of the config.
pub fn check(config: &Value, isolation: &Isolation, facts: &Facts) -> Result<Guarded, Vec<Refusal>> {
    let mut findings = Findings::default();
    names::project(config, isolation, facts, &mut findings);
    names::files(facts, &mut findings);
    names::top_level(config, &mut findings);
    names::capped(config, facts, &mut findings);
    for (name, service) in entries(config, "services") {
        service::check(name, service, isolation, facts, &mut findings);
    }
    names::volumes(config, isolation, facts, &mut findings);
    names::networks(config, isolation, facts, &mut findings);
    names::stored_files(config, facts, &mut findings);
    allow(isolation, &mut findings);
    if findings.refusals.is_empty() { Ok(findings.guarded) } else { Err(findings.refusals) }
}

/// Takes the hazards that the plan allows out of the refusals; an allowance that meets none is a refusal of its own.
fn allow(isolation: &Isolation, findings: &mut Findings) {
    let mut used = vec![false; isolation.allow.len()];
    findings.refusals.retain(|refusal| {
        let matching = |allowance: &crate::plan::isolation::Allowance| {
            refusal.rule == Rule::Hazard(allowance.hazard) && refusal.at == allowance.at
        };
        let Some(index) = isolation.allow.iter().position(matching) else { return true };
        used[index] = true;
        let because = &isolation.allow[index].because;
        findings.guarded.allowed.push(format!(
            "{}: {} [{}], because {because}",
            refusal.at,
            refusal.what,
            refusal.rule.name()
        ));
        false
    });
    for (allowance, _) in isolation.allow.iter().zip(used).filter(|(_, used)| !used) {
        let what = format!("the plan allows `{}` here, and nothing here needs it", allowance.hazard);
        findings.refuse(Rule::UnusedAllowance, &allowance.at, what, "take it out of isolation.allow");
    }
}

/// The entries of a table of the config; none when it is not there.
fn entries<'a>(config: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    config.get(key).and_then(Value::as_object).into_iter().flatten()
}

/// The elements of a list; none when it is not there.
fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A number, also one that Compose prints as a text.
fn number(value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}
