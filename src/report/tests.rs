//! The reports of a made-up run, held against files that are read in review. `SCALER_UPDATE=1` writes them anew.

use std::{fs, path::Path};

use super::{
    layout::Screen,
    list::{Listed, State, list},
    progress::{Progress, closest, dated, dated_entry, lines},
    rejudged::rejudged,
    show::show,
    summary::summary,
    table::{Kind, table},
};
use crate::{
    judge::{rejudge::rejudge, result::RunResult, verdict::Standing},
    plan::gate::Miss,
    record::{
        cell::Record,
        entry::{CellFinished, Custody, CutShort, Entry, Reading},
        fixture,
        fold::{Fold, fold},
    },
};

const WIDE: Screen = Screen { utf8: true, width: Some(120) };

pub(super) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("SCALER_UPDATE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} differs; if it should, run the tests once with SCALER_UPDATE=1. Now:\n{text}");
}

fn record() -> Record {
    fold(fixture::run()).unwrap()
}

#[test]
fn the_summary() {
    let result = RunResult::new(&record());
    golden("summary.txt", &summary(&result, "results/20261130T180000Z-quickstart.json", WIDE));
    let plain = summary(&result, "results/a.json", Screen { utf8: false, width: None });
    assert!(plain.is_ascii(), "{plain}");
}

#[test]
fn a_result_in_detail() {
    let mut record = record();
    record.cells.drain(..2);
    let cell = &mut record.cells[0];
    let reading = |value| Reading { second: 1_796_061_605, topic: "fbf/scale/s0/e0/flow".into(), value };
    cell.custody = vec![Custody {
        missing: 2,
        changed: 1,
        missing_named: vec![reading(12_800), reading(1024)],
        changed_named: vec![(reading(2048), "2.5".into())],
        ..cell.custody[0].clone()
    }];
    cell.finished = Some(CellFinished { at: 98.0, cell: 2, cut_short: Some(CutShort::LiveSafety("disk low".into())) });
    cell.push(fixture::event(70.0, "queue is 90% full")).unwrap();
    golden("show.txt", &show(&RunResult::new(&record), false, WIDE));
    let figures = show(&RunResult::new(&record), true, WIDE);
    assert!(figures.contains("readings.acked_per_s"), "{figures}");
}

#[test]
fn results_side_by_side() {
    let first = RunResult::new(&record());
    let mut second = first.clone();
    assert!(!table(Kind::Ladder, &[&first, &second], &[]).contains("Not comparable"));
    second.run_id = "20261201T090000Z".into();
    second.host.cpus = 12;
    second.host.cpu_model = "Other | CPU".into();
    second.plan.gates_sha256 = "ef".repeat(32);
    golden("table.md", &table(Kind::Ladder, &[&first, &second], &[]));
}

#[test]
fn the_runs_of_a_folder() {
    let verdict = RunResult::new(&record()).verdict;
    let run = |name: &str, state| Listed { name: name.into(), state };
    let runs = [
        run("20261130T180000Z-quickstart", State::Ended { verdict, interrupted: false }),
        run("20261130T190000Z-crash", State::Killed),
        run("20261130T200000Z-crash", State::Unreadable("it is no result: EOF at line 1".into())),
        run("20261130T210000Z-crash", State::Running),
    ];
    golden("list.txt", &list(&runs, "results", WIDE));
    assert_eq!(list(&[], "results", WIDE), "No runs in results yet; `scaler plan run PLAN` makes one.\n");
}

#[test]
fn other_bars() {
    let record = record();
    let same = rejudge(&record, |_| fixture::gates());
    assert!(same.moved.is_empty());
    assert_eq!(same.before, same.after);
    let looser = rejudge(&record, |_| {
        let mut gates = fixture::gates();
        gates.retain(|gate| gate.name != "lag.lost");
        for gate in &mut gates {
            match gate.name.as_str() {
                "lag.max_s" => (gate.bound, gate.bound_text) = (60.0, "60s".into()),
                "list-points" => gate.miss = Miss::Caveat,
                _ => {}
            }
        }
        gates
    });
    golden("rejudged.txt", &rejudged(&looser, WIDE));
}

/// In the soak of the step that is too much, a bar that the figures so far do not reach is no broken one; after the soak it is.
#[test]
fn a_gate_is_broken_when_its_phase_is_over_and_not_before() {
    let run = fixture::run();
    let last_cell = run.iter().rposition(|entry| matches!(entry, Entry::CellStarted(_))).unwrap();
    let mut fold = Fold::default();
    let (mut beyond_the_bar_in_the_soak, mut broken_after) = (0, 0);
    for (index, entry) in run.iter().enumerate() {
        fold.push(entry.clone()).unwrap();
        let Some(cell) = fold.cell().filter(|_| index >= last_cell) else { continue };
        let gates = crate::judge::judge_cell(&fold.record().unwrap().started, cell).gates;
        let lag = gates.iter().find(|gate| gate.name == "lag.max_s").unwrap();
        if lag.standing != Standing::Broken {
            continue;
        }
        let closest = closest(cell, &gates).unwrap();
        if cell.open_window().is_some_and(|window| window.measured) {
            assert_eq!(closest.word, "closest", "{}", closest.gate.name);
            beyond_the_bar_in_the_soak += 1;
        } else {
            assert_eq!(closest.word, "broken", "{}", closest.gate.name);
            broken_after += 1;
        }
    }
    assert!(beyond_the_bar_in_the_soak > 0 && broken_after > 0, "{beyond_the_bar_in_the_soak} {broken_after}");
}

#[test]
fn a_running_experiment() {
    let run = fixture::run();
    let mut fold = Fold::default();
    // Half a second into the sixth second of the last soak.
    let soak = run.iter().rposition(|entry| matches!(entry, Entry::CellStarted(_))).unwrap();
    let seen = &run[..soak + 2 + 4 * 5];
    for entry in seen {
        fold.push(entry.clone()).unwrap();
    }
    let (record, cell) = (fold.record().unwrap(), fold.cell().unwrap());
    let gates = crate::judge::judge_cell(&record.started, cell).gates;
    let progress =
        Progress { step: (3, 3), remaining_s: Some(14.5), closest: closest(cell, &gates), ..Progress::of(cell, 72.5) };
    let mut text = lines(&progress).join("\n") + "\n\n" + &dated(1_796_061_672_500, &progress) + "\n";
    for entry in run.iter().filter_map(|entry| dated_entry(1_796_061_600_000, entry)).take(4) {
        text += &(entry + "\n");
    }
    golden("progress.txt", &text);
    assert_eq!(lines(&Progress::default()), ["0/0  · between phases 0s"]);
}
