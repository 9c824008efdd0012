//! Runs side by side: the same plan before and after a change, and two systems under the same load.

use super::{
    super::columns::{Columns, first_failure, step},
    super::number,
    durable, figure, host, owned, step_name, written,
};
use crate::{
    judge::result::{CellResult, RunResult},
    measure::measured::{Figure, Measured, in_words},
    plan::gate::Unit,
};

/// One row for each run of each step, the runs of a step under each other.
pub(super) fn before_after(results: &[&RunResult], add: &[String]) -> String {
    let columns = Columns::of(results).with(results, add);
    let names = run_names(results);
    let first = [vec![step_name(results)], owned(&["Run", "Status"])].concat();
    let headings = [first, columns.headings(), owned(&["First failure", "CPUs", "Durable"])].concat();
    let mut rows = Vec::new();
    for name in step_names(results) {
        for (result, run) in results.iter().zip(&names) {
            for cell in result.cells.iter().filter(|cell| step(cell) == name) {
                let first = vec![name.clone(), run.clone(), cell.verdict.word.text().to_owned()];
                let last = vec![first_failure(cell), result.host.cpus.to_string(), durable(cell)];
                rows.push([first, columns.figures(cell), last].concat());
            }
        }
    }
    let legends = results.iter().zip(&names).map(|(result, name)| format!("\n{name}: {}\n", legend(result)));
    written(&headings, rows) + &legends.collect::<String>()
}

/// `before` and `after` for two runs, their identifiers for more.
fn run_names(results: &[&RunResult]) -> Vec<String> {
    match results {
        [_, _] => owned(&["before", "after"]),
        _ => results.iter().map(|result| result.run_id.clone()).collect(),
    }
}

/// What a run was of, and on what.
fn legend(result: &RunResult) -> String {
    let commits = result.commits.iter().map(|(name, commit)| format!(", {name} {commit:.12}"));
    format!(
        "run `{}`, plan {}{}; {}, load {:.2} at start",
        result.run_id,
        result.plan.name,
        commits.collect::<String>(),
        host(result),
        result.host.load1_at_start
    )
}

/// The steps of all results, in the order of the first result that has them.
fn step_names(results: &[&RunResult]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in results.iter().flat_map(|result| result.cells.iter().map(step)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// One row for each step; each figure has a column of each system.
pub(super) fn versus(results: &[&RunResult], add: &[String]) -> String {
    let columns = Columns::of(results).without(&["offered_per_s", "stored_per_s_per_cpu"]).with(results, add);
    let systems = system_names(results);
    let figures = [owned(&["status"]), columns.headings(), owned(&["RAM / disk", "CPUs", "durable"])].concat();
    let of_each =
        |heading: &String| -> Vec<String> { systems.iter().map(|system| format!("{system} {heading}")).collect() };
    let headings = [vec![step_name(results)], figures.iter().flat_map(of_each).collect()].concat();
    let row = |name: &String| {
        let sides: Vec<Vec<String>> = results
            .iter()
            .map(|result| {
                let cell = result.cells.iter().find(|cell| step(cell) == *name);
                cell.map_or_else(|| vec!["not run".to_owned(); figures.len()], |cell| side(result, cell, &columns))
            })
            .collect();
        let by_figure = (0..figures.len()).flat_map(|index| sides.iter().map(move |side| side[index].clone()));
        std::iter::once(name.clone()).chain(by_figure).collect()
    };
    written(&headings, step_names(results).iter().map(row).collect())
}

/// The names of the plans; with the runs behind when two are of one plan.
fn system_names(results: &[&RunResult]) -> Vec<String> {
    let alone = |name: &str| results.iter().filter(|result| result.plan.name == name).count() == 1;
    let name = |result: &&RunResult| {
        let name = &result.plan.name;
        if alone(name) { name.clone() } else { format!("{name} {}", result.run_id) }
    };
    results.iter().map(name).collect()
}

fn side(result: &RunResult, cell: &CellResult, columns: &Columns) -> Vec<String> {
    let disk = figure(cell, "growth.total_bytes").replace(number::UNMEASURED, "unmeasured");
    let last = vec![format!("{} / {disk}", memory(cell)), result.host.cpus.to_string(), durable(cell)];
    [vec![cell.verdict.word.text().to_owned()], columns.figures(cell), last].concat()
}

/// The most memory of all parts together, as far as it was measured: each part's greatest sample, which need not be at the same time.
fn memory(cell: &CellResult) -> String {
    let of_a_part = |name: &str| name.ends_with(".memory_bytes.max") || name.ends_with("_memory_bytes.max");
    let parts: Vec<&Measured> =
        cell.metrics.iter().filter(|(name, _)| of_a_part(name)).map(|(_, measured)| measured).collect();
    let values: Vec<f64> = parts.iter().filter_map(|part| part.figure().map(Figure::value)).collect();
    match values.len() {
        0 => "unmeasured".to_owned(),
        known if known < parts.len() => format!("≥ {}", in_words(values.iter().sum(), Unit::Bytes)),
        _ => format!("≤ {}", in_words(values.iter().sum(), Unit::Bytes)),
    }
}
