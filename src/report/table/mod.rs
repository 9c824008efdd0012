//! Several results as rows of Markdown, in the forms in which the experiments are written up. Machine, durability and bars stand in the
//! row: unlike runs are never compared silently, and what was not measured is never an empty cell.

mod crash;
mod disk;
mod sides;
mod steps;
#[cfg(test)]
mod tests;

use indexmap::IndexMap;

use super::{
    layout::markdown,
    number::{self, UNMEASURED},
};
use crate::{
    judge::result::{CellResult, RunResult},
    measure::measured::{Measured, in_words},
    plan::gate::Unit,
};

/// Which table is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// One row for each step: offered, stored, lag, reads, and what stopped it.
    #[default]
    Ladder,
    /// The steps of two or more runs side by side, such as before and after a change.
    BeforeAfter,
    /// What each kill cost: acknowledged, stored, missing, and how rare a loss may still be.
    Crash,
    /// The steps with run, host and durability first, and the highest step that passed.
    Host,
    /// Bytes of a row, rows and bytes of a day at the measured rate, and at a million points.
    Disk,
    /// Two systems against each other: one row for each step, a column of each for each figure.
    Versus,
}

/// The table of some results, with a column for each of the metrics `add`, and a warning for whatever makes the results incomparable.
#[must_use]
pub fn table(kind: Kind, results: &[&RunResult], add: &[String]) -> String {
    let text = match kind {
        Kind::Ladder => steps::ladder(results, add),
        Kind::BeforeAfter => sides::before_after(results, add),
        Kind::Crash => crash::table(results),
        Kind::Host => steps::host(results, add),
        Kind::Disk => disk::table(results),
        Kind::Versus => sides::versus(results, add),
    };
    let warnings = warnings(results).into_iter().map(|warning| format!("\n**Not comparable:** {warning}\n"));
    text + &warnings.collect::<String>()
}

/// Rows in which nothing is left empty: what was not measured says so.
fn written(headings: &[String], rows: Vec<Vec<String>>) -> String {
    let told = |text: String| match text.as_str() {
        UNMEASURED => "unmeasured".to_owned(),
        "" => "-".to_owned(),
        _ => text,
    };
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.into_iter().map(told).collect()).collect();
    markdown(headings, &rows)
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The name of the steps as a heading: `Points`.
fn step_name(results: &[&RunResult]) -> String {
    let name = results.iter().find_map(|result| result.plan.step_name.as_deref()).unwrap_or("cell");
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Whether what was stored is durable from end to end.
fn durable(cell: &CellResult) -> String {
    match cell.metrics.get("durability.comparable").and_then(Measured::figure) {
        None => UNMEASURED.to_owned(),
        Some(figure) if figure.value() > 0.0 => "yes".to_owned(),
        Some(figure) => format!("no: {}", figure.note.as_deref().unwrap_or("a setting is off")),
    }
}

/// The figure of a metric that a cell may not have.
fn figure(cell: &CellResult, metric: &str) -> String {
    number::cell(cell.metrics.get(metric))
}

/// `12 × Example CPU 3000, 64 GB`.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn host(result: &RunResult) -> String {
    let host = &result.host;
    format!("{} × {}, {}", host.cpus, host.cpu_model, in_words(host.memory_bytes as f64, Unit::Bytes))
}

/// Enough of a hash to tell it from others by eye.
fn short(sha256: &str) -> String {
    sha256.chars().take(8).collect()
}

/// Something that a result says of itself.
type Fact = fn(&RunResult) -> String;

/// What differs between results that a reader would take for alike, each fact with the runs that it is of.
fn warnings(results: &[&RunResult]) -> Vec<String> {
    let facts: [(&str, Fact); 5] = [
        ("the machines", |result| format!("{} × {}", result.host.cpus, result.host.cpu_model)),
        ("the CPUs that scaler could use", |result| result.host.affinity.clone()),
        ("the durability settings", durability),
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

/// Durable in every cell, or in which way not.
fn durability(result: &RunResult) -> String {
    let mut said: Vec<String> = result.cells.iter().map(durable).collect();
    said.dedup();
    said.join(", ").replace(UNMEASURED, "unmeasured")
}

fn variables(result: &RunResult) -> String {
    let pairs: Vec<String> = result.plan.vars.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if pairs.is_empty() { "none".to_owned() } else { pairs.join(", ") }
}
