//! What a result was made in: what was in force for the target's containers, what stood beside it, and whether the live system
//! noticed.

use super::number;
use crate::{
    judge::result::RunResult,
    measure::{
        live::Latency,
        measured::{Figure, Measured, in_words},
    },
    plan::gate::Unit,
    record::entry::{NeighboursCompared, ServiceInForce, Subject, TargetInForce},
};

/// The lines, label by label.
pub(super) fn of(result: &RunResult) -> Vec<(&'static str, Vec<String>)> {
    vec![
        ("Target", result.targets.iter().flat_map(target).collect()),
        ("Neighbours", result.neighbours.iter().map(neighbours).collect()),
        ("Live system", live(result)),
    ]
}

fn target(target: &TargetInForce) -> Vec<String> {
    let TargetInForce { engine, cgroup, compose, project, started_here, services, allowed, .. } = target;
    let origin = if *started_here { "started by this run" } else { "up already, and left up" };
    let first = format!("project {project}, {origin}; engine {engine}, cgroup v{cgroup}, Compose {compose}");
    let services = services.iter().map(|(name, service)| format!("- {name}: {}", in_force(service)));
    let allowed = allowed.iter().map(|hazard| format!("- allowed: {hazard}"));
    std::iter::once(first).chain(services).chain(allowed).collect()
}

/// `2 CPUs (8 asked, lowered to the host's), 6 GB of memory (by SCALE_MEM_POSTGRES), CPUs 2-5, image …`.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn in_force(service: &ServiceInForce) -> String {
    let ServiceInForce { image, cpus, cpus_clamped_from, memory_bytes, cpuset, overridden_by, .. } = service;
    let cpus = cpus.map_or_else(|| "no cap on CPUs".to_owned(), |cpus| format!("{cpus} CPUs"));
    let clamped = cpus_clamped_from.map(|asked| format!(" ({asked} asked, lowered to the host's)")).unwrap_or_default();
    let memory = memory_bytes.map(|bytes| in_words(bytes as f64, Unit::Bytes));
    let memory = memory.map_or_else(|| "no cap on memory".to_owned(), |memory| format!("{memory} of memory"));
    let cpuset = cpuset.as_ref().map(|cpuset| format!(", only CPUs {cpuset}")).unwrap_or_default();
    let by = if overridden_by.is_empty() { String::new() } else { format!(", by {}", overridden_by.join(", ")) };
    format!("{cpus}{clamped}, {memory}{cpuset}{by}; image {image}")
}

fn neighbours(compared: &NeighboursCompared) -> String {
    let NeighboursCompared { at, things, sha256_before, sha256_after, changed } = compared;
    let hashes = if sha256_before == sha256_after {
        format!("SHA-256 {sha256_before} before and after")
    } else {
        format!("SHA-256 {sha256_before} before, {sha256_after} after")
    };
    let changed = changed.iter().map(|(thing, how)| format!("; {thing} {how}"));
    format!("- {}: {things} things that are not ours, {hashes}{}", number::at(*at), changed.collect::<String>())
}

/// Nothing when the plan watches over no live system.
fn live(result: &RunResult) -> Vec<String> {
    let is_watched =
        result.cells.iter().any(|cell| cell.subjects.values().any(|subject| *subject == Subject::LiveSafety));
    if !is_watched {
        return Vec::new();
    }
    if !result.live_check {
        return vec!["not looked at: --no-live-check; the host's load and disk were watched".to_owned()];
    }
    let all = &result.live_latency;
    let stretches = [("before", &all.before), ("during", &all.during), ("after", &all.after)];
    stretches.into_iter().map(|(when, latency)| format!("- {when}: {}", latency_in_words(latency))).collect()
}

fn latency_in_words(Latency { median_s, max_s }: &Latency) -> String {
    match (median_s, max_s.figure()) {
        (Measured::Value(median), Some(max)) => {
            let n = median.n;
            let [median, max] = [median, max].map(|figure: &Figure| number::figure(figure));
            format!("latency median {median}, max {max} of {n} looks")
        }
        (Measured::Unmeasured { why }, _) => format!("unmeasured: {why}"),
        (Measured::Value(_), None) => "unmeasured".to_owned(),
    }
}
