//! Names: spelt so that metrics and windows can be written with them, and given once.

use indexmap::IndexMap;

use super::Scene;
use crate::{plan::tree::join, problem::Problem};

/// Subjects that every plan has.
const RESERVED: &[&str] = &["target", "engine", "live_safety", "durability", "growth"];

pub(super) fn check(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    spelling(scene, problems);
    subjects(scene, problems);
    lists(scene, problems);
}

/// A dot divides a metric's name, a slash a window's.
fn spelling(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let plan = scene.plan;
    let tables: [(&str, Vec<&String>); 9] = [
        ("secrets", plan.secrets.keys().collect()),
        ("connections", plan.connections.keys().collect()),
        ("messages", plan.messages.keys().collect()),
        ("loads", plan.loads.keys().collect()),
        ("queries", plan.queries.keys().collect()),
        ("watches", plan.watches.keys().collect()),
        ("probes", plan.probes.keys().collect()),
        ("workflows", plan.workflows.keys().collect()),
        ("vars", plan.vars.keys().collect()),
    ];
    for (table, names) in tables {
        for name in names.into_iter().filter(|name| !is_name(name)) {
            problems.push(bad_name(name).at(scene.key(&join(&format!("/{table}"), name)), RULE));
        }
    }
    for at in scene.phases.iter().filter(|at| !is_name(at.name)) {
        problems.push(bad_name(at.name).at(scene.place(&format!("{}/name", at.pointer)), RULE));
    }
}

const RULE: &str = "a name has letters, digits, `-` and `_`, and begins with a letter or digit";

fn bad_name(name: &str) -> Problem {
    Problem::error(format!("`{name}` cannot be a name"))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "-_".contains(character))
}

/// A metric's subject is one thing.
fn subjects(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let mut taken: IndexMap<&str, &str> = RESERVED.iter().map(|name| (*name, "of every plan")).collect();
    let tables = [
        ("/loads", "a load", scene.plan.loads.keys().map(String::as_str).collect::<Vec<_>>()),
        ("/watches", "a watch", scene.plan.watches.keys().map(String::as_str).collect()),
        ("/probes", "a probe", scene.plan.probes.keys().map(String::as_str).collect()),
    ];
    let named =
        tables.iter().flat_map(|(table, noun, names)| names.iter().map(move |name| (join(table, name), *noun, *name)));
    let phases = scene.phases.iter().map(|at| (format!("{}/name", at.pointer), "a phase", at.name));
    for (pointer, noun, name) in named.chain(phases) {
        let Some(other) = taken.insert(name, noun) else { continue };
        let place = if noun == "a phase" { scene.place(&pointer) } else { scene.key(&pointer) };
        let problem = if other == noun {
            Problem::error(format!("two phases are called `{name}`")).at(place, "a window needs a name of its own")
        } else {
            Problem::error(format!("`{name}` is taken"))
                .at(place, format!("the name is that of {}", other.replace("of every", "a subject of every")))
        };
        problems.push(problem.help("metrics are named by it, so it must be one thing"));
    }
}

/// The lists whose elements are known by name.
fn lists(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let plan = scene.plan;
    let lists: [(&str, Vec<&str>); 2] = [
        ("not_covered", plan.not_covered.iter().map(|item| item.name.as_str()).collect()),
        ("not_proven", plan.not_proven.iter().map(|item| item.name.as_str()).collect()),
    ];
    for (list, names) in lists {
        for (index, name) in names.iter().enumerate().filter(|(index, name)| names[..*index].contains(name)) {
            let place = scene.place(&format!("/{list}/{index}/name"));
            problems.push(Problem::error(format!("two `{list}` are called `{name}`")).at(place, "said before"));
        }
    }
}
