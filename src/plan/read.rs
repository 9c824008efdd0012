//! From a path to a checked plan: text → spanned tree → filled tree → [`Plan`] → [`Checked`].

use std::{fmt::Write as _, io, path::Path};

use indexmap::IndexMap;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    check::{Scene, check, resolve_gates},
    checked::{CellPlan, Checked, CheckedGate, Header, HostFacts, StepEstimate},
    document::Plan,
    estimate::estimate,
    extend::{self, Extended},
    gate::{Comparison, Miss, Unit},
    page::{Filled, Page, read_plan},
    quantity::Count,
    repair::repair,
    resolve::resolve,
    sets,
    subject::subjects,
    template,
    tree::Node,
    validate::{self, validate},
};
use crate::problem::{Problem, Problems, Severity};

/// Reads a plan, everything that it extends, and checks all of it for every step of its ladder.
///
/// `read` gives a file's text, `sets` are the `--set NAME=VALUE` of the command line, `host` is what the plan may ask of the machine.
/// Nothing else is looked at: the same files, sets and host give the same answer.
///
/// # Errors
/// When the plan cannot be run: all its errors and warnings, sorted by place.
pub fn load(
    path: &str,
    read: &dyn Fn(&str) -> io::Result<String>,
    sets: &[(String, String)],
    host: &HostFacts,
) -> Result<Checked, Problems> {
    rayon::spawn(validate::prepare);
    let mut problems = Vec::new();
    let mut extended = extend::read(path, read).map_err(|problems| sorted(problems, path))?;
    sets::apply(&mut extended.tree, sets, &mut problems);
    Reading::new(path, extended, host, problems).finish()
}

fn sorted(problems: Vec<Problem>, path: &str) -> Problems {
    let mut problems = Problems(problems);
    problems.sort(path);
    problems
}

/// A plan in the course of being checked.
struct Reading<'a> {
    path: &'a str,
    text: String,
    bases: IndexMap<String, String>,
    page: Page,
    /// Where the texts are that use the ladder's step.
    texts_of_the_step: Vec<String>,
    problems: Vec<Problem>,
}

/// What remains of a step that was checked.
struct Step {
    gates: Vec<CheckedGate>,
    estimate: StepEstimate,
}

/// What checking a step came to.
struct Findings {
    /// What kept texts from being filled.
    filling: Vec<Problem>,
    /// What is wrong with the step.
    found: Vec<Problem>,
    /// What remains of the step, when it has the shape of one.
    step: Option<Step>,
}

impl<'a> Reading<'a> {
    fn new(path: &'a str, extended: Extended, host: &HostFacts, mut problems: Vec<Problem>) -> Self {
        let page = Page::new(extended.tree, host, &mut problems);
        let texts_of_the_step = page.texts_of_the_step();
        Self { path, text: extended.text, bases: extended.bases, page, texts_of_the_step, problems }
    }

    fn finish(mut self) -> Result<Checked, Problems> {
        let steps = self.steps();
        let (filled, findings) = self.first(steps[0]);
        let mut checked: Vec<Step> = self.take(findings).into_iter().collect();
        if !self.has_errors() {
            for findings in self.further(&steps[1..], &filled) {
                checked.extend(self.take(findings));
                if self.has_errors() {
                    break;
                }
            }
        }
        if !self.has_errors() {
            self.useless_ladder();
        }
        let problems = sorted(self.problems, self.path);
        if problems.has_errors() {
            return Err(problems);
        }
        let gates: Vec<&[CheckedGate]> = checked.iter().map(|step| step.gates.as_slice()).collect();
        let header = header(self.path, self.text, &read_plan(&filled.value)?, steps, &gates);
        let estimates = checked.into_iter().map(|step| step.estimate).collect();
        let page = Page { first: filled, ..self.page };
        Ok(Checked { header, bases: self.bases, warnings: problems, estimates, page })
    }

    /// Fills and checks the first step.
    fn first(&self, step: Option<u64>) -> (Filled, Findings) {
        let mut filling = Vec::new();
        let filled = Filled::from(self.page.fill(step, None, &mut filling));
        let findings = examine(&filled, step, filling);
        (filled, findings)
    }

    /// Fills and checks the other steps side by side. They differ from the first one in a few texts.
    fn further(&self, steps: &[Option<u64>], first: &Filled) -> Vec<Findings> {
        let each_cpu = (steps.len() / rayon::current_num_threads()).max(1);
        let one = |filled: &mut Filled, step: &Option<u64>| {
            let mut filling = Vec::new();
            self.page.refill(filled, &self.texts_of_the_step, *step, &mut filling);
            let findings = examine(filled, *step, filling);
            let named = |problems| self.at_step(*step, problems);
            Findings { filling: named(findings.filling), found: named(findings.found), ..findings }
        };
        steps.par_iter().with_min_len(each_cpu).map_init(|| first.clone(), one).collect()
    }

    /// Adds what was found. A place that has a problem already, such as one of its filling, says nothing more.
    fn take(&mut self, findings: Findings) -> Option<Step> {
        self.add(findings.filling);
        self.add(findings.found);
        findings.step
    }

    fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// The steps in order, at least one, those for small hosts included. What is wrong with them is found when the first step is checked.
    fn steps(&mut self) -> Vec<Option<u64>> {
        let Some(ladder) = self.page.ladder(&mut Vec::new()) else { return vec![None] };
        let small = ladder.get("small_host").filter(|small| self.is_small_host(small));
        let lists = [small.and_then(|small| small.get("first")), ladder.get("steps")];
        let values = lists.into_iter().flatten().map(Node::to_value);
        let counts = values.flat_map(|list| match list {
            Value::Array(values) => values,
            _ => Vec::new(),
        });
        let steps: Vec<Option<u64>> =
            counts.filter_map(|value| serde_json::from_value::<Count>(value).ok()).map(|count| Some(count.0)).collect();
        if steps.is_empty() { vec![Some(1)] } else { steps }
    }

    fn is_small_host(&mut self, small: &Node) -> bool {
        let Some(when) = small.get("when") else { return false };
        let Some(text) = when.text() else { return false };
        let known =
            minijinja::Value::from_pairs([("host", minijinja::Value::from(minijinja::value::Serde(&self.page.host)))]);
        match template::evaluate(text, &known) {
            Ok(Value::Bool(truth)) => truth,
            other => {
                let label = match other {
                    Ok(value) => format!("it is {value}, neither true nor false"),
                    Err(reason) => reason,
                };
                let problem = Problem::error("a condition that cannot be decided").at(Some(when.place.clone()), label);
                self.problems.push(problem.help(
                    "an expression over `host.cpus`, `host.memory_bytes` and `host.name`, such as \"host.cpus < 4\"",
                ));
                false
            }
        }
    }

    /// Says which step has a problem that the first one has not.
    fn at_step(&self, step: Option<u64>, mut problems: Vec<Problem>) -> Vec<Problem> {
        if let (Some(name), Some(step)) = (self.page.step_name(), step) {
            for problem in &mut problems {
                problem.title = format!("{} (at {name} = {step})", problem.title);
            }
        }
        problems
    }

    /// Adds what was found, but for places that had a problem before: one wrong text is one problem, whatever follows from it.
    fn add(&mut self, found: Vec<Problem>) {
        let known = self.problems.len();
        for problem in found {
            let said = |old: &Problem| match (&old.place, &problem.place) {
                (Some(old_place), Some(place)) => {
                    let within = place.span.start <= old_place.span.start && old_place.span.end <= place.span.end;
                    old_place.source == place.source && within
                }
                (None, None) => old.title == problem.title,
                _ => false,
            };
            if !self.problems[..known].iter().any(said) {
                self.problems.push(problem);
            }
        }
    }

    /// A ladder whose step nothing uses repeats one cell.
    fn useless_ladder(&mut self) {
        let Some(name) = self.page.step_name() else { return };
        if self.texts_of_the_step.is_empty() {
            let place = self.page.tree.key_at("/ladder");
            let problem = Problem::warning("nothing depends on the step: every cell is the same");
            self.problems.push(problem.at(place, format!("no text uses `{{{{ step.{name} }}}}`")));
        }
    }
}

/// Checks what was filled for one step.
fn examine(filled: &Filled, step: Option<u64>, filling: Vec<Problem>) -> Findings {
    let Filled { tree, value } = filled;
    let mut found = Vec::new();
    validate(tree, value, &mut found);
    let mut checked = None;
    if found.is_empty() {
        match read_plan(value) {
            Ok(plan) => {
                let cell = meaning(&plan, step, tree, &mut found);
                checked = Some(Step { estimate: estimate(&plan, &cell), gates: cell.gates });
            }
            Err(problems) => found.extend(problems.0),
        }
    } else if let Some(repaired) = repair(value) {
        let mut beyond = Vec::new();
        meaning(&repaired.plan, step, tree, &mut beyond);
        found.extend(repaired.sayable(tree, beyond));
    }
    Findings { filling, found, step: checked }
}

fn meaning(plan: &Plan, step: Option<u64>, tree: &Node, found: &mut Vec<Problem>) -> CellPlan {
    let mut cell = resolve(plan, step, tree, found);
    let subjects = subjects(&cell);
    cell.gates = resolve_gates(plan, &cell, &subjects, tree, found);
    check(&Scene::new(plan, &cell, &subjects, tree), found);
    cell
}

fn header(path: &str, text: String, plan: &Plan, steps: Vec<Option<u64>>, gates: &[&[CheckedGate]]) -> Header {
    let stem =
        Path::new(path).file_stem().map_or_else(|| plan.name.clone(), |stem| stem.to_string_lossy().into_owned());
    let env_file = plan.target.compose.as_ref().map(|compose| compose.env_file.clone());
    let secrets_file = plan.secrets_file.clone().or(env_file);
    Header {
        name: plan.name.clone(),
        question: plan.question.clone(),
        sha256: sha256(text.as_bytes()),
        text,
        gates_sha256: gates_sha256(gates),
        vars: plan.vars.clone(),
        secrets: plan.secrets.clone(),
        secrets_file: secrets_file.unwrap_or_else(|| format!("{stem}.env")),
        commits: plan.commits.clone(),
        ladder: plan.ladder.clone(),
        steps,
        not_covered: plan.not_covered.clone(),
        not_proven: plan.not_proven.clone(),
        known_as: plan.known_as.clone(),
    }
}

/// What a gate decides: everything but its words.
#[derive(PartialEq, Serialize)]
struct Bar<'a> {
    name: &'a str,
    metric: &'a str,
    window: &'a super::checked::Window,
    comparison: Comparison,
    bound: f64,
    unit: Unit,
    miss: Miss,
    cause: &'a Option<String>,
    proof: bool,
    requires: &'a Option<String>,
}

/// The hash of the bars alone, by step where they differ. The same bars give the same hash, whatever their spelling.
fn gates_sha256(steps: &[&[CheckedGate]]) -> String {
    let mut bars: Vec<Vec<Bar<'_>>> = steps.iter().map(|gates| gates.iter().map(bar).collect()).collect();
    bars.dedup();
    sha256(serde_json::to_string(&bars).expect("bars are plain data").as_bytes())
}

fn bar(gate: &CheckedGate) -> Bar<'_> {
    Bar {
        name: &gate.name,
        metric: &gate.metric,
        window: &gate.window,
        comparison: gate.comparison,
        bound: gate.bound,
        unit: gate.unit,
        miss: gate.miss,
        cause: &gate.cause,
        proof: gate.proof,
        requires: &gate.requires,
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
