//! The override that scaler puts on top of the Compose files: caps, the CPU set and the size of logs. Everything else stays
//! as the files say.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::effective::SENSOR;
use crate::plan::{
    quantity::Bytes,
    target::{Caps, Compose},
};

/// The environment variable of the CPU set.
const CPUSET: &str = "SCALE_CPUSET";

/// The override, and what differs from the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Overridden {
    /// The override as a Compose file (JSON is YAML).
    pub text: String,
    /// Service to what is not as the plan says.
    pub origins: IndexMap<String, Origin>,
    /// What the environment or the host changed, in words; part of the result.
    pub notes: Vec<String>,
}

/// Where the caps of a service come from, as far as that is not the plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// The CPUs that were asked for, when the cap was lowered to those of the host.
    pub cpus_clamped_from: Option<f64>,
    /// The environment variables that a cap or the CPU set comes from.
    pub overridden_by: Vec<String>,
}

/// Makes the override for the services of a config. `environment` reads a variable of scaler's own environment.
///
/// # Errors
/// When a variable of the environment is not a quantity.
pub fn overrides(
    plan: &Compose,
    config: &Value,
    host_cpus: u64,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Overridden, String> {
    let mut notes = Vec::new();
    let asked = environment(CPUSET).inspect(|set| notes.push(format!("{CPUSET}: all services on the CPUs {set}")));
    let by_environment: Vec<String> = asked.iter().map(|_| CPUSET.to_owned()).collect();
    let cpuset = asked.or_else(|| plan.cpuset.clone());
    let mut origins = IndexMap::new();
    let mut services = Map::new();
    for (name, service) in config.get("services").and_then(Value::as_object).into_iter().flatten() {
        let mut origin = Origin { overridden_by: by_environment.clone(), ..Origin::default() };
        let wanted = wanted_caps(name, plan, environment, &mut origin, &mut notes)?;
        let mut table = caps_table(name, service, wanted, host_cpus, &mut origin, &mut notes);
        origins.insert(name.clone(), origin);
        if let Some(cpuset) = &cpuset {
            table.insert("cpuset".to_owned(), cpuset.clone().into());
        }
        let third = (plan.log_size.0 / 3).max(1).to_string();
        table.insert(
            "logging".to_owned(),
            json!({ "driver": "json-file", "options": { "max-size": third, "max-file": "3" } }),
        );
        services.insert(name.clone(), Value::Object(table));
    }
    let text = json!({ "services": services, "x-scaler-sensor": format!("${{{SENSOR}}}") }).to_string();
    Ok(Overridden { text, origins, notes })
}

/// CPUs and memory that the plan or the environment asks for.
#[derive(Clone, Copy, Default)]
struct Wanted {
    cpus: Option<f64>,
    memory: Option<Bytes>,
}

fn wanted_caps(
    name: &str,
    plan: &Compose,
    environment: &dyn Fn(&str) -> Option<String>,
    origin: &mut Origin,
    notes: &mut Vec<String>,
) -> Result<Wanted, String> {
    let planned = plan.caps.get(name).copied();
    let mut wanted = Wanted { cpus: planned.map(|caps: Caps| caps.cpus), memory: planned.map(|caps| caps.memory) };
    let suffix = name.to_ascii_uppercase().replace(['-', '.'], "_");
    let variable = format!("SCALE_CPUS_{suffix}");
    if let Some(text) = environment(&variable) {
        let cpus = text.parse::<f64>().ok().filter(|cpus| *cpus >= 0.01 && cpus.is_finite());
        wanted.cpus = Some(cpus.ok_or_else(|| format!("{variable}: {text:?} is not a number of CPUs"))?);
        notes.push(format!("{variable}: {name} is capped at {text} CPUs"));
        origin.overridden_by.push(variable);
    }
    let variable = format!("SCALE_MEM_{suffix}");
    if let Some(text) = environment(&variable) {
        wanted.memory = Some(text.parse().map_err(|error| format!("{variable}: {error}"))?);
        notes.push(format!("{variable}: {name} is capped at {text}"));
        origin.overridden_by.push(variable);
    }
    Ok(wanted)
}

/// The caps of one service, in the form that its file uses: Compose refuses a config that says both.
#[expect(clippy::cast_precision_loss, reason = "a number of CPUs")]
fn caps_table(
    name: &str,
    service: &Value,
    wanted: Wanted,
    host_cpus: u64,
    origin: &mut Origin,
    notes: &mut Vec<String>,
) -> Map<String, Value> {
    let deployed = |key: &str| service.pointer(&format!("/deploy/resources/limits/{key}"));
    let written = service.get("cpus").or_else(|| deployed("cpus")).and_then(Value::as_f64);
    let host = host_cpus as f64;
    let mut cpus = wanted.cpus;
    if let Some(over) = wanted.cpus.or(written).filter(|cpus| *cpus > host) {
        notes.push(format!("{name}: the cap of {over} CPUs is lowered to the {host_cpus} of this host"));
        origin.cpus_clamped_from = Some(over);
        cpus = Some(host);
    }
    let memory = wanted.memory.map(|memory| memory.0.to_string());
    let (mut flat, mut limits) = (IndexMap::new(), Map::new());
    if let Some(cpus) = cpus {
        if deployed("cpus").is_some() {
            limits.insert("cpus".to_owned(), cpus.to_string().into());
        } else {
            flat.insert("cpus", json!(cpus));
        }
    }
    if let Some(memory) = memory {
        if deployed("memory").is_some() {
            limits.insert("memory".to_owned(), memory.clone().into());
        } else {
            flat.insert("mem_limit", memory.clone().into());
        }
        // Without this, a container may swap as much again as its cap.
        flat.insert("memswap_limit", memory.into());
    }
    if !limits.is_empty() {
        flat.insert("deploy", json!({ "resources": { "limits": limits } }));
    }
    flat.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Compose {
        serde_json::from_value(json!({
            "project": "scale", "files": ["a.yml"], "env_file": "a.env", "cpuset": "0-1", "log_size": "150MB",
            "caps": { "postgres": { "cpus": 2, "memory": "6GB" } }
        }))
        .expect("a plan")
    }

    fn made(config: &Value, environment: &[(&str, &str)]) -> (Value, Vec<String>) {
        let read = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let made = overrides(&plan(), config, 2, &read).expect("quantities");
        (serde_json::from_str(&made.text).expect("JSON"), made.notes)
    }

    #[test]
    fn the_plan_caps_and_the_rest_stays_as_it_is() {
        let (made, notes) = made(&json!({ "services": { "postgres": {}, "other": {} } }), &[]);
        let log = json!({ "driver": "json-file", "options": { "max-size": "50000000", "max-file": "3" } });
        let postgres = json!({ "cpus": 2.0, "mem_limit": "6000000000", "memswap_limit": "6000000000", "cpuset": "0-1", "logging": log });
        assert_eq!(made["services"]["postgres"], postgres);
        assert_eq!(made["services"]["other"], json!({ "cpuset": "0-1", "logging": log }));
        assert!(notes.is_empty());
    }

    #[test]
    fn caps_above_the_host_are_lowered_wherever_they_come_from() {
        let config = json!({ "services": { "postgres": {}, "other": { "cpus": 8 } } });
        let (made, notes) = made(&config, &[("SCALE_CPUS_POSTGRES", "5")]);
        assert_eq!(
            (&made["services"]["postgres"]["cpus"], &made["services"]["other"]["cpus"]),
            (&json!(2.0), &json!(2.0))
        );
        assert_eq!(
            notes,
            [
                "SCALE_CPUS_POSTGRES: postgres is capped at 5 CPUs",
                "postgres: the cap of 5 CPUs is lowered to the 2 of this host",
                "other: the cap of 8 CPUs is lowered to the 2 of this host"
            ]
        );
    }

    #[test]
    fn the_environment_overrides_and_is_recorded() {
        let (made, notes) = made(
            &json!({ "services": { "rule-daemon": {} } }),
            &[("SCALE_MEM_RULE_DAEMON", "64MiB"), ("SCALE_CPUSET", "1")],
        );
        assert_eq!(made["services"]["rule-daemon"]["mem_limit"], "67108864");
        assert_eq!(made["services"]["rule-daemon"]["cpuset"], "1");
        assert_eq!(
            notes,
            ["SCALE_CPUSET: all services on the CPUs 1", "SCALE_MEM_RULE_DAEMON: rule-daemon is capped at 64MiB"]
        );
        let error = overrides(&plan(), &json!({ "services": { "a": {} } }), 2, &|_| Some("many".to_owned()));
        assert_eq!(error.expect_err("no quantity"), "SCALE_CPUS_A: \"many\" is not a number of CPUs");
    }

    #[test]
    fn a_service_that_uses_deploy_limits_keeps_that_form() {
        let config = json!({ "services": { "postgres": { "deploy": { "resources": { "limits": { "cpus": 0.5, "memory": "1" } } } } } });
        let limits = json!({ "resources": { "limits": { "cpus": "2", "memory": "6000000000" } } });
        assert_eq!(made(&config, &[]).0["services"]["postgres"]["deploy"], limits);
    }
}
