//! The judgement of the run: the highest step that passed, the lowest that failed, and why the climb ended.

use std::collections::BTreeMap;

use super::{
    cell::judge_cell,
    verdict::{CellVerdict, RunVerdict, Word},
};
use crate::record::{
    cell::{CellRecord, Record},
    entry::{Entry, EventKind},
};

/// The word of a step from those of its runs: one failure fails it, one unclear run leaves it unclear.
#[must_use]
pub fn word_of_step(words: &[Word]) -> Word {
    [Word::Fail, Word::Inconclusive].into_iter().find(|word| words.contains(word)).unwrap_or(if words.is_empty() {
        Word::Inconclusive
    } else {
        Word::Pass
    })
}

/// The highest passing step below the lowest failing one, and that one.
#[must_use]
pub fn bracket(steps: &BTreeMap<u64, Word>) -> (Option<u64>, Option<u64>) {
    let fail = steps.iter().find(|(_, word)| **word == Word::Fail).map(|(step, _)| *step);
    let below = steps.iter().rev().filter(|(step, _)| fail.is_none_or(|fail| **step < fail));
    let pass = below.filter(|(_, word)| **word == Word::Pass).map(|(step, _)| *step).next();
    (pass, fail)
}

/// Judges the run with the verdicts of its cells, in the record's order.
#[must_use]
pub fn judge_run(record: &Record) -> RunVerdict {
    let verdicts: Vec<CellVerdict> = record.cells.iter().map(|cell| judge_cell(&record.started, cell)).collect();
    let cells: Vec<Judged> =
        record.cells.iter().zip(&verdicts).map(|(cell, verdict)| Judged { cell, verdict }).collect();
    let mut by_step: BTreeMap<u64, Vec<Word>> = BTreeMap::new();
    for judged in &cells {
        if let Some(step) = judged.cell.started.step {
            by_step.entry(step).or_default().push(judged.verdict.word);
        }
    }
    let steps = by_step.into_iter().map(|(step, words)| (step, word_of_step(&words))).collect();
    let (highest_pass, lowest_fail) = bracket(&steps);
    let failed = first(&cells, |judged| judged.verdict.word == Word::Fail && judged.cell.started.step == lowest_fail);
    let unclear = first(&cells, |judged| judged.verdict.word == Word::Inconclusive);
    let not_run =
        record.started.plan.steps.iter().filter(|step| !cells.iter().any(|judged| judged.cell.started.step == **step));
    let open = why_open(record, &cells, unclear, not_run.count());
    let word = match (failed, &open) {
        (Some(_), _) => Word::Fail,
        (None, Some(_)) => Word::Inconclusive,
        (None, None) => Word::Pass,
    };
    let stopped_by = match (failed, open) {
        (Some(failed), _) => failed.in_words(),
        (None, Some(open)) => format!("not reached: {open}"),
        (None, None) => format!("not reached: {}", all_passed(&record.started.plan.steps)),
    };
    let bottleneck = failed.or(unclear).and_then(|judged| judged.verdict.bottleneck.clone());
    RunVerdict { word, highest_pass, lowest_fail, stopped_by, bottleneck }
}

/// A cell and its verdict.
#[derive(Clone, Copy)]
struct Judged<'a> {
    cell: &'a CellRecord,
    verdict: &'a CellVerdict,
}

impl Judged<'_> {
    /// `points=50000: lag.p95_s = 7.31 s, must be < 5s (…), and 2 more`.
    fn in_words(&self) -> String {
        let cause = self.verdict.cause.as_deref().unwrap_or("no cause was recorded");
        let more = match self.verdict.decided_by.len() {
            0 | 1 => String::new(),
            gates => format!(", and {} more", gates - 1),
        };
        format!("{}: {cause}{more}", self.cell.started.name)
    }
}

fn first<'a>(cells: &[Judged<'a>], wanted: impl Fn(&Judged) -> bool) -> Option<Judged<'a>> {
    cells.iter().find(|judged| wanted(judged)).copied()
}

/// Why the run leaves the question open although no step failed.
fn why_open(record: &Record, cells: &[Judged], unclear: Option<Judged>, not_run: usize) -> Option<String> {
    if let Some(unclear) = unclear {
        return Some(unclear.in_words());
    }
    let phase_failed = record.around.iter().find_map(|entry| match entry {
        Entry::Event(event) if event.kind == EventKind::PhaseFailed => {
            Some(format!("{}: {}", event.subject, event.detail))
        }
        _ => None,
    });
    if cells.is_empty() {
        return Some(phase_failed.unwrap_or_else(|| "no cell was run".to_owned()));
    }
    if record.interrupted() {
        return Some("interrupted".to_owned());
    }
    (not_run > 0).then(|| format!("{not_run} of {} steps were not run", record.started.plan.steps.len()))
}

fn all_passed(steps: &[Option<u64>]) -> String {
    match steps {
        [_] => "the only step passed".to_owned(),
        steps => format!("all {} steps passed", steps.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::gate::tests::gate, *};
    use crate::{
        measure::sample_cell::{canary, cell, cut_short, finish, open_window, push, run},
        record::entry::{CutShort, Event, RunFinished},
    };

    /// A cell of a step that passes, fails or stays unclear on the gate `lag`.
    fn judged(step: u64, word: Word) -> CellRecord {
        let mut cell = cell();
        (cell.started.step, cell.started.name) = (Some(step), format!("points={step}"));
        cell.started.gates = vec![gate("lag", "lag.p95_s"), gate("lag at most", "lag.max_s")];
        open_window(&mut cell, "soak", true, 10.0, 40.0);
        for number in 1..=30_u32 {
            let lag = match word {
                Word::Pass => 0.5,
                Word::Fail => 7.0,
                Word::Inconclusive => break,
            };
            push(&mut cell, Entry::Canary(canary(u64::from(number), 9.0 + f64::from(number), Some(lag))));
        }
        finish(&mut cell);
        cell
    }

    fn record(cells: Vec<CellRecord>, interrupted: bool) -> Record {
        let finished = Some(RunFinished { at: 99.0, interrupted });
        Record {
            started: run(),
            cells,
            around: Vec::new(),
            targets: Vec::new(),
            neighbours: Vec::new(),
            resumed: Vec::new(),
            finished,
        }
    }

    fn verdict(words: &[(u64, Word)]) -> RunVerdict {
        judge_run(&record(words.iter().map(|(step, word)| judged(*step, *word)).collect(), false))
    }

    #[test]
    fn the_ceiling_is_bracketed_and_the_first_failure_named() {
        let found = verdict(&[(1000, Word::Pass), (5000, Word::Pass), (50_000, Word::Fail)]);
        assert_eq!((found.word, found.highest_pass, found.lowest_fail), (Word::Fail, Some(5000), Some(50_000)));
        let wanted = "points=50000: lag.p95_s = 7 s, must be < 5s (n = 30, soak, ";
        assert!(
            found.stopped_by.starts_with(wanted) && found.stopped_by.ends_with(", and 1 more"),
            "{}",
            found.stopped_by
        );
        assert!(found.bottleneck.is_some());
    }

    #[test]
    fn a_ceiling_that_was_not_reached_says_why() {
        let all = verdict(&[(1000, Word::Pass), (5000, Word::Pass), (50_000, Word::Pass)]);
        assert_eq!((all.word, all.highest_pass, all.lowest_fail), (Word::Pass, Some(50_000), None));
        assert_eq!(all.stopped_by, "not reached: all 3 steps passed");

        let unclear = verdict(&[(1000, Word::Pass), (5000, Word::Inconclusive)]);
        assert_eq!((unclear.word, unclear.highest_pass), (Word::Inconclusive, Some(1000)));
        assert!(
            unclear.stopped_by.starts_with("not reached: points=5000: unmeasured: lag.p95_s"),
            "{}",
            unclear.stopped_by
        );

        let short = verdict(&[(1000, Word::Pass)]);
        assert_eq!(
            (short.word, short.stopped_by.as_str()),
            (Word::Inconclusive, "not reached: 2 of 3 steps were not run")
        );
    }

    #[test]
    fn a_pass_above_the_lowest_failure_is_no_ceiling() {
        let found = verdict(&[(1000, Word::Pass), (5000, Word::Fail), (50_000, Word::Pass)]);
        assert_eq!((found.highest_pass, found.lowest_fail), (Some(1000), Some(5000)));
    }

    #[test]
    fn a_failed_confirmation_makes_the_step_a_failure() {
        let found = verdict(&[(1000, Word::Pass), (5000, Word::Pass), (5000, Word::Fail)]);
        assert_eq!((found.word, found.highest_pass, found.lowest_fail), (Word::Fail, Some(1000), Some(5000)));
    }

    #[test]
    fn an_interrupted_run_is_never_a_pass() {
        let cells = || [1000, 5000, 50_000].map(|step| judged(step, Word::Pass)).to_vec();
        assert_eq!(judge_run(&record(cells(), true)).stopped_by, "not reached: interrupted");
        let killed = Record { finished: None, ..record(cells(), false) };
        assert_eq!(judge_run(&killed).word, Word::Inconclusive);
        let mut cut = cell();
        cut_short(&mut cut, CutShort::Interrupted);
        assert_eq!(judge_run(&record(vec![cut], true)).stopped_by, "not reached: points=1000: interrupted");
    }

    #[test]
    fn a_run_without_cells_says_what_failed_before() {
        let mut empty = record(Vec::new(), false);
        assert_eq!(judge_run(&empty).stopped_by, "not reached: no cell was run");
        let (subject, detail) = ("schema".to_owned(), "refused".to_owned());
        empty.around.push(Entry::Event(Event { at: 1.0, kind: EventKind::PhaseFailed, subject, detail }));
        let found = judge_run(&empty);
        assert_eq!((found.word, found.stopped_by.as_str()), (Word::Inconclusive, "not reached: schema: refused"));
    }
}
