//! What each kill cost: one row for each load that lived through kills.

use super::{super::number, durable, figure, host, owned, written};
use crate::{
    judge::result::{CellResult, RunResult},
    measure::{kills, measured::in_words},
    plan::gate::Unit,
    record::{
        cell::CellRecord,
        entry::{Custody, Outage},
    },
};

pub(super) fn table(results: &[&RunResult]) -> String {
    let mut rows = Vec::new();
    for result in results {
        for (cell, record) in result.cells.iter().zip(result.record().cells) {
            rows.extend(record.custody.iter().filter_map(|custody| row(result, cell, &record, custody)));
        }
    }
    if rows.is_empty() {
        return "No process was killed under a load in these runs.\n".to_owned();
    }
    let headings = [
        "Code",
        "Killed",
        "Acked",
        "Stored",
        "Missing (acked, not stored)",
        "Kills that may lose one (95%)",
        "Longest outage",
        "Run",
        "Host (nproc, model, RAM)",
        "Durable",
    ];
    written(&owned(&headings), rows)
}

/// The row of a load; none when nothing was killed while it ran.
fn row(result: &RunResult, cell: &CellResult, record: &CellRecord, custody: &Custody) -> Option<Vec<String>> {
    let kills = kills::kills(record, custody);
    if kills.is_empty() {
        return None;
    }
    let of = |metric: &str| figure(cell, &format!("{}.{metric}", custody.window));
    Some(vec![
        code(result),
        killed(&kills),
        of("acked"),
        of("stored"),
        of("missing"),
        bound(&of("missing"), &of("loss_chance_upper"), kills.len()),
        longest(&kills),
        result.run_id.clone(),
        host(result),
        durable(cell),
    ])
}

/// What was run: the commits of the systems, or the plan.
fn code(result: &RunResult) -> String {
    let commits: Vec<String> = result.commits.iter().map(|(name, commit)| format!("{name} {commit:.12}")).collect();
    if commits.is_empty() { result.plan.name.clone() } else { commits.join(", ") }
}

/// `listener × 2, postgres`.
fn killed(kills: &[&Outage]) -> String {
    let mut services: indexmap::IndexMap<&str, usize> = indexmap::IndexMap::new();
    for outage in kills {
        *services.entry(&outage.service).or_default() += 1;
    }
    let times = |(service, times): (&&str, &usize)| {
        if *times == 1 { (*service).to_owned() } else { format!("{service} × {times}") }
    };
    services.iter().map(times).collect::<Vec<_>>().join(", ")
}

/// `≤ 95% (k = 1)`: what no loss in so few kills leaves open. A loss that was seen has no bound.
fn bound(missing: &str, upper: &str, kills: usize) -> String {
    match (missing, upper) {
        (_, number::UNMEASURED) if missing == "0" || missing == number::UNMEASURED => upper.to_owned(),
        (_, number::UNMEASURED) => "lost some".to_owned(),
        (_, upper) => format!("≤ {upper} (k = {kills})"),
    }
}

/// The longest time until a killed process was ready again.
fn longest(kills: &[&Outage]) -> String {
    let seconds = kills.iter().map(|outage| outage.ready_at.map(|ready| ready - outage.down_at));
    let known: Option<Vec<f64>> = seconds.collect();
    known.map_or_else(
        || "not ready in time".to_owned(),
        |known| in_words(known.into_iter().fold(0.0, f64::max), Unit::Seconds),
    )
}
