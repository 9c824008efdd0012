//! Rules on what a container may do to the host beside using its share.

use serde_json::Value;

use super::{Findings, flag, items, number, text};
use crate::plan::isolation::Hazard;

pub(super) fn check(service: &Value, at: &str, findings: &mut Findings) {
    network_mode(service, at, findings);
    namespaces(service, at, findings);
    privileges(service, at, findings);
    devices(service, at, findings);
    for link in items(service, "external_links").filter_map(Value::as_str) {
        let what = format!("it is linked to the container of `{link}`, which is not in this project");
        findings.hazard(Hazard::ForeignContainer, at, what, "leave it out");
    }
    if flag(service, "oom_kill_disable")
        || number(service.get("oom_score_adj")).is_some_and(|adjustment| adjustment < 0.0)
    {
        let what = "the kernel would kill a live process in its place when memory is short";
        findings.hazard(Hazard::OomProtected, at, what, "leave oom_kill_disable and oom_score_adj alone");
    }
}

fn network_mode(service: &Value, at: &str, findings: &mut Findings) {
    let mode = text(service, "network_mode").unwrap_or_default();
    if mode == "host" {
        let remedy = "publish the ports that are needed on 127.0.0.1";
        findings.hazard(Hazard::HostNetwork, at, "it uses the host's network", remedy);
    } else if let Some(container) = mode.strip_prefix("container:") {
        let what = format!("it uses the network of the container `{container}`");
        findings.hazard(Hazard::ForeignContainer, at, what, "use a network of this project");
    } else if !(mode.is_empty() || mode == "none" || mode.starts_with("service:")) {
        let what = format!("it uses the network `{mode}`, which other projects share");
        findings.hazard(Hazard::ForeignNetwork, at, what, "use a network of this project");
    }
}

fn namespaces(service: &Value, at: &str, findings: &mut Findings) {
    for (key, what) in [
        ("pid", "processes"),
        ("ipc", "shared memory"),
        ("uts", "name"),
        ("userns_mode", "users"),
        ("cgroup", "cgroups"),
    ] {
        let mode = text(service, key).unwrap_or_default();
        if mode == "host" {
            let what = format!("it shares the host's {what} (`{key}: host`)");
            findings.hazard(Hazard::HostNamespace, at, what, format!("leave out `{key}`"));
        } else if let Some(container) = mode.strip_prefix("container:") {
            let what = format!("it shares the {what} of the container `{container}`");
            findings.hazard(Hazard::ForeignContainer, at, what, format!("leave out `{key}`"));
        }
    }
    if let Some(parent) = text(service, "cgroup_parent").filter(|parent| !parent.is_empty()) {
        let what = format!("it runs in the cgroup `{parent}`, beside others that are not ours");
        findings.hazard(Hazard::HostNamespace, at, what, "leave out `cgroup_parent`");
    }
}

fn privileges(service: &Value, at: &str, findings: &mut Findings) {
    if flag(service, "privileged") {
        findings.hazard(Hazard::Privileged, at, "it is privileged", "leave out `privileged`");
    }
    if flag(service, "use_api_socket") {
        findings.hazard(Hazard::EngineSocket, at, "it is given the engine's socket", "leave out `use_api_socket`");
    }
    for capability in items(service, "cap_add").filter_map(Value::as_str) {
        let what = format!("it has the added capability {capability}");
        findings.hazard(Hazard::AddedCapability, at, what, "leave it out");
    }
    for option in items(service, "security_opt").filter_map(Value::as_str) {
        if !matches!(option, "no-new-privileges" | "no-new-privileges:true" | "no-new-privileges=true") {
            let what = format!("the security option `{option}` changes its confinement");
            findings.hazard(Hazard::SecurityOption, at, what, "leave it out");
        }
    }
}

fn devices(service: &Value, at: &str, findings: &mut Findings) {
    for device in items(service, "devices") {
        let name = device.as_str().or_else(|| text(device, "source")).unwrap_or("a device");
        findings.hazard(Hazard::Device, at, format!("it is given {name} of the host"), "leave it out");
    }
    for rule in items(service, "device_cgroup_rules").filter_map(Value::as_str) {
        findings.hazard(Hazard::Device, at, format!("it may use devices of the host (`{rule}`)"), "leave it out");
    }
    let reserved = service.pointer("/deploy/resources/reservations/devices").and_then(Value::as_array);
    let gpus = service.get("gpus").filter(|gpus| !gpus.is_null());
    if reserved.is_some_and(|devices| !devices.is_empty()) || gpus.is_some() {
        findings.hazard(Hazard::Device, at, "it reserves devices of the host", "leave them to the live systems");
    }
}
