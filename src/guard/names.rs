//! Rules on names: the project, its volumes and networks, and the files that the config is made of.

use serde_json::Value;

use super::{DrawnIn, Facts, Findings, ReferenceKind, Rule, entries, flag, mounts, text};
use crate::plan::isolation::{Hazard, Isolation};

const TOP_LEVEL_KEYS: &[&str] = &["name", "version", "services", "networks", "volumes", "secrets", "configs"];
const VOLUME_KEYS: &[&str] = &["name", "driver", "driver_opts", "labels", "external"];
const NETWORK_KEYS: &[&str] = &[
    "name",
    "driver",
    "driver_opts",
    "ipam",
    "internal",
    "attachable",
    "enable_ipv4",
    "enable_ipv6",
    "labels",
    "external",
];
/// Options of the bridge driver that stay within the project's own bridge.
const BRIDGE_OPTIONS: &[&str] = &[
    "com.docker.network.bridge.enable_icc",
    "com.docker.network.bridge.enable_ip_masquerade",
    "com.docker.network.driver.mtu",
];

/// What Compose makes of a folder's name when no project is named.
fn project_of_folder(folder: &str) -> String {
    let kept =
        folder.to_lowercase().chars().filter(|c| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-')).collect::<String>();
    kept.trim_start_matches(['_', '-']).to_owned()
}

pub(super) fn project(config: &Value, isolation: &Isolation, facts: &Facts, findings: &mut Findings) {
    let project = facts.project.as_str();
    project.clone_into(&mut findings.guarded.project);
    let remedy = "give target.compose.project a name of its own";
    if isolation.projects_refused.iter().any(|live| project_of_folder(live) == project) {
        findings.refuse(Rule::LiveProject, "project", format!("`{project}` is a live project"), remedy);
    }
    if facts.folder_names.iter().any(|folder| project_of_folder(folder) == project) {
        let what = format!("`{project}` is what Compose calls the checkout's folder when no project is named");
        findings.refuse(Rule::LiveProject, "project", what, remedy);
    }
    if text(config, "name") != Some(project) {
        let what =
            format!("the effective config is of the project `{}`, not `{project}`", text(config, "name").unwrap_or(""));
        findings.refuse(Rule::LiveProject, "project", what, "pass the project to Compose by name");
    }
    for folder in &facts.running_from {
        let what = format!("`{project}` already runs from {folder}");
        findings.hazard(Hazard::RunningElsewhere, "project", what, "take that one down first, or choose another name");
    }
}

pub(super) fn files(facts: &Facts, findings: &mut Findings) {
    if facts.live_env_files.contains(&facts.env_file) {
        let what = format!("{} is a live env file", facts.env_file);
        findings.refuse(Rule::LiveEnvFile, "env_file", what, "use an env file of this plan's own");
    }
    for name in facts.variables.iter().filter(|name| name.starts_with("COMPOSE_") || name.starts_with("DOCKER_")) {
        let what = format!("it sets {name}, which steers Compose itself");
        findings.hazard(Hazard::SteeringVariable, "env_file", what, "take it out of the env file");
    }
    for name in &facts.unset {
        let what = format!("nothing sets the variable {name}");
        findings.hazard(
            Hazard::UnsetVariable,
            "files",
            what,
            "set it in the env file, or give it a default with ${NAME:-…}",
        );
    }
    for drawn in &facts.drawn_in {
        drawn_in(drawn, facts, findings);
    }
}

fn drawn_in(drawn: &DrawnIn, facts: &Facts, findings: &mut Findings) {
    let (path, at) = (&drawn.reference.path, &drawn.reference.at);
    let verb = match drawn.reference.kind {
        ReferenceKind::Extends => "extends",
        ReferenceKind::Include => "includes",
        ReferenceKind::Folder => "includes a file whose paths begin at",
        ReferenceKind::EnvFile => "reads the env file",
    };
    let Some(means) = &drawn.means else {
        let what = format!("{} {verb} {path}, and scaler cannot tell which file that is", drawn.file);
        findings.hazard(Hazard::OutsideFile, at, what, "write out a path in the checkout");
        return;
    };
    if drawn.reference.kind == ReferenceKind::EnvFile {
        if means.iter().any(|file| facts.live_env_files.contains(file)) {
            let what = format!("{} {verb} {path}, which is live", drawn.file);
            findings.refuse(Rule::LiveEnvFile, at, what, "use an env file of this plan's own");
        }
    } else if means.iter().any(|file| !mounts::within(file, &facts.checkout)) {
        let what = format!("{} {verb} {path}, which is outside the checkout", drawn.file);
        findings.hazard(Hazard::OutsideFile, at, what, "copy it into the checkout");
    }
}

/// Services that the plan caps must be there.
pub(super) fn capped(config: &Value, facts: &Facts, findings: &mut Findings) {
    for name in facts.capped.iter().filter(|name| config.pointer(&format!("/services/{name}")).is_none()) {
        let what = format!("target.compose.caps names `{name}`, which is not a service of this target");
        findings.refuse(Rule::UnknownService, "files", what, "name one of its services");
    }
}

pub(super) fn top_level(config: &Value, findings: &mut Findings) {
    unknown_keys(config, TOP_LEVEL_KEYS, "files", findings);
}

/// Refuses keys whose effect the guard does not know.
pub(super) fn unknown_keys(table: &Value, known: &[&str], at: &str, findings: &mut Findings) {
    for key in table.as_object().into_iter().flat_map(|table| table.keys()) {
        if !known.contains(&key.as_str()) && !key.starts_with("x-") {
            let what = format!("scaler does not know what `{key}` does");
            findings.hazard(Hazard::UnknownKey, at, what, "take it out, or allow it when it touches nothing live");
        }
    }
}

pub(super) fn volumes(config: &Value, isolation: &Isolation, facts: &Facts, findings: &mut Findings) {
    let prefix = volume_prefix(isolation, facts);
    for (key, volume) in entries(config, "volumes") {
        let at = format!("volumes.{key}");
        let name = text(volume, "name").unwrap_or(key);
        findings.guarded.volumes.push(name.to_owned());
        unknown_keys(volume, VOLUME_KEYS, &at, findings);
        if flag(volume, "external") {
            let what = format!("`{name}` exists outside this project");
            findings.hazard(Hazard::ExternalVolume, &at, what, "let the project create a volume of its own");
        } else if !name.starts_with(&prefix) {
            let what = format!("the volume `{name}` does not begin with `{prefix}`");
            findings.refuse(Rule::VolumePrefix, &at, what, format!("name it `{prefix}{key}`"));
        }
        if let Some(driver) = text(volume, "driver").filter(|driver| *driver != "local") {
            let what = format!("the volume driver `{driver}` may keep its data anywhere");
            findings.hazard(Hazard::VolumeDriver, &at, what, "use the driver `local`");
        }
        if let Some(options) = volume.get("driver_opts") {
            mounts::driver_options(options, &at, facts, findings);
        }
    }
}

/// What each volume's name begins with.
pub(super) fn volume_prefix(isolation: &Isolation, facts: &Facts) -> String {
    isolation.volume_prefix.clone().unwrap_or_else(|| format!("{}_", facts.project))
}

pub(super) fn networks(config: &Value, isolation: &Isolation, facts: &Facts, findings: &mut Findings) {
    let own = [format!("{}_", facts.project), volume_prefix(isolation, facts)];
    for (key, network) in entries(config, "networks") {
        let at = format!("networks.{key}");
        let name = text(network, "name").unwrap_or(key);
        findings.guarded.networks.push(name.to_owned());
        unknown_keys(network, NETWORK_KEYS, &at, findings);
        if flag(network, "external") {
            let what = format!("`{name}` exists outside this project");
            findings.hazard(Hazard::ForeignNetwork, &at, what, "let the project create a network of its own");
        } else if !own.iter().any(|prefix| name.starts_with(prefix)) {
            let what = format!("the network `{name}` does not begin with `{}`", own[0]);
            findings.hazard(
                Hazard::ForeignNetwork,
                &at,
                what,
                format!("name it `{}{key}`, or give it no name", own[0]),
            );
        }
        network_driver(network, &at, findings);
    }
}

fn network_driver(network: &Value, at: &str, findings: &mut Findings) {
    if let Some(driver) = text(network, "driver").filter(|driver| !matches!(*driver, "" | "bridge")) {
        let what = format!("the network driver `{driver}` reaches beyond a bridge of its own");
        findings.hazard(Hazard::HostNetwork, at, what, "use the driver `bridge`");
    }
    if let Some(driver) = network.pointer("/ipam/driver").and_then(Value::as_str).filter(|driver| *driver != "default")
    {
        let what = format!("addresses come from the driver `{driver}`");
        findings.hazard(Hazard::HostNetwork, at, what, "use the default one");
    }
    for (option, _) in entries(network, "driver_opts").filter(|(option, _)| !BRIDGE_OPTIONS.contains(&option.as_str()))
    {
        let what = format!("the driver option `{option}` may take an interface of the host");
        findings.hazard(Hazard::HostNetwork, at, what, "leave it out");
    }
}

/// Secrets and configs are files of the host, mounted read-only.
pub(super) fn stored_files(config: &Value, facts: &Facts, findings: &mut Findings) {
    for table in ["secrets", "configs"] {
        for (key, stored) in entries(config, table) {
            let at = format!("{table}.{key}");
            if flag(stored, "external") {
                findings.hazard(
                    Hazard::UnknownKey,
                    &at,
                    "it exists outside this project",
                    "make it a file of the checkout",
                );
            }
            if let Some(file) = text(stored, "file") {
                mounts::host_path(file, mounts::Access::Read, &at, facts, findings);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::project_of_folder;

    #[test]
    fn folder_names_become_projects_as_compose_makes_them() {
        for (folder, project) in [("Baler", "baler"), ("baler-deploy", "baler-deploy"), ("_My App.v2", "myappv2")] {
            assert_eq!(project_of_folder(folder), project);
        }
    }
}
