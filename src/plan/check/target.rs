//! The target: what scaler may start, take down and watch.

use std::collections::BTreeMap;

use super::Scene;
use crate::{
    plan::{
        nearest::{offer, quoted_as_at},
        phase::Phase,
        target::{Processes, Ready, Service, Target},
        tree::join,
        watch::Watch,
    },
    problem::Problem,
};

pub(super) fn check(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    match &scene.cell.target {
        Target::Processes(processes) => {
            services(scene, processes, problems);
            ports(scene, processes, problems);
            circles(scene, processes, problems);
            super::compose::only_there(scene, problems);
            shared(scene, processes, problems);
            watched_steps(scene, processes, problems);
        }
        Target::Compose(compose) => super::compose::check(scene, compose, problems),
        Target::External(_) => external(scene, problems),
    }
    faults(scene, problems);
    secrets(scene, problems);
}

const SERVICES: &str = "/target/processes/services";

fn services(scene: &Scene<'_>, processes: &Processes, problems: &mut Vec<Problem>) {
    if processes.services.is_empty() {
        let place = scene.key(SERVICES);
        problems.push(Problem::error("the target has no process").at(place, "at least one is needed"));
    }
    for (name, service) in &processes.services {
        let at = join(SERVICES, name);
        if name.contains(['.', '/', ' ']) {
            let label = "a process has letters, digits, `-` and `_` in its name";
            problems.push(Problem::error(format!("`{name}` cannot be a name")).at(scene.key(&at), label));
        }
        for (index, other) in
            service.after.iter().enumerate().filter(|(_, other)| !processes.services.contains_key(*other))
        {
            let place = scene.place(&format!("{at}/after/{index}"));
            let problem = Problem::error(format!("unknown process of the target `{other}`"))
                .at(place.clone(), "no process of that name");
            let known = processes.services.keys().map(String::as_str);
            problems.push(offer(problem, other, known, |name| quoted_as_at(place.as_ref(), name)));
        }
        problems.extend(files(scene, &at, service));
        if let Some(ready) = &service.ready {
            problems.extend(lasting_only(scene, &format!("{at}/ready"), service));
            problems.extend(ready_sign(scene, &format!("{at}/ready"), ready));
        }
        if let Some(cpuset) = service.cpuset.as_ref().filter(|cpuset| !is_cpuset(cpuset)) {
            let place = scene.place(&format!("{at}/cpuset"));
            let problem =
                Problem::error(format!("`{cpuset}` is no list of CPUs")).at(place, "expected numbers and ranges");
            problems.push(problem.help("write \"0\" or \"2-5,7\""));
        }
    }
}

/// A file stays inside its process's working folder.
fn files(scene: &Scene<'_>, at: &str, service: &Service) -> Vec<Problem> {
    let outside = |name: &&String| name.is_empty() || name.contains('/') || [".", ".."].contains(&name.as_str());
    let problem = |name: &String| {
        let place = scene.key(&join(&format!("{at}/files"), name));
        Problem::error(format!("`{name}` cannot be the name of a file")).at(place, "a name without `/` is needed")
    };
    service.files.keys().filter(outside).map(problem).collect()
}

/// What makes no sense for a step, which is over before anything else happens.
fn lasting_only(scene: &Scene<'_>, pointer: &str, service: &Service) -> Option<Problem> {
    service.ends_within.as_ref().map(|_| {
        let label = "the process has `ends_within`";
        Problem::error("a step has ended before anything else happens").at(scene.key(pointer), label)
    })
}

fn ready_sign(scene: &Scene<'_>, at: &str, ready: &Ready) -> Option<Problem> {
    let problem = |title: &str, label: &str| Some(Problem::error(title).at(scene.key(at), label));
    match (&ready.tcp, &ready.http) {
        (Some(_), Some(_)) => problem("two signs of readiness", "give either `tcp` or `http`"),
        (None, None) => problem("no sign of readiness", "give `tcp` or `http`"),
        (Some(address), None) if !is_address(address) => {
            let problem = Problem::error(format!("`{address}` is no address"));
            Some(problem.at(scene.place(&format!("{at}/tcp")), "expected HOST:PORT"))
        }
        _ => None,
    }
}

fn is_address(address: &str) -> bool {
    address.contains("{{")
        || address.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// `0`, `2-5,7`
pub(super) fn is_cpuset(text: &str) -> bool {
    text.split(',').all(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        matches!((first.trim().parse::<u32>(), last.trim().parse::<u32>()), (Ok(first), Ok(last)) if first <= last)
    })
}

fn ports(scene: &Scene<'_>, processes: &Processes, problems: &mut Vec<Problem>) {
    let mut holders: BTreeMap<u16, &str> = BTreeMap::new();
    for (name, service) in &processes.services {
        for (index, port) in service.ports.iter().enumerate() {
            let place = scene.place(&format!("{}/ports/{index}", join(SERVICES, name)));
            if *port == 0 {
                problems.push(Problem::error("port 0 cannot be listened on").at(place, "a fixed port is needed"));
            } else if let Some(holder) = holders.insert(*port, name) {
                let title = format!("port {port} is used twice");
                problems.push(Problem::error(title).at(place, format!("`{holder}` listens on it")));
            }
        }
    }
}

/// Processes that wait for each other never start.
fn circles(scene: &Scene<'_>, processes: &Processes, problems: &mut Vec<Problem>) {
    for (name, service) in &processes.services {
        let mut waits_for: Vec<&str> = service.after.iter().map(String::as_str).collect();
        let mut seen = Vec::new();
        while let Some(other) = waits_for.pop() {
            if other == name {
                let place = scene.place(&format!("{}/after", join(SERVICES, name)));
                let title = format!("`{name}` waits for itself");
                problems.push(Problem::error(title).at(place, "these processes start after each other"));
                return;
            }
            if !seen.contains(&other) {
                seen.push(other);
                waits_for.extend(
                    processes
                        .services
                        .get(other)
                        .into_iter()
                        .flat_map(|service| service.after.iter().map(String::as_str)),
                );
            }
        }
    }
}

/// What one step leaves in the store, the next one finds.
fn shared(scene: &Scene<'_>, processes: &Processes, problems: &mut Vec<Problem>) {
    let decided = scene.tree.at("/target/processes/fresh_per_cell").is_some();
    if scene.plan.ladder.is_some() && !processes.fresh_per_cell && !decided {
        let problem = Problem::warning("all steps share one target: each finds what the one before it left behind");
        let problem = problem.at(scene.key("/target/processes"), "`fresh_per_cell` is not set");
        problems.push(problem.help("write fresh_per_cell = true, or false if that is meant"));
    }
}

/// scaler only talks to an external target.
fn external(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let why = "an external target is never started, stopped or killed";
    for at in scene.phases.iter().filter(|at| matches!(at.phase, Phase::Fault(_))) {
        let title = format!("the phase `{}` takes down what is not ours", at.name);
        problems.push(Problem::error(title).at(scene.key(&format!("{}/fault", at.pointer)), why));
    }
    for (name, watch) in &scene.cell.watches {
        if matches!(watch.watch, Watch::Process(_) | Watch::Containers(_)) {
            let place = scene.key(&join(&join("/watches", name), watch.watch.key()));
            let problem = Problem::error(format!("`{name}` watches what scaler does not start"));
            problems.push(problem.at(place, why).help("take its numbers over HTTP, with `prometheus` or `http_json`"));
        }
    }
    super::compose::inside(scene, why, problems);
}

fn faults(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    for at in &scene.phases {
        let Phase::Fault(fault) = &at.phase else { continue };
        let pointer = format!("{}/fault", at.pointer);
        if let Target::Processes(processes) = &scene.cell.target
            && let Some(service) = processes.services.get(&fault.service)
        {
            problems.extend(lasting_only(scene, &format!("{pointer}/service"), service));
        }
        let ways =
            [fault.kill.is_some(), fault.stop, fault.pause, fault.disconnect].map(usize::from).iter().sum::<usize>();
        if ways != 1 {
            let title = if ways == 0 { "a fault that does nothing" } else { "a fault in two ways" };
            let label = "exactly one of `kill`, `stop`, `pause` and `disconnect`";
            let problem = Problem::error(title).at(scene.key(&pointer), label);
            problems.push(problem);
        }
        if let Some(wait) = fault.after.as_ref().filter(|wait| wait.at_least > wait.at_most) {
            let label = format!("the shortest wait ({}) is longer than the longest ({})", wait.at_least, wait.at_most);
            problems.push(Problem::error("a wait without room").at(scene.place(&format!("{pointer}/after")), label));
        }
    }
}

/// A step has no usage to watch: it is over when the watches begin.
fn watched_steps(scene: &Scene<'_>, processes: &Processes, problems: &mut Vec<Problem>) {
    for (name, watch) in &scene.cell.watches {
        let Watch::Process(watch) = &watch.watch else { continue };
        for (index, service) in watch.services.iter().enumerate() {
            let pointer = format!("{}/process/services/{index}", join("/watches", name));
            problems.extend(processes.services.get(service).and_then(|service| lasting_only(scene, &pointer, service)));
        }
    }
}

fn secrets(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    for (name, secret) in &scene.plan.secrets {
        if secret.random.is_some() && secret.env.is_some() {
            let place = scene.key(&join(&join("/secrets", name), "env"));
            let problem = Problem::error(format!("the secret `{name}` comes from two places"));
            problems.push(problem.at(place, "either `random` or `env`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        for good in ["0", "2-5,7", "1, 3"] {
            assert!(is_cpuset(good), "{good}");
        }
        for bad in ["", "5-2", "a", "1-", "0;1"] {
            assert!(!is_cpuset(bad), "{bad}");
        }
    }
}
