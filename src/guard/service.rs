//! Rules on one service: what it is called, what it may use, and every key that it has.

use serde_json::Value;

use super::{
    Facts, Findings, ServiceCaps, entries, items, mounts,
    names::{unknown_keys, volume_prefix},
    number, ports, powers, text,
};
use crate::plan::isolation::{Hazard, Isolation};

/// Keys that are harmless, or that a rule of their own looks at.
const SERVICE_KEYS: &[&str] = &[
    "annotations",
    "attach",
    "blkio_config",
    "build",
    "cap_add",
    "cap_drop",
    "cgroup",
    "cgroup_parent",
    "command",
    "configs",
    "container_name",
    "cpu_count",
    "cpu_percent",
    "cpu_period",
    "cpu_quota",
    "cpu_shares",
    "cpus",
    "cpuset",
    "depends_on",
    "deploy",
    "develop",
    "device_cgroup_rules",
    "devices",
    "dns",
    "dns_opt",
    "dns_search",
    "domainname",
    "entrypoint",
    "env_file",
    "environment",
    "expose",
    "external_links",
    "extra_hosts",
    "gpus",
    "group_add",
    "healthcheck",
    "hostname",
    "image",
    "init",
    "ipc",
    "label_file",
    "labels",
    "links",
    "logging",
    "mac_address",
    "mem_limit",
    "mem_reservation",
    "mem_swappiness",
    "memswap_limit",
    "network_mode",
    "networks",
    "oom_kill_disable",
    "oom_score_adj",
    "pid",
    "pids_limit",
    "platform",
    "ports",
    "privileged",
    "profiles",
    "pull_policy",
    "read_only",
    "restart",
    "scale",
    "secrets",
    "security_opt",
    "shm_size",
    "stdin_open",
    "stop_grace_period",
    "stop_signal",
    "storage_opt",
    "sysctls",
    "tmpfs",
    "tty",
    "ulimits",
    "use_api_socket",
    "user",
    "userns_mode",
    "uts",
    "volumes",
    "volumes_from",
    "working_dir",
];
const BUILD_KEYS: &[&str] = &[
    "additional_contexts",
    "args",
    "cache_from",
    "context",
    "dockerfile",
    "dockerfile_inline",
    "entitlements",
    "extra_hosts",
    "labels",
    "network",
    "no_cache",
    "platforms",
    "privileged",
    "pull",
    "secrets",
    "shm_size",
    "tags",
    "target",
    "ulimits",
];

pub(super) fn check(name: &str, service: &Value, isolation: &Isolation, facts: &Facts, findings: &mut Findings) {
    let at = format!("services.{name}");
    unknown_keys(service, SERVICE_KEYS, &at, findings);
    if let Some(fixed) = text(service, "container_name") {
        let what = format!("its container is always called `{fixed}`");
        findings.hazard(Hazard::ContainerName, &at, what, "let Compose name it");
    }
    build(service, &at, isolation, facts, findings);
    ports::check(name, service, &at, isolation, findings);
    mounts::check(service, &at, facts, findings);
    powers::check(service, &at, findings);
    labels(service, &at, findings);
    caps(name, service, &at, findings);
}

fn build(service: &Value, at: &str, isolation: &Isolation, facts: &Facts, findings: &mut Findings) {
    let Some(build) = service.get("build").filter(|build| !build.is_null()) else { return };
    unknown_keys(build, BUILD_KEYS, at, findings);
    let tags = items(build, "tags").filter_map(Value::as_str);
    for image in text(service, "image").into_iter().chain(tags) {
        if !owns_image(image, &facts.project, &volume_prefix(isolation, facts)) {
            let what = format!("building it would give the name `{image}` to another image");
            let remedy = format!("call the image `{}-…`, or give it no name", facts.project);
            findings.hazard(Hazard::ImageName, at, what, remedy);
        }
    }
    match text(build, "network").unwrap_or("default") {
        "default" | "none" | "" => {}
        "host" => findings.hazard(
            Hazard::HostNetwork,
            at,
            "its build uses the host's network",
            "build on the default network",
        ),
        other => {
            let what = format!("its build uses the network `{other}`");
            findings.hazard(Hazard::ForeignNetwork, at, what, "build on the default network");
        }
    }
    if super::flag(build, "privileged") || items(build, "entitlements").next().is_some() {
        findings.hazard(Hazard::Privileged, at, "its build is privileged", "build without privileges");
    }
}

/// Whether an image's name begins with the project, so that no other project can use it.
fn owns_image(image: &str, project: &str, prefix: &str) -> bool {
    image.starts_with(prefix)
        || image.strip_prefix(project).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_', '/', ':']))
}

fn labels(service: &Value, at: &str, findings: &mut Findings) {
    for (label, _) in entries(service, "labels").filter(|(label, _)| label.starts_with("com.docker.compose.")) {
        let what = format!("the label `{label}` says whose the container is");
        findings.hazard(Hazard::ReservedLabel, at, what, "leave it to Compose");
    }
}

fn caps(name: &str, service: &Value, at: &str, findings: &mut Findings) {
    if number(service.get("memswap_limit")).is_some_and(|bytes| bytes < 0.0) {
        let what = "its cap on memory does not hold, as it may swap without bound (`memswap_limit: -1`)";
        findings.hazard(Hazard::Uncapped, at, what, "leave out `memswap_limit`");
    }
    let limit = |key: &str| service.pointer(&format!("/deploy/resources/limits/{key}"));
    let cpus = number(service.get("cpus")).or_else(|| number(limit("cpus"))).filter(|cpus| *cpus > 0.0);
    let memory = number(service.get("mem_limit")).or_else(|| number(limit("memory"))).filter(|bytes| *bytes > 0.0);
    let missing = match (cpus, memory) {
        (Some(cpus), Some(memory)) => {
            let replicas =
                number(service.pointer("/deploy/replicas")).or_else(|| number(service.get("scale"))).unwrap_or(1.0);
            let caps = ServiceCaps { cpus, memory_bytes: whole(memory), replicas: whole(replicas) };
            findings.guarded.caps.insert(name.to_owned(), caps);
            return;
        }
        (None, Some(_)) => "CPU",
        (Some(_), None) => "memory",
        (None, None) => "CPU and memory",
    };
    let remedy = format!("give it one: target.compose.caps.{name} = {{ cpus = …, memory = … }}");
    findings.hazard(Hazard::Uncapped, at, format!("it has no cap on {missing}"), remedy);
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of bytes or containers; `as` saturates"
)]
fn whole(value: f64) -> u64 {
    value as u64
}
