//! From a path to a checked plan: text → spanned tree → filled tree → [`Plan`] → [`Checked`].

use std::{fmt::Write as _, io, path::Path};

use indexmap::IndexMap;
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
    page::{Page, read_plan},
    quantity::Count,
    repair::repair,
    resolve::resolve,
    sets, template,
    tree::Node,
    validate::validate,
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
    /// How many steps were checked.
    checked: usize,
}

/// One step that was checked.
struct Step {
    tree: Node,
    plan: Plan,
    cell: CellPlan,
}

impl<'a> Reading<'a> {
    fn new(path: &'a str, extended: Extended, host: &HostFacts, mut problems: Vec<Problem>) -> Self {
        let page = Page::new(extended.tree, host, &mut problems);
        let texts_of_the_step = page.texts_of_the_step();
        Self { path, text: extended.text, bases: extended.bases, page, texts_of_the_step, problems, checked: 0 }
    }

    fn finish(mut self) -> Result<Checked, Problems> {
        let steps = self.steps();
        let mut gates: Vec<Vec<CheckedGate>> = Vec::new();
        let mut estimates: Vec<StepEstimate> = Vec::new();
        let mut first: Option<Step> = None;
        for step in &steps {
            if let Some(done) = self.step(*step, first.as_ref()) {
                estimates.push(estimate(&done.plan, &done.cell));
                gates.push(done.cell.gates.clone());
                first.get_or_insert(done);
            }
            self.checked += 1;
            if self.problems.iter().any(|problem| problem.severity == Severity::Error) {
                break;
            }
        }
        if !self.problems.iter().any(|problem| problem.severity == Severity::Error) {
            self.useless_ladder();
        }
        let problems = sorted(self.problems, self.path);
        let Some(first) = first.filter(|_| !problems.has_errors()) else { return Err(problems) };
        let header = header(self.path, self.text, &first.plan, steps, &gates);
        let page = Page { effective: first.tree.to_value(), first: first.tree, ..self.page };
        Ok(Checked { header, bases: self.bases, warnings: problems, estimates, page })
    }

    /// The steps in order, those for small hosts included. What is wrong with them is found when the first step is checked.
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

    /// Fills and checks one step. A place that has a problem already says nothing more.
    fn step(&mut self, step: Option<u64>, first: Option<&Step>) -> Option<Step> {
        let mut filling = Vec::new();
        let tree = match first {
            Some(first) => self.page.refill(&first.tree, &self.texts_of_the_step, step, &mut filling),
            None => self.page.fill(step, None, &mut filling),
        };
        let value = tree.to_value();
        let mut found = Vec::new();
        validate(&tree, &value, &mut found);
        let mut done = None;
        if found.is_empty() {
            match read_plan(value) {
                Ok(plan) => {
                    let cell = Self::meaning(&plan, step, &tree, &mut found);
                    done = Some(Step { tree, plan, cell });
                }
                Err(problems) => found.extend(problems.0),
            }
        } else if let Some(repaired) = repair(&value) {
            let mut beyond = Vec::new();
            Self::meaning(&repaired.plan, step, &tree, &mut beyond);
            found.extend(repaired.sayable(&tree, beyond));
        }
        self.add(self.at_step(step, filling));
        self.add(self.at_step(step, found));
        done
    }

    /// Says which step has a problem that the first one has not.
    fn at_step(&self, step: Option<u64>, mut problems: Vec<Problem>) -> Vec<Problem> {
        if let (Some(name), Some(step), true) = (self.page.step_name(), step, self.checked > 0) {
            for problem in &mut problems {
                problem.title = format!("{} (at {name} = {step})", problem.title);
            }
        }
        problems
    }

    fn meaning(plan: &Plan, step: Option<u64>, tree: &Node, found: &mut Vec<Problem>) -> CellPlan {
        let mut cell = resolve(plan, step, tree, found);
        cell.gates = resolve_gates(plan, &cell, tree, found);
        check(&Scene::new(plan, &cell, &cell.gates, tree), found);
        cell
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

fn header(path: &str, text: String, plan: &Plan, steps: Vec<Option<u64>>, gates: &[Vec<CheckedGate>]) -> Header {
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
fn gates_sha256(steps: &[Vec<CheckedGate>]) -> String {
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
