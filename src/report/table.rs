//! Several results as rows of Markdown. Machines and bars stand in the row: unlike runs are never compared silently.

use indexmap::IndexMap;

use super::{
    columns::{Columns, first_failure, step},
    layout::markdown,
};
use crate::judge::result::RunResult;

/// One row for each cell of each result, and a warning for whatever makes them incomparable.
#[must_use]
pub fn table(results: &[&RunResult]) -> String {
    let columns = Columns::of(results);
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let headings = [
        owned(&["run", "plan", "step", "verdict"]),
        columns.headings(),
        owned(&["first failure", "CPUs", "CPU model", "bars"]),
    ]
    .concat();
    let mut rows = Vec::new();
    for result in results {
        for cell in &result.cells {
            rows.push(
                [
                    vec![
                        result.run_id.clone(),
                        result.plan.name.clone(),
                        step(cell),
                        cell.verdict.word.text().to_owned(),
                    ],
                    columns.figures(cell),
                    vec![
                        first_failure(cell),
                        result.host.cpus.to_string(),
                        result.host.cpu_model.clone(),
                        short(&result.plan.gates_sha256),
                    ],
                ]
                .concat(),
            );
        }
    }
    let warnings = warnings(results).into_iter().map(|warning| format!("\n**Not comparable:** {warning}\n"));
    markdown(&headings, &rows) + &warnings.collect::<String>()
}

/// Enough of a hash to tell it from others by eye.
pub(super) fn short(sha256: &str) -> String {
    sha256.chars().take(8).collect()
}

/// Something that a result says of itself.
type Fact = fn(&RunResult) -> String;

/// What differs between results that a reader would take for alike, each fact with the runs that it is of.
fn warnings(results: &[&RunResult]) -> Vec<String> {
    let facts: [(&str, Fact); 4] = [
        ("the machines", |result| format!("{} × {}", result.host.cpus, result.host.cpu_model)),
        ("the CPUs that scaler could use", |result| result.host.affinity.clone()),
        ("the bars", |result| short(&result.plan.gates_sha256)),
        ("the variables", variables),
    ];
    facts.into_iter().filter_map(|(what, fact)| difference(what, fact, results)).collect()
}

fn difference(what: &str, fact: Fact, results: &[&RunResult]) -> Option<String> {
    let mut runs = IndexMap::<String, Vec<&str>>::new();
    for result in results {
        runs.entry(fact(result)).or_default().push(&result.run_id);
    }
    let sides: Vec<String> = runs.iter().map(|(fact, runs)| format!("{fact} ({})", runs.join(", "))).collect();
    (sides.len() > 1).then(|| format!("{what} differ: {}", sides.join("; ")))
}

fn variables(result: &RunResult) -> String {
    let pairs: Vec<String> = result.plan.vars.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if pairs.is_empty() { "none".to_owned() } else { pairs.join(", ") }
}
