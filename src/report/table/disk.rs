//! Growth on disk: one row for each cell of each result.

use super::{super::columns::step, durable, figure, owned, step_name, written};
use crate::judge::result::RunResult;

pub(super) fn table(results: &[&RunResult]) -> String {
    let metrics = [
        ("Bytes/row", "growth.bytes_per_row"),
        ("Rows/day at this rate", "growth.rows_per_day"),
        ("Bytes/day at this rate", "growth.bytes_per_day"),
        ("Bytes/day at 1M points", "growth.bytes_per_day_at_1m_points"),
        ("Store", "growth.total_bytes"),
    ];
    let headings = metrics.map(|(heading, _)| heading);
    let first = [vec![step_name(results)], owned(&["Status"])].concat();
    let headings = [first, owned(&headings), owned(&["Run", "CPUs", "CPU model", "Durable"])].concat();
    let mut rows = Vec::new();
    for result in results {
        for cell in &result.cells {
            let figures = metrics.map(|(_, metric)| figure(cell, metric)).to_vec();
            let last =
                vec![result.run_id.clone(), result.host.cpus.to_string(), result.host.cpu_model.clone(), durable(cell)];
            rows.push([vec![step(cell), cell.verdict.word.text().to_owned()], figures, last].concat());
        }
    }
    written(&headings, rows)
}
