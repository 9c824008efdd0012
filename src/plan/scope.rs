//! Which names a template may use where.
//!
//! Three times of filling. *Early*: `vars`, `host` and `step`, when the plan is checked. *Late*: `run` and `secrets`, when a cell
//! begins; they may stand in one placeholder with early names, because the plan is filled anew then. *Momentary*: names that
//! are known only at the moment of use, such as a message's `site`; they are names without a dot, and stand in placeholders of their own.

/// The fields of `run`.
pub(crate) const RUN: &[&str] = &["scaler", "folder", "id"];
/// The fields of `host`.
pub(crate) const HOST: &[&str] = &["cpus", "memory_bytes", "name"];

/// The tables whose texts may wait for a cell's beginning.
const LATE_TABLES: &[&str] = &[
    "target",
    "connections",
    "loads",
    "messages",
    "queries",
    "watches",
    "probes",
    "workflows",
    "setup",
    "phase",
    "teardown",
    "live_safety",
    "clean",
    "commits",
];

/// The names of the moment of use, by the place of the text. `*` stands for one segment, a last `**` for all that follow.
const MOMENTARY: &[(&str, &[&str])] = &[
    ("loads/*/mqtt_publish/topic", &["site", "equip", "label", "point", "value", "ts", "sequence"]),
    ("loads/*/mqtt_publish/payload/**", &["site", "equip", "label", "point", "value", "ts", "sequence", "topic"]),
    ("messages/*/topic", &["site", "equip", "label", "labels", "point", "ts", "sequence"]),
    ("messages/*/payload/**", &["site", "equip", "label", "labels", "point", "ts", "sequence", "topic"]),
    ("watches/*/canary/payload/**", &["value", "ts", "topic"]),
    ("queries/*/sql/statement", &["preflight"]),
    ("queries/*/http_json/path", &["preflight"]),
    ("*/*/reconcile/rows_per_second", &["from_s", "to_s"]),
    ("*/*/reconcile/rows_of_second", &["from_s", "to_s"]),
    ("workflows/*/step/*/path", &["capture"]),
    ("workflows/*/step/*/body/**", &["capture"]),
    ("workflows/*/step/*/expect/values/**", &["capture"]),
    ("workflows/*/step/*/until/equals", &["capture"]),
];

/// Texts that other programs of the host can read while it runs, or that are kept: no secret may stand there.
const NO_SECRETS: &[(&str, &str)] = &[
    ("target/processes/services/*/command/**", "a command shows in the host's list of processes; use `env`"),
    ("target/compose/**", "the target is written to the result; Compose reads secrets from `env_file`"),
    ("loads/*/exec/command/**", "a command shows in the host's list of processes"),
    ("watches/*/exec/command/**", "a command shows in the host's list of processes"),
    ("probes/*/exec/command/**", "a command shows in the host's list of processes"),
    ("*/*/exec/command/**", "a command shows in the host's list of processes"),
    ("connections/*/mqtt/url", "use `password`"),
    ("messages/**", "messages are written to the journal when they are missing"),
    ("loads/*/mqtt_publish/**", "readings are written to the journal when they are missing"),
    ("watches/*/canary/**", "a reading is data, and data is kept"),
    ("*/*/name", "names are written to the result"),
    ("commits/**", "folders are written to the result"),
];

/// The momentary names at a place.
pub(crate) fn momentary(path: &[String]) -> &'static [&'static str] {
    MOMENTARY.iter().find(|(pattern, _)| matches(pattern, path)).map_or(&[], |(_, names)| names)
}

/// Whether a name is known at the moment of use somewhere, though perhaps not here.
pub(crate) fn is_momentary_elsewhere(name: &str) -> bool {
    MOMENTARY.iter().any(|(_, names)| names.contains(&name))
}

/// Why a name with fields may not be used at a place, though it exists; none when it may.
pub(crate) fn refusal(root: &str, path: &[String]) -> Option<&'static str> {
    let table = path.first().map_or("", String::as_str);
    match root {
        "vars" if table == "vars" => Some("a variable cannot use another one"),
        "step" if matches!(table, "vars" | "ladder" | "setup" | "teardown") => Some("there is no step here"),
        "run" | "secrets" if table == "vars" => {
            Some("variables are written to the result, and are known when the plan is checked")
        }
        "run" | "secrets" if !LATE_TABLES.contains(&table) => Some("it is not known when the plan is checked"),
        "secrets" => NO_SECRETS.iter().find(|(pattern, _)| matches(pattern, path)).map(|(_, why)| *why),
        _ => None,
    }
}

/// Whether a path fits a pattern.
pub(crate) fn matches(pattern: &str, path: &[String]) -> bool {
    let mut segments = path.iter();
    for wanted in pattern.split('/') {
        if wanted == "**" {
            return true;
        }
        match segments.next() {
            Some(segment) if wanted == "*" || wanted == segment => {}
            _ => return false,
        }
    }
    segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('/').map(str::to_owned).collect()
    }

    #[test]
    fn a_payload_may_use_the_topic_at_any_depth() {
        assert!(momentary(&path("loads/readings/mqtt_publish/payload/a/0")).contains(&"topic"));
        assert!(momentary(&path("loads/readings/mqtt_publish/payload")).contains(&"topic"));
        assert!(!momentary(&path("loads/readings/mqtt_publish/topic")).contains(&"topic"));
        assert!(momentary(&path("loads/readings/mqtt_publish/interval")).is_empty());
    }

    #[test]
    fn secrets_stay_out_of_commands() {
        assert!(refusal("secrets", &path("target/processes/services/a/command/3")).is_some());
        assert!(refusal("secrets", &path("target/processes/services/a/env/X")).is_none());
        assert!(refusal("run", &path("target/processes/services/a/command/3")).is_none());
        assert!(refusal("run", &path("gate/0/at_most")).is_some());
    }
}
