//! One result in detail: every gate with all that it was decided on, everything that was not measured with its reason, and the
//! evidence.

use super::{
    evidence,
    layout::{Screen, labelled, spelt, table},
    number, summary, surroundings,
};
use crate::{
    judge::{
        result::{CellResult, RunResult},
        verdict::{GateOutcome, Standing},
    },
    measure::{
        kills::NO_KILL,
        measured::{Measured, in_words},
        series::NO_COUNTER,
    },
    plan::gate::Miss,
};

/// The whole result; `figures` adds every metric that was measured.
#[must_use]
pub fn show(result: &RunResult, figures: bool, screen: Screen) -> String {
    let mut text = format!("{}\n\n", summary::heading(result));
    for (label, lines) in summary::answer(result) {
        text.push_str(&labelled(label, &lines, screen));
    }
    text.push_str(&labelled("Command", &[result.command.join(" ")], screen));
    let bars = format!("plan {}, gates {}", result.plan.sha256, result.plan.gates_sha256);
    text.push_str(&labelled("SHA-256", &[bars], screen));
    let commits: Vec<String> = result.commits.iter().map(|(name, commit)| format!("{name} {commit}")).collect();
    text.push_str(&labelled("Commits", &commits, screen));
    text.push_str(&labelled("Host", &[host(result)], screen));
    for (label, lines) in surroundings::of(result) {
        text.push_str(&labelled(label, &lines, screen));
    }
    for cell in &result.cells {
        text.push('\n');
        text.push_str(&show_cell(result, cell, figures, screen));
    }
    text.push_str(&evidence::around(&result.around, screen));
    spelt(text, screen)
}

fn host(result: &RunResult) -> String {
    let host = &result.host;
    format!(
        "scaler may use CPUs {}; {} of memory; {} of disk free; load {:.2} at the start; kernel {}",
        host.affinity,
        bytes(host.memory_bytes),
        bytes(host.disk_free_bytes),
        host.load1_at_start,
        host.kernel
    )
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn bytes(bytes: u64) -> String {
    in_words(bytes as f64, crate::plan::gate::Unit::Bytes)
}

fn show_cell(result: &RunResult, cell: &CellResult, figures: bool, screen: Screen) -> String {
    let repeat = if cell.repeat > 1 { format!(" (run {} of it)", cell.repeat) } else { String::new() };
    let cause = cell.verdict.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
    let mut text = format!("{}{repeat}: {}{cause}\n", cell.name, cell.verdict.word.text());
    text += &("\n".to_owned() + &gates(cell, screen) + "\n");
    text.push_str(&labelled("Unmeasured", &unmeasured(cell), screen));
    text.push_str(&evidence::of(cell, screen));
    if figures {
        text += &("\n".to_owned() + &all_figures(result, cell, screen));
    }
    text
}

/// What has no value, and why. Gauges have no `delta` and no rate: that is said once for all that no gate asks for.
fn unmeasured(cell: &CellResult) -> Vec<String> {
    let reasons = cell.metrics.iter().filter_map(|(name, measured)| match measured {
        Measured::Unmeasured { why } => Some((name, why)),
        Measured::Value(_) => None,
    });
    let asked_for = |name: &String| cell.gates.iter().any(|gate| gate.metric == *name);
    let reasons = reasons.filter(|(name, why)| *why != NO_KILL || asked_for(name));
    let (gauges, told): (Vec<_>, Vec<_>) =
        reasons.partition(|(name, why)| why.ends_with(NO_COUNTER) && !asked_for(name));
    let mut lines: Vec<String> = told.iter().map(|(name, why)| format!("- {name}: {why}")).collect();
    if !gauges.is_empty() {
        lines.push(format!("- {} deltas and rates of series that are no counters", gauges.len()));
    }
    lines
}

fn gates(cell: &CellResult, screen: Screen) -> String {
    let headings = ["gate", "ended", "value", "bar", "margin", "n", "window", "a miss means", "remarks"];
    let rows: Vec<Vec<String>> = cell.gates.iter().map(gate).collect();
    table(&headings.map(str::to_owned), &rows, screen)
}

fn gate(gate: &GateOutcome) -> Vec<String> {
    // Adding zero turns a margin of minus nothing into nothing.
    let words = |value: Option<f64>| {
        value.map_or_else(|| number::UNMEASURED.to_owned(), |value| in_words(value + 0.0, gate.unit))
    };
    let name = if gate.name == gate.metric { gate.name.clone() } else { format!("{}\n{}", gate.name, gate.metric) };
    let remarks = [&gate.why, &gate.demoted, &gate.because].into_iter().flatten().cloned().collect::<Vec<_>>();
    vec![
        name,
        ended(gate.standing).to_owned(),
        words(gate.value),
        format!("{} {}", gate.comparison.sign(), gate.bound_text),
        words(gate.margin),
        gate.n.map_or_else(|| number::UNMEASURED.to_owned(), |n| n.to_string()),
        gate.window.clone(),
        miss(gate),
        remarks.join("; "),
    ]
}

fn ended(standing: Standing) -> &'static str {
    match standing {
        Standing::Held => "held",
        Standing::Broken => "broken",
        Standing::Unmeasured => "unmeasured",
    }
}

fn miss(gate: &GateOutcome) -> String {
    match (gate.miss, &gate.cause) {
        (Miss::Fail, _) if gate.proof => "fail, proven".to_owned(),
        (Miss::Fail, _) => "fail".to_owned(),
        (Miss::Inconclusive, Some(cause)) => format!("inconclusive: {cause}"),
        (Miss::Inconclusive, None) => "inconclusive".to_owned(),
        (Miss::Caveat, _) => "caveat".to_owned(),
    }
}

/// Every figure, with the name under which the plan's readers know it.
fn all_figures(result: &RunResult, cell: &CellResult, screen: Screen) -> String {
    let headings = ["metric", "value", "95% interval", "n", "window", "remarks"];
    let rows: Vec<Vec<String>> = cell
        .metrics
        .iter()
        .filter_map(|(name, measured)| {
            let figure = measured.figure()?;
            let interval = match (figure.low, figure.high) {
                (Some(low), Some(high)) => {
                    format!("{} to {}", in_words(low, figure.unit), in_words(high, figure.unit))
                }
                _ => String::new(),
            };
            let note = figure.note.clone().unwrap_or_default();
            let known = result.plan.known_as.get(name);
            Some(vec![
                known.map_or_else(|| name.clone(), |known| format!("{name}\n{known}")),
                number::figure(figure),
                interval,
                figure.n.to_string(),
                figure.window.clone(),
                note,
            ])
        })
        .collect();
    table(&headings.map(str::to_owned), &rows, screen)
}
