//! The order of a cell's phases: what is stopped was started, and what is counted is at rest.

use super::{PhaseAt, Scene};
use crate::{
    plan::{
        load::Load,
        phase::{Drain, Hold, Phase, Reconcile},
    },
    problem::Problem,
};

pub(super) fn check(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    outside(scene, problems);
    let starts = scene.cell_phases().filter_map(|at| match &at.phase {
        Phase::Hold(hold) => Some(&hold.start),
        _ => None,
    });
    // A misspelt start would make everything after it look wrong.
    if starts.flatten().any(|name| !is_known(scene, name)) {
        return;
    }
    let mut order = Order { scene, problems, running: Vec::new(), stopped: Vec::new(), drained: false };
    for at in scene.cell_phases() {
        order.phase(at);
    }
}

fn is_known(scene: &Scene<'_>, name: &str) -> bool {
    scene.plan.loads.contains_key(name) || scene.plan.watches.contains_key(name)
}

/// Loads and what belongs to them run in cells only.
fn outside(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    for at in scene.phases.iter().filter(|at| !at.in_cell) {
        let pointer = match &at.phase {
            Phase::Hold(hold) if !hold.start.is_empty() => format!("{}/hold/start", at.pointer),
            Phase::Drain(_) => format!("{}/drain", at.pointer),
            Phase::Reconcile(_) => format!("{}/reconcile", at.pointer),
            _ => continue,
        };
        let problem = Problem::error(format!("`{}` must be a phase of the cells", at.name));
        let place = scene.key(&pointer);
        problems.push(problem.at(place, "loads run only in `[[phase]]`, so that every cell has its own figures"));
    }
}

struct Order<'a, 'b> {
    scene: &'a Scene<'a>,
    problems: &'b mut Vec<Problem>,
    running: Vec<String>,
    stopped: Vec<String>,
    drained: bool,
}

impl Order<'_, '_> {
    fn phase(&mut self, at: &PhaseAt<'_>) {
        match &at.phase {
            Phase::Hold(hold) => self.hold(&format!("{}/hold", at.pointer), hold),
            Phase::Drain(drain) => self.drain(&format!("{}/drain", at.pointer), drain),
            Phase::Reconcile(reconcile) => self.reconcile(&format!("{}/reconcile", at.pointer), reconcile),
            _ => {}
        }
    }

    fn wrong(&mut self, pointer: &str, title: String, label: &str) {
        self.problems.push(Problem::error(title).at(self.scene.place(pointer), label));
    }

    fn hold(&mut self, at: &str, hold: &Hold) {
        for (index, name) in hold.start.iter().enumerate() {
            if self.running.contains(name) {
                self.wrong(&format!("{at}/start/{index}"), format!("`{name}` is started twice"), "it runs already");
            } else {
                self.running.push(name.clone());
                self.stopped.retain(|stopped| stopped != name);
                self.drained = false;
            }
        }
        for (index, name) in hold.stop.iter().enumerate() {
            self.stop(&format!("{at}/stop/{index}"), name);
        }
    }

    fn drain(&mut self, at: &str, drain: &Drain) {
        for (index, name) in drain.stop.iter().enumerate() {
            self.stop(&format!("{at}/stop/{index}"), name);
        }
        if let Some(canary) =
            drain.canary.as_ref().filter(|name| is_known(self.scene, name) && !self.running.contains(*name))
        {
            let label = "no `hold` before this has it running";
            self.wrong(&format!("{at}/canary"), format!("the canary `{canary}` does not run here"), label);
        }
        if drain.canary.is_none() && drain.query.is_none() {
            let problem = Problem::error("a drain that looks at nothing")
                .at(self.scene.key(at), "it cannot tell when the store is at rest");
            self.problems.push(problem.help("give `canary`, `query` or both"));
        }
        self.drained = true;
    }

    fn stop(&mut self, pointer: &str, name: &str) {
        match self.running.iter().position(|running| running == name) {
            Some(index) => self.stopped.push(self.running.remove(index)),
            None if is_known(self.scene, name) => {
                let title = format!("`{name}` is stopped but does not run");
                self.wrong(pointer, title, "no `hold` before this starts it");
            }
            None => {}
        }
    }

    fn reconcile(&mut self, at: &str, reconcile: &Reconcile) {
        let name = &reconcile.load;
        let pointer = format!("{at}/load");
        match self.scene.cell.loads.get(name) {
            Some(Load::MqttPublish(publish)) if publish.qos == 0 => {
                let label = "readings of QoS 0 are never acknowledged: there is nothing to compare";
                self.wrong(&pointer, format!("`{name}` has no custody"), label);
            }
            Some(Load::MqttPublish(_)) if self.running.contains(name) => {
                let label = "a store that still grows cannot be compared: drain before this";
                self.wrong(&pointer, format!("`{name}` still runs"), label);
            }
            Some(Load::MqttPublish(_)) if !self.stopped.contains(name) => {
                self.wrong(&pointer, format!("`{name}` did not run before this"), "no `hold` starts it");
            }
            Some(Load::MqttPublish(_)) if !self.drained => {
                let label = "readings that are still on their way would count as missing: put a `drain` before this";
                self.wrong(&pointer, "the store is not at rest".to_owned(), label);
            }
            Some(Load::MqttPublish(publish)) if publish.preflight.is_none() => {
                let problem = Problem::warning(format!("`{name}` has no preflight")).at(
                    self.scene.place(&pointer),
                    "a broker acknowledges also what its ACL denies: such readings would count as lost by the store",
                );
                self.problems.push(problem.help(format!("add [loads.{name}.mqtt_publish.preflight]")));
            }
            Some(Load::Exec(_)) => {
                self.wrong(
                    &pointer,
                    format!("`{name}` keeps no ledger"),
                    "only `mqtt_publish` loads can be reconciled",
                );
            }
            Some(Load::MqttPublish(_)) | None => {}
        }
    }
}
