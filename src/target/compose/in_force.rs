//! What is in force for a project that was started: its caps with where they come from, its CPU set and its images. Pure.

use super::Examined;
use crate::{
    engine::{About, Container},
    record::entry::{ServiceInForce, TargetInForce},
};

/// What the engine has for each container, and what of it scaler's override changed.
#[expect(clippy::cast_precision_loss, reason = "billionths of a CPU")]
pub(super) fn in_force(
    examined: &Examined,
    containers: &[Container],
    about: About,
    started_here: bool,
) -> TargetInForce {
    let overridden = &examined.overridden;
    let service = |container: &Container| {
        let origin = overridden.origins.get(&container.service).cloned().unwrap_or_default();
        ServiceInForce {
            container: container.name.clone(),
            image: container.image.clone(),
            cpus: container.nano_cpus.map(|nano_cpus| nano_cpus as f64 / 1e9),
            cpus_clamped_from: origin.cpus_clamped_from,
            memory_bytes: container.memory_bytes,
            cpuset: container.cpuset.clone(),
            overridden_by: origin.overridden_by,
        }
    };
    TargetInForce {
        at: 0.0,
        engine: about.version,
        cgroup: about.cgroup,
        compose: examined.compose_version.clone(),
        project: examined.guarded.project.clone(),
        started_here,
        services: containers.iter().map(|container| (container.service.clone(), service(container))).collect(),
        allowed: examined.guarded.allowed.clone(),
    }
}
