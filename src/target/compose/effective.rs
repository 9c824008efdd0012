//! The effective config: what Compose makes of the files, the env file and scaler's override.

use serde_json::Value;

use super::{Refused, Stack};

/// A variable that nothing sets: Compose must warn of it, or its warnings cannot be trusted.
pub(super) const SENSOR: &str = "SCALER_SENSOR_OF_UNSET_VARIABLES";

/// The effective config and what Compose warned of.
#[derive(Debug)]
pub(super) struct Effective {
    /// `docker compose config --format json`.
    pub(super) config: Value,
    /// Variables that nothing sets.
    pub(super) unset: Vec<String>,
}

impl Stack {
    /// Asks Compose for the effective config.
    pub(super) fn effective(&self, overrides: Option<&str>) -> Result<Effective, Refused> {
        let output = self.run_compose(&["config", "--format", "json"], overrides)?;
        let warnings = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            let reason = warnings.lines().filter(|line| !line.contains("level=warning")).collect::<Vec<_>>().join("\n");
            return Err(Refused(format!("Compose does not accept the files: {reason}")));
        }
        let config = serde_json::from_slice(&output.stdout)
            .map_err(|error| Refused(format!("the effective config of Compose is not JSON: {error}")))?;
        let mut unset = unset_variables(&warnings);
        let sensed = unset.iter().position(|name| name == SENSOR).map(|index| unset.remove(index));
        if overrides.is_some() && sensed.is_none() {
            return Err(Refused(
                "this Compose does not warn of variables that nothing sets; use another version".to_owned(),
            ));
        }
        Ok(Effective { config, unset })
    }
}

/// The names in the lines `The "NAME" variable is not set. Defaulting to a blank string.`
fn unset_variables(warnings: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in warnings.lines().filter(|line| line.contains("variable is not set")) {
        let name = line.split_once("The ").map_or("", |(_, rest)| rest).trim_start_matches(['\\', '"']);
        let name: String = name.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::unset_variables;

    #[test]
    fn names_are_read_from_the_warnings() {
        let warnings = "time=\"…\" level=warning msg=\"The \\\"TAG\\\" variable is not set. Defaulting to a blank string.\"\n\
            WARN[0000] The \"A_1\" variable is not set. Defaulting to a blank string.\n\
            level=warning msg=\"`version` is obsolete\"\nThe \"TAG\" variable is not set.";
        assert_eq!(unset_variables(warnings), ["TAG", "A_1"]);
    }
}
