//! The ladder: one row for each cell of each result.

use super::{
    super::{
        columns::{Columns, first_failure, step},
        summary,
    },
    durable, host as host_words, owned, short, step_name, written,
};
use crate::{
    judge::result::{CellResult, RunResult},
    measure::measured::in_words,
    plan::gate::Unit,
};

/// Steps first, machine and run behind.
pub(super) fn ladder(results: &[&RunResult], add: &[String]) -> String {
    let columns = Columns::of(results).with(results, add);
    let first = vec![step_name(results), "Status".to_owned()];
    let last = owned(&["First failure", "Run", "Plan", "CPUs", "CPU model", "Durable", "Bars"]);
    let headings = [first, columns.headings(), last].concat();
    let row = |result: &RunResult, cell: &CellResult| {
        let last = vec![
            first_failure(cell),
            result.run_id.clone(),
            result.plan.name.clone(),
            result.host.cpus.to_string(),
            result.host.cpu_model.clone(),
            durable(cell),
            short(&result.plan.gates_sha256),
        ];
        [vec![step(cell), cell.verdict.word.text().to_owned()], columns.figures(cell), last].concat()
    };
    written(&headings, rows(results, row))
}

/// Run, machine and durability first; under it each run's answer and what stopped each step.
pub(super) fn host(results: &[&RunResult], add: &[String]) -> String {
    let columns = Columns::of(results).with(results, add);
    let first = owned(&["Run", "Host (nproc, model, RAM)", "Durable"]);
    let first = [first, vec![step_name(results), "Status".to_owned()]].concat();
    let headings = [first, columns.headings(), owned(&["First failure"])].concat();
    let row = |result: &RunResult, cell: &CellResult| {
        let first = vec![
            result.run_id.clone(),
            host_words(result),
            durable(cell),
            step(cell),
            cell.verdict.word.text().to_owned(),
        ];
        [first, columns.figures(cell), vec![first_failure(cell)]].concat()
    };
    let answers = results.iter().map(|result| answer(result));
    written(&headings, rows(results, row)) + &answers.collect::<String>()
}

fn rows(results: &[&RunResult], row: impl Fn(&RunResult, &CellResult) -> Vec<String>) -> Vec<Vec<String>> {
    let row = &row;
    results.iter().flat_map(|result| result.cells.iter().map(move |cell| row(result, cell))).collect()
}

/// The highest step that passed, and the bottleneck of each step that did not.
#[expect(clippy::cast_precision_loss, reason = "steps stay below 2^53")]
fn answer(result: &RunResult) -> String {
    let name = result.plan.step_name.as_deref().unwrap_or_default();
    let highest = result.verdict.highest_pass;
    let highest = highest.map_or_else(|| "none".to_owned(), |step| in_words(step as f64, Unit::Count));
    let stopped = result.cells.iter().filter_map(|cell| {
        let bottleneck = cell.verdict.bottleneck.as_ref()?;
        Some(format!("{} {name}: {}", step(cell), summary::bottleneck(bottleneck)))
    });
    let stopped: Vec<String> = stopped.collect();
    let stopped = if stopped.is_empty() { "none, every step passed".to_owned() } else { stopped.join("; ") };
    format!(
        "\n**Max sustained {name}:** {highest} ({}) · **First bottleneck at each step:** {stopped}\n",
        result.run_id
    )
}
