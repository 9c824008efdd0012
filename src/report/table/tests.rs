//! Each table of a made-up crash run with durability and growth, held against one file that is read in review.

use indexmap::IndexMap;

use super::{super::tests::golden, Kind, table};
use crate::{
    judge::result::RunResult,
    plan::derived::DURABILITY_SETTINGS,
    record::{
        cell::Record,
        entry::{Entry, Sample, Subject},
        fixture,
        fold::fold,
    },
};

/// The made-up run with its kill under the load, 240 bytes a row, and settings that were read at both ends.
fn record() -> Record {
    let mut record = fold(fixture::run()).unwrap();
    for cell in &mut record.cells {
        let subjects = &mut cell.started.subjects;
        subjects.insert(
            "db".into(),
            Subject::Series { names: vec!["bytes_per_row".into()], every_ms: 5000, kind: "sql".into() },
        );
        let growth =
            Subject::Growth { custody: "custody".into(), bytes_per_row: "db.bytes_per_row".into(), total_bytes: None };
        subjects.insert("growth".into(), growth);
        let durability = Subject::Durability { server: "on_server".into(), ingest: "on_ingest".into() };
        subjects.insert("durability".into(), durability);
        let from = cell.started.at;
        for second in [1.0, 6.0, 11.0, 16.0] {
            let mut sample = |watch: &str, values: IndexMap<String, f64>| {
                let sample = Sample { at: from + second, watch: watch.into(), values, gaps: IndexMap::new() };
                cell.push(Entry::Sample(sample)).unwrap();
            };
            sample("db", IndexMap::from([("bytes_per_row".to_owned(), 240.0)]));
            for watch in ["on_server", "on_ingest"] {
                sample(watch, DURABILITY_SETTINGS.into_iter().map(|setting| (setting.to_owned(), 1.0)).collect());
            }
        }
        // The load runs on until after the kill.
        if let Some(last) = cell.slices.last_mut() {
            last.to += 2.0;
        }
    }
    record
}

#[test]
fn every_table_of_the_write_up() {
    let first = RunResult::new(&record());
    let mut other = record();
    other.started.run_id = "20261201T090000Z".into();
    other.started.plan.name = "haxall".into();
    other.started.host.cpus = 12;
    other.cells.pop();
    // One setting was off once, and the rows were never measured.
    for sample in &mut other.cells[0].samples {
        if sample.watch == "on_ingest" {
            sample.values.insert("synchronous_commit".into(), 0.0);
        }
    }
    other.cells[1].samples.retain(|sample| sample.watch != "on_ingest" && sample.watch != "db");
    other.cells[1].custody[0].wrong = Some("refused".into());
    let other = RunResult::new(&other);
    let both = [&first, &other];
    let add = ["target.unexpected_exits".to_owned()];
    let kinds = [Kind::Ladder, Kind::BeforeAfter, Kind::Crash, Kind::Host, Kind::Disk, Kind::Versus];
    let text: String = kinds.map(|kind| format!("## {kind:?}\n\n{}\n", table(kind, &both, &add))).concat();
    for row in text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        assert!(cells.iter().all(|cell| !cell.trim().is_empty() && cell.trim() != "–"), "an empty cell: {row}");
    }
    golden("tables.md", &text);
}

#[test]
fn a_run_without_kills_has_no_crash_table() {
    let mut record = record();
    record.cells.iter_mut().for_each(|cell| cell.outages.clear());
    let text = table(Kind::Crash, &[&RunResult::new(&record)], &[]);
    assert_eq!(text, "No process was killed under a load in these runs.\n");
}
