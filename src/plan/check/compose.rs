//! A Compose target: what the plan must say of it, and what only such a target has.

use super::{Scene, target::is_cpuset};
use crate::{
    plan::{phase::Phase, target::Compose, tree::join, watch::Watch},
    problem::Problem,
};

const TARGET: &str = "/target/compose";

pub(super) fn check(scene: &Scene<'_>, compose: &Compose, problems: &mut Vec<Problem>) {
    if scene.plan.isolation.is_none() {
        let problem = Problem::error("nothing says what this target may not touch")
            .at(scene.key(TARGET), "containers share a host");
        problems.push(problem.help("add a table [isolation] with the projects, ports and env files that are live"));
    }
    if compose.files.is_empty() {
        let place = scene.key(&format!("{TARGET}/files"));
        problems.push(Problem::error("the target has no Compose file").at(place, "at least one is needed"));
    }
    if let Some(cpuset) = compose.cpuset.as_ref().filter(|cpuset| !is_cpuset(cpuset)) {
        let place = scene.place(&format!("{TARGET}/cpuset"));
        let problem = Problem::error(format!("`{cpuset}` is no list of CPUs")).at(place, "expected numbers and ranges");
        problems.push(problem.help("write \"0\" or \"2-5,7\""));
    }
    for at in &scene.phases {
        let Phase::Fault(fault) = &at.phase else { continue };
        if fault.by.is_some() && fault.kill.is_none() {
            let place = scene.key(&format!("{}/fault/by", at.pointer));
            problems.push(Problem::error("no signal is sent here").at(place, "`by` goes with `kill`"));
        }
    }
    for (name, watch) in &scene.cell.watches {
        if let Watch::Process(_) = watch.watch {
            let place = scene.key(&join(&join("/watches", name), "process"));
            let problem = Problem::error(format!("`{name}` watches processes, and this target has containers"));
            problems.push(problem.at(place, "not for a `compose` target").help("use `containers`"));
        }
    }
}

/// What only containers have, in a plan whose target has none.
pub(super) fn only_there(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let only = "only a `compose` target has containers";
    for at in &scene.phases {
        let Phase::Fault(fault) = &at.phase else { continue };
        let given = [("disconnect", fault.disconnect), ("by", fault.by.is_some())];
        for (key, _) in given.into_iter().filter(|(_, given)| *given) {
            let place = scene.key(&format!("{}/fault/{key}", at.pointer));
            problems.push(Problem::error(format!("`{key}` is for containers")).at(place, only));
        }
    }
    for (name, watch) in &scene.cell.watches {
        if let Watch::Containers(_) = watch.watch {
            let place = scene.key(&join(&join("/watches", name), "containers"));
            let problem = Problem::error(format!("`{name}` watches containers, and this target has none"));
            problems.push(problem.at(place, only).help("use `process`"));
        }
    }
    inside(scene, only, problems);
}

/// A command can run inside a container only where scaler has some.
pub(super) fn inside(scene: &Scene<'_>, only: &str, problems: &mut Vec<Problem>) {
    for (name, watch) in &scene.cell.watches {
        if let Watch::Exec(exec) = &watch.watch
            && exec.service.is_some()
        {
            let place = scene.key(&format!("{}/exec/in", join("/watches", name)));
            let problem = Problem::error(format!("`{name}` runs a command in a container, and this target has none"));
            problems.push(problem.at(place, only));
        }
    }
}
