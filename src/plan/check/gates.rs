//! Gates: each metric exists and is produced by this plan, each window exists, each bound fits its metric's unit.

use indexmap::IndexMap;

use super::implied::implied_gates;
use crate::{
    plan::{
        bound_fit::fit,
        checked::{CellPlan, CheckedGate, Part, Window},
        document::Plan,
        gate::{Gate, Miss, default_name},
        load::Load,
        metric::SubjectKind,
        nearest::{list, offer, quoted_as_at},
        phase::Phase,
        subject::{ResolvedMetric, Subject, resolve_metric},
        tree::Node,
    },
    problem::Problem,
};

/// The gates of one step: those of the plan in their order, then those that follow from budgets and targets.
pub(crate) fn resolve_gates(
    plan: &Plan,
    cell: &CellPlan,
    subjects: &IndexMap<String, Subject>,
    tree: &Node,
    problems: &mut Vec<Problem>,
) -> Vec<CheckedGate> {
    let mut resolver = Resolver { plan, cell, tree, problems, subjects };
    let mut gates: Vec<CheckedGate> =
        plan.gate.iter().enumerate().filter_map(|(index, gate)| resolver.gate(index, gate)).collect();
    resolver.names(&gates);
    let implied = implied_gates(cell, &gates);
    gates.extend(implied);
    resolver.together(&gates);
    gates
}

struct Resolver<'a> {
    plan: &'a Plan,
    cell: &'a CellPlan,
    tree: &'a Node,
    problems: &'a mut Vec<Problem>,
    subjects: &'a IndexMap<String, Subject>,
}

impl Resolver<'_> {
    fn gate(&mut self, index: usize, gate: &Gate) -> Option<CheckedGate> {
        let at = format!("/gate/{index}");
        let metric = self.metric(&at, &gate.metric);
        let window = self.window(&at, gate, metric);
        self.meaning(&at, gate);
        let comparisons = gate.comparisons();
        let [(comparison, bound)] = comparisons.as_slice() else {
            self.not_one_comparison(&at, gate, comparisons.len());
            return None;
        };
        let (metric, window) = (metric?, window?);
        let key = comparison.key();
        let value = match fit(metric.unit, bound) {
            Ok(value) => value,
            Err(misfit) => {
                let node = self.tree.at(&format!("{at}/{key}"));
                let title = format!("`{}` is {}", gate.metric, misfit.wanted);
                let problem = Problem::error(title).at(node.map(|node| node.place.clone()), misfit.reason);
                let problem = problem.help(format!("write {key} = {}", misfit.remedy));
                let replacement = node.is_some_and(|node| node.verbatim).then_some(misfit.remedy);
                self.problems.push(Problem { replacement, ..problem });
                return None;
            }
        };
        Some(CheckedGate {
            name: gate.name.clone().unwrap_or_else(|| default_name(&gate.metric, gate.window.as_deref())),
            metric: gate.metric.clone(),
            window,
            comparison: *comparison,
            bound: value,
            bound_text: bound.text.clone(),
            unit: metric.unit,
            miss: gate.miss,
            cause: gate.cause.clone(),
            proof: gate.proof,
            requires: gate.requires.clone(),
            because: gate.because.clone(),
        })
    }

    fn wrong(&mut self, pointer: &str, title: impl Into<String>, label: impl Into<String>) {
        let place = self.tree.at(pointer).map(|node| node.place.clone()).or_else(|| self.tree.key_at(pointer));
        self.problems.push(Problem::error(title).at(place, label));
    }

    fn metric(&mut self, at: &str, name: &str) -> Option<ResolvedMetric> {
        let subject = name.split('.').next().unwrap_or_default();
        let pointer = format!("{at}/metric");
        match resolve_metric(self.subjects, name) {
            Ok(metric) => match self.not_produced(subject, metric.kind) {
                None => Some(metric),
                Some(why) => {
                    self.wrong(&pointer, format!("nothing measures `{name}`"), why);
                    None
                }
            },
            Err(error) => {
                let node = self.tree.at(&pointer);
                let place = node.map(|node| node.place.clone());
                let around = [&self.cell.setup, &self.cell.teardown].into_iter().flatten();
                let reason = match (subject, around.into_iter().any(|named| named.name == subject)) {
                    (_, true) => format!("`{subject}` runs outside the cells, and a gate judges a cell"),
                    ("live_safety" | "durability" | "growth", _) if !self.subjects.contains_key(subject) => {
                        format!("the plan has no `[{subject}]`")
                    }
                    ("engine", _) if !self.subjects.contains_key("engine") => {
                        "only a `compose` target has an engine".to_owned()
                    }
                    ("target", _) if !self.subjects.contains_key("target") => {
                        "an external target is not ours to watch".to_owned()
                    }
                    _ => error.reason,
                };
                let problem = Problem::error(format!("unknown metric `{name}`")).at(place.clone(), reason);
                let few = error.known.len() <= 12;
                let known = error.known.iter().map(String::as_str);
                let mut problem = offer(problem, name, known, |name| quoted_as_at(place.as_ref(), name));
                if problem.replacement.is_none() && !few {
                    problem.help = Some(format!("subjects: {}", list(self.subjects.keys().map(String::as_str))));
                }
                self.problems.push(problem);
                None
            }
        }
    }

    /// Why a subject gives no numbers in this plan; none when it does, or when a misspelt name may have meant it.
    fn not_produced(&self, name: &str, kind: SubjectKind) -> Option<String> {
        let phases = self.cell.phases.iter().map(|named| &named.phase);
        let misspelt = phases.clone().any(|phase| match phase {
            Phase::Hold(hold) => hold.start.iter().any(|name| !self.subjects.contains_key(name)),
            Phase::Probe(probe) => probe.probes.iter().any(|name| !self.subjects.contains_key(name)),
            _ => false,
        });
        if misspelt {
            return None;
        }
        let started = || {
            phases
                .clone()
                .any(|phase| matches!(phase, Phase::Hold(hold) if hold.start.iter().any(|start| start == name)))
        };
        let probed = || {
            phases
                .clone()
                .any(|phase| matches!(phase, Phase::Probe(probe) if probe.probes.iter().any(|probe| probe == name)))
        };
        match kind {
            SubjectKind::MqttPublish | SubjectKind::ExecLoad | SubjectKind::Canary if !started() => {
                Some(format!("no `hold` starts `{name}`"))
            }
            SubjectKind::Probe if !probed() => Some(format!("no `probe` phase runs `{name}`")),
            _ => None,
        }
    }

    fn window(&mut self, at: &str, gate: &Gate, metric: Option<ResolvedMetric>) -> Option<Window> {
        let Some(text) = &gate.window else { return Some(Window { phase: None, part: Part::Whole }) };
        let pointer = format!("{at}/window");
        if metric.is_some_and(|metric| !metric.windowed) {
            self.wrong(
                &pointer,
                format!("`{}` has no window", gate.metric),
                "it belongs to its phase: leave `window` out",
            );
            return None;
        }
        let (phase, part) = text.split_once('/').map_or((text.as_str(), None), |(phase, part)| (phase, Some(part)));
        let place = self.tree.at(&pointer).map(|node| node.place.clone());
        let phases: Vec<&str> = self.cell.phases.iter().map(|named| named.name.as_str()).collect();
        if !phases.contains(&phase) {
            let problem = Problem::error(format!("unknown window `{text}`")).at(place.clone(), "no phase of that name");
            let spelt = |name: &str| quoted_as_at(place.as_ref(), &text.replacen(phase, name, 1));
            self.problems.push(offer(problem, phase, phases, spelt));
            return None;
        }
        let Some(part) = part.map_or(Some(Part::Whole), Part::named) else {
            let problem =
                Problem::error(format!("unknown part of a window `{text}`")).at(place.clone(), "no such part");
            let spelt = |name: &str| quoted_as_at(place.as_ref(), &format!("{phase}/{name}"));
            self.problems.push(offer(
                problem,
                part.unwrap_or_default(),
                Part::NAMES.iter().map(|(name, _)| *name),
                spelt,
            ));
            return None;
        };
        Some(Window { phase: Some(phase.to_owned()), part })
    }

    /// What a miss means.
    fn meaning(&mut self, at: &str, gate: &Gate) {
        if gate.miss == Miss::Inconclusive && gate.cause.is_none() {
            self.wrong(&format!("{at}/miss"), "an inconclusive miss without a cause", "`cause` is needed beside it");
        }
        if gate.miss != Miss::Inconclusive && gate.cause.is_some() {
            self.wrong(
                &format!("{at}/cause"),
                "a cause that is never reported",
                "it is that of `miss = \"inconclusive\"`",
            );
        }
        if gate.proof && gate.miss != Miss::Fail {
            self.wrong(
                &format!("{at}/proof"),
                "a proof that does not fail",
                "a broken proof fails the cell: `miss` must be \"fail\"",
            );
        }
    }

    fn not_one_comparison(&mut self, at: &str, gate: &Gate, found: usize) {
        let title = if found == 0 { "a gate that compares nothing" } else { "a gate with two bounds" };
        let keys = gate
            .comparisons()
            .into_iter()
            .filter_map(|(comparison, _)| self.tree.key_at(&format!("{at}/{}", comparison.key())));
        let last = keys.max_by_key(|key| key.span.start);
        let place = last.or_else(|| self.tree.at(&format!("{at}/metric")).map(|node| node.place.clone()));
        let help = "exactly one of `at_least`, `at_most`, `above`, `below` and `equals`";
        self.problems.push(Problem::error(title).at(place, "in this gate").help(help));
    }

    /// Names are given once, and `requires` names one.
    fn names(&mut self, gates: &[CheckedGate]) {
        let names: Vec<String> = self
            .plan
            .gate
            .iter()
            .map(|gate| gate.name.clone().unwrap_or_else(|| default_name(&gate.metric, gate.window.as_deref())))
            .collect();
        for (index, name) in names.iter().enumerate().filter(|(index, name)| names[..*index].contains(name)) {
            let key = if self.plan.gate[index].name.is_some() { "name" } else { "metric" };
            let title = format!("two gates are called `{name}`");
            self.wrong(&format!("/gate/{index}/{key}"), title, "give this gate a `name` of its own");
        }
        for (index, gate) in self.plan.gate.iter().enumerate() {
            let Some(required) = &gate.requires else { continue };
            let pointer = format!("/gate/{index}/requires");
            if self.requires_itself(&names, index) {
                self.wrong(&pointer, "a gate that requires itself", "name a gate that does not depend on this one");
            } else if !names.contains(required) {
                let place = self.tree.at(&pointer).map(|node| node.place.clone());
                let problem =
                    Problem::error(format!("unknown gate `{required}`")).at(place.clone(), "no gate of that name");
                let known = gates.iter().map(|gate| gate.name.as_str());
                self.problems.push(offer(problem, required, known, |name| quoted_as_at(place.as_ref(), name)));
            } else if gates.iter().any(|gate| gate.name == *required && gate.miss == Miss::Caveat) {
                let label = "a missed caveat decides nothing, and would excuse this gate";
                self.wrong(&pointer, "a gate that requires a caveat", label);
            }
        }
    }

    /// Whether the chain of `requires` that begins at a gate comes back to it.
    fn requires_itself(&self, names: &[String], first: usize) -> bool {
        let mut index = first;
        for _ in names {
            let Some(required) = &self.plan.gate[index].requires else { return false };
            match names.iter().position(|name| name == required) {
                Some(next) if next == first => return true,
                Some(next) => index = next,
                None => return false,
            }
        }
        false
    }

    /// Rules over all gates.
    fn together(&mut self, gates: &[CheckedGate]) {
        let written = &self.plan.gate;
        if !written.is_empty()
            && written.iter().all(|gate| gate.miss != Miss::Fail)
            && self.cell.probes.values().all(|probe| probe.budget.is_none())
        {
            self.wrong(
                "/gate/0/metric",
                "no gate can fail",
                "at least one gate needs `miss = \"fail\"`: else a pass says nothing",
            );
        }
        for (name, load) in &self.cell.loads {
            let custody =
                self.cell.phases.iter().find(|named| matches!(&named.phase, Phase::Reconcile(r) if r.load == *name));
            let Some(custody) = custody.filter(|_| matches!(load, Load::MqttPublish(_))) else { continue };
            let prefix = format!("{}.", custody.name);
            if !gates.iter().any(|gate| gate.metric.starts_with(&prefix)) {
                let index = self.cell.phases.iter().position(|named| named.name == custody.name).unwrap_or_default();
                let place = self.tree.at(&format!("/phase/{index}/name")).map(|node| node.place.clone());
                let problem = Problem::warning(format!("no gate looks at `{}`", custody.name));
                let label = "what it finds missing changes no verdict";
                self.problems.push(
                    problem.at(place, label).help(format!("add [[gate]] metric = \"{prefix}missing\", equals = 0")),
                );
            }
        }
    }
}
