//! The last screen of a run: the table, the answer, the reason, what it does not say, and where to look next.

use super::{
    columns::{Columns, first_failure, step},
    layout::{Screen, labelled, spelt, table},
    number,
};
use crate::{
    judge::{
        result::{CellResult, RunResult},
        verdict::{Bottleneck, Confidence},
    },
    measure::{
        kills,
        measured::{Measured, in_words},
    },
    plan::gate::Unit,
    record::{
        cell::CellRecord,
        entry::{Custody, Resumed},
    },
};

/// The summary of a result that lies at `path`.
#[must_use]
pub fn summary(result: &RunResult, path: &str, screen: Screen) -> String {
    let mut text = format!("{}\n\n", heading(result));
    text.push_str(&steps(result, screen));
    text.push('\n');
    for (label, lines) in answer(result) {
        text.push_str(&labelled(label, &lines, screen));
    }
    text.push_str(&labelled("Result", &[path.to_owned()], screen));
    text.push_str(&labelled("More", &[format!("scaler results show {}", name_for_show(result, path))], screen));
    spelt(text, screen)
}

/// What `results show` finds the result by: the run's identifier in the folder where results usually are, else the path.
fn name_for_show<'a>(result: &'a RunResult, path: &'a str) -> &'a str {
    if path.starts_with("results/") { &result.run_id } else { path }
}

/// The plan, its question, the run and the machine.
pub(super) fn heading(result: &RunResult) -> String {
    let host = &result.host;
    let cpus = if host.cpus == 1 { "CPU" } else { "CPUs" };
    format!(
        "{}: {}\n{}, {}, {} with {} {cpus} ({}), scaler {}",
        result.plan.name,
        result.plan.question,
        result.run_id,
        number::moment(result.started_unix_ms),
        host.name,
        host.cpus,
        host.cpu_model,
        result.scaler_version
    )
}

/// One row for each cell.
fn steps(result: &RunResult, screen: Screen) -> String {
    let columns = Columns::of(&[result]);
    let name = result.plan.step_name.clone().unwrap_or_else(|| "cell".to_owned());
    let headings = [vec![name, "verdict".to_owned()], columns.headings(), vec!["first failure".to_owned()]].concat();
    let row = |cell| [vec![step(cell), word(cell)], columns.figures(cell), vec![first_failure(cell)]].concat();
    let rows: Vec<Vec<String>> = result.cells.iter().map(row).collect();
    table(&headings, &rows, screen)
}

fn word(cell: &crate::judge::result::CellResult) -> String {
    cell.verdict.word.text().to_owned()
}

/// The answer and what belongs to it, label by label.
pub(super) fn answer(result: &RunResult) -> Vec<(&'static str, Vec<String>)> {
    let verdict = &result.verdict;
    let interrupted = if result.interrupted { ", interrupted" } else { "" };
    let named = |step: Option<u64>| step.map(|step| at_step(result, step)).into_iter().collect::<Vec<_>>();
    let highest = if result.plan.step_name.is_some() && verdict.highest_pass.is_none() {
        vec!["none".to_owned()]
    } else {
        named(verdict.highest_pass)
    };
    let cell_caveats = result
        .cells
        .iter()
        .flat_map(|cell| cell.verdict.caveats.iter().map(|caveat| format!("- {}: {caveat}", cell.name)));
    let run_caveats = result.caveats.iter().map(|caveat| format!("- {caveat}"));
    let listed = |list: &indexmap::IndexMap<String, String>| {
        list.iter().map(|(name, text)| format!("- {name}: {text}")).collect::<Vec<_>>()
    };
    vec![
        ("Verdict", vec![format!("{}{interrupted}", verdict.word.text())]),
        ("Highest pass", highest),
        ("Lowest fail", named(verdict.lowest_fail)),
        ("Stopped by", vec![verdict.stopped_by.clone()]),
        ("Bottleneck", verdict.bottleneck.iter().map(bottleneck).collect()),
        (
            "Kills",
            result.cells.iter().zip(result.record().cells).flat_map(|(cell, record)| kills_of(cell, &record)).collect(),
        ),
        ("Resumed", result.resumed.iter().map(|resumed| went_on(result, resumed)).collect()),
        ("Caveats", run_caveats.chain(cell_caveats).collect()),
        ("Not proven", listed(&result.plan.not_proven)),
        ("Not covered", listed(&result.plan.not_covered)),
    ]
}

/// What the kills of a cell cost, load by load: what was lost, or how rare a loss may still be when nothing was.
fn kills_of(cell: &CellResult, record: &CellRecord) -> Vec<String> {
    let line = |custody: &Custody| {
        let kills = kills::kills(record, custody).len() as u64;
        let missing = number::cell(cell.metrics.get(&format!("{}.missing", custody.window)));
        let bounded = cell.metrics.get(&format!("{}.loss_chance_upper", custody.window));
        let bound = bounded.and_then(Measured::figure).and_then(|figure| figure.note.clone());
        (kills > 0).then(|| {
            let noun = if kills == 1 { "kill" } else { "kills" };
            let lost = || match missing.as_str() {
                number::UNMEASURED => format!("in {kills} {noun}: what was lost is unmeasured"),
                missing => format!("{missing} lost in {kills} {noun} of {} acknowledged readings", custody.acked),
            };
            format!("- {}: {}", custody.window, bound.unwrap_or_else(lost))
        })
    };
    record.custody.iter().filter_map(line).collect()
}

/// Where a run went on after an interruption.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run in milliseconds")]
fn went_on(result: &RunResult, resumed: &Resumed) -> String {
    let moment = |at: f64| number::moment(result.started_unix_ms + (at * 1e3) as u64);
    let Resumed { run_id, cells, stopped_at, at } = resumed;
    format!("{}, behind {cells} cells of run {run_id}, which was stopped {}", moment(*at), moment(*stopped_at))
}

/// `5000 points`.
#[expect(clippy::cast_precision_loss, reason = "steps stay below 2^53")]
fn at_step(result: &RunResult, step: u64) -> String {
    let name = result.plan.step_name.as_deref().unwrap_or_default();
    format!("{} {name}", in_words(step as f64, Unit::Count)).trim_end().to_owned()
}

/// The part at its limit, the evidence, and how sure that is.
pub(super) fn bottleneck(bottleneck: &Bottleneck) -> String {
    let Bottleneck { part, evidence, confidence } = bottleneck;
    match (part, confidence) {
        (None, _) => format!("none found: {evidence}"),
        (Some(part), Confidence::High) => format!("{part}: {evidence}"),
        (Some(part), sure) => format!("{part}, with {} confidence: {evidence}", sure.text()),
    }
}
