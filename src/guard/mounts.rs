//! Rules on mounts: what a container can reach on the host's disk.

use std::path::Path;

use serde_json::Value;

use super::{Facts, Findings, Rule, entries, flag, items, text};
use crate::plan::isolation::Hazard;

/// Whether a container can write what is mounted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// It can only read.
    Read,
    /// It can write.
    Write,
}

/// Every path of the host that the config mounts, as written. The caller finds out what each one is ([`Facts::real`]).
#[must_use]
pub fn paths(config: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    for (_, service) in entries(config, "services") {
        let binds = items(service, "volumes").filter(|mount| text(mount, "type") == Some("bind"));
        paths.extend(binds.filter_map(|mount| text(mount, "source")).map(str::to_owned));
    }
    for (_, volume) in entries(config, "volumes") {
        paths.extend(volume.pointer("/driver_opts/device").and_then(Value::as_str).map(str::to_owned));
    }
    for table in ["secrets", "configs"] {
        paths.extend(entries(config, table).filter_map(|(_, stored)| text(stored, "file")).map(str::to_owned));
    }
    paths
}

/// Whether a path is a folder or something in it.
pub(super) fn within(path: &str, folder: &str) -> bool {
    Path::new(path).starts_with(folder)
}

pub(super) fn check(service: &Value, at: &str, facts: &Facts, findings: &mut Findings) {
    for mount in items(service, "volumes") {
        let target = text(mount, "target").unwrap_or_default();
        match text(mount, "type").unwrap_or_default() {
            "bind" => bind(mount, at, facts, findings),
            "volume" if text(mount, "source").is_none_or(str::is_empty) => {
                let what = format!("the volume at {target} has no name, so nothing shows whose it is");
                findings.refuse(Rule::VolumePrefix, at, what, "give it a name under `volumes`");
            }
            "volume" | "tmpfs" => {}
            other => {
                let what = format!("scaler does not know what a mount of the type `{other}` does");
                findings.hazard(Hazard::UnknownKey, at, what, "use a volume");
            }
        }
    }
    for from in items(service, "volumes_from").filter_map(Value::as_str) {
        if let Some(container) = from.strip_prefix("container:") {
            let what = format!("it mounts the volumes of the container `{container}`");
            findings.hazard(Hazard::ForeignContainer, at, what, "mount a volume of this project");
        }
    }
}

fn bind(mount: &Value, at: &str, facts: &Facts, findings: &mut Findings) {
    let source = text(mount, "source").unwrap_or_default();
    let access = if flag(mount, "read_only") { Access::Read } else { Access::Write };
    host_path(source, access, at, facts, findings);
    let propagation = mount.pointer("/bind/propagation").and_then(Value::as_str).unwrap_or_default();
    if matches!(propagation, "shared" | "rshared") {
        let what = format!("mounts made under {source} would appear on the host ({propagation})");
        findings.hazard(Hazard::BindMount, at, what, "leave the propagation private");
    }
}

/// Checks one path of the host that a container gets to see.
pub(super) fn host_path(path: &str, access: Access, at: &str, facts: &Facts, findings: &mut Findings) {
    let real = facts.real.get(path).map_or(path, String::as_str);
    if let Some(socket) = facts.sockets.iter().find(|socket| within(socket, real)) {
        let what = format!("{path} gives it the engine's socket {socket}");
        findings.hazard(Hazard::EngineSocket, at, what, "leave it out");
        return;
    }
    let live = |file: &&String| real == file.as_str() || (access == Access::Write && within(file, real));
    if let Some(file) = facts.live_env_files.iter().find(live) {
        let what = format!("{path} gives it the live env file {file}");
        findings.refuse(Rule::LiveEnvFile, at, what, "mount only what it needs");
    }
    if access == Access::Write && !within(real, &facts.checkout) {
        let what = if real == path {
            format!("{path} can be written and is outside the checkout")
        } else {
            format!("{path} can be written and is {real}, outside the checkout")
        };
        findings.hazard(Hazard::BindMount, at, what, "mount it read-only, or use a volume");
    }
}

/// Options of the `local` driver can mount anything: a folder, a device, a share of another machine.
pub(super) fn driver_options(options: &Value, at: &str, facts: &Facts, findings: &mut Findings) {
    let kind = text(options, "type").unwrap_or_default();
    let flags: Vec<&str> = text(options, "o").unwrap_or_default().split(',').map(str::trim).collect();
    let device = text(options, "device").unwrap_or_default();
    if kind == "tmpfs" || (kind.is_empty() && device.is_empty()) {
        return;
    }
    if flags.iter().any(|flag| matches!(*flag, "bind" | "rbind")) {
        let access = if flags.contains(&"ro") { Access::Read } else { Access::Write };
        host_path(device, access, at, facts, findings);
    } else {
        let what = format!("it mounts `{device}` of the type `{kind}`");
        findings.hazard(Hazard::VolumeDriver, at, what, "use a plain volume");
    }
}
