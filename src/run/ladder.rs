//! Which cell comes next. Pure: from the plan and the words of the cells that were run.
//!
//! The climb goes through the plan's steps until one does not pass. With `refine`, a bisection between the highest pass and the
//! lowest failure follows until the gap is small, then the highest pass is run again to confirm it; a confirmation
//! that fails makes that step a failure, and the search goes on below it.

use std::collections::BTreeMap;

use crate::{
    judge::{
        ladder::{bracket, word_of_step},
        verdict::Word,
    },
    plan::{checked::Header, ladder::Refine},
};

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Run a cell.
    Cell {
        /// The step; none without a ladder.
        step: Option<u64>,
        /// 1 for the first run of this step, 2 for the second, ….
        repeat: u32,
        /// Why it is run.
        why: Why,
    },
    /// Run no more cells.
    Stop {
        /// Why not, in words without a full stop.
        reason: String,
    },
}

/// Why a cell is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is the first one.
    First,
    /// The steps so far allow the next one.
    Climb,
    /// To narrow the gap between the highest pass and the lowest failure.
    Refine,
    /// To confirm the highest pass.
    Confirm,
}

/// The next cell after those that were run: step, repeat and word of each, in their order.
#[must_use]
pub fn next(header: &Header, done: &[(Option<u64>, u32, Word)]) -> Next {
    let continues = header.ladder.as_ref().is_some_and(|ladder| ladder.continue_on_fail);
    let planned = header.steps.iter().find(|step| !done.iter().any(|(run, _, _)| run == *step));
    let stumbled = done.iter().find(|(_, _, word)| *word != Word::Pass);
    if let Some(step) = planned
        && (stumbled.is_none() || continues)
    {
        let why = if done.is_empty() { Why::First } else { Why::Climb };
        return Next::Cell { step: *step, repeat: 1, why };
    }
    let refine = header.ladder.as_ref().and_then(|ladder| ladder.refine.as_ref());
    let unclear = done.iter().find(|(_, _, word)| *word == Word::Inconclusive);
    match (refine, unclear) {
        (_, Some((step, _, _))) if !continues => stop(format!("{} is inconclusive", named(header, *step))),
        (Some(refine), _) => search(header, refine, done),
        (None, _) => match (stumbled, planned) {
            (Some((step, _, _)), Some(_)) => stop(format!("{} did not pass", named(header, *step))),
            _ => stop("all steps were run"),
        },
    }
}

/// The search between the highest pass and the lowest failure.
fn search(header: &Header, refine: &Refine, done: &[(Option<u64>, u32, Word)]) -> Next {
    let mut runs: BTreeMap<u64, Vec<Word>> = BTreeMap::new();
    for (step, _, word) in done {
        if let Some(step) = step {
            runs.entry(*step).or_default().push(*word);
        }
    }
    let words = runs.iter().map(|(step, words)| (*step, word_of_step(words))).collect();
    let (pass, fail) = match bracket(&words) {
        (_, None) => return stop("no step failed, so that there is no ceiling to search for"),
        (None, Some(fail)) => return stop(format!("no step below {fail} passed")),
        (Some(pass), Some(fail)) => (pass, fail),
    };
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let is_narrow = fail - pass <= 1 || share(fail - pass, pass) <= refine.until.0;
    let confirmations = count(runs[&pass].len()) - 1;
    if is_narrow && confirmations >= refine.confirm {
        let times = if confirmations == 1 { "once".to_owned() } else { format!("{confirmations} times") };
        return stop(format!("the ceiling lies between {pass}, which was confirmed {times}, and {fail}"));
    }
    let added = done.iter().filter(|(step, repeat, _)| *repeat > 1 || !header.steps.contains(step)).count();
    if count(added) >= refine.most {
        return stop(format!(
            "the search has run its {} cells; the ceiling lies between {pass} and {fail}",
            refine.most
        ));
    }
    if is_narrow {
        return Next::Cell { step: Some(pass), repeat: confirmations + 2, why: Why::Confirm };
    }
    let middle = pass + (fail - pass) / 2;
    if runs.contains_key(&middle) {
        return stop(format!("{middle} is inconclusive, so that the search between {pass} and {fail} cannot go on"));
    }
    Next::Cell { step: Some(middle), repeat: 1, why: Why::Refine }
}

#[expect(clippy::cast_precision_loss, reason = "steps stay below 2^53")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn stop(reason: impl Into<String>) -> Next {
    Next::Stop { reason: reason.into() }
}

/// A step in words: `points=5000`.
fn named(header: &Header, step: Option<u64>) -> String {
    match (&header.ladder, step) {
        (Some(ladder), Some(step)) => format!("{}={step}", ladder.variable),
        _ => "the cell".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::{
        ladder::Ladder,
        quantity::{Count, Share},
    };

    fn header(steps: &[u64], continue_on_fail: bool, refine: impl Into<Option<Refine>>) -> Header {
        let ladder = Ladder {
            variable: "points".into(),
            steps: steps.iter().copied().map(Count).collect(),
            small_host: None,
            continue_on_fail,
            refine: refine.into(),
        };
        Header {
            name: "test".into(),
            question: "?".into(),
            text: String::new(),
            sha256: String::new(),
            gates_sha256: String::new(),
            vars: IndexMap::new(),
            secrets: IndexMap::new(),
            secrets_file: String::new(),
            commits: IndexMap::new(),
            ladder: (!steps.is_empty()).then_some(ladder),
            steps: if steps.is_empty() { vec![None] } else { steps.iter().copied().map(Some).collect() },
            not_covered: Vec::new(),
            not_proven: Vec::new(),
            known_as: IndexMap::new(),
        }
    }

    fn refine(until: f64, confirm: u32, most: u32) -> Refine {
        Refine { until: Share(until), confirm, most }
    }

    /// Runs the whole ladder; `word` tells what the n-th run of a step gives.
    fn climb(header: &Header, mut word: impl FnMut(u64, u32) -> Word) -> (Vec<(u64, u32, Why)>, String) {
        let (mut done, mut cells) = (Vec::new(), Vec::new());
        loop {
            match next(header, &done) {
                Next::Stop { reason } => return (cells, reason),
                Next::Cell { step, repeat, why } => {
                    let number = step.unwrap_or_default();
                    cells.push((number, repeat, why));
                    done.push((step, repeat, word(number, repeat)));
                    assert!(done.len() < 200, "the ladder does not end");
                }
            }
        }
    }

    fn up_to(ceiling: u64) -> impl FnMut(u64, u32) -> Word {
        move |step, _| if step <= ceiling { Word::Pass } else { Word::Fail }
    }

    #[test]
    fn it_climbs_until_a_step_does_not_pass() {
        let header = header(&[1000, 5000, 50_000], false, None);
        let (cells, reason) = climb(&header, up_to(1000));
        assert_eq!(cells, [(1000, 1, Why::First), (5000, 1, Why::Climb)]);
        assert_eq!(reason, "points=5000 did not pass");
        let (cells, reason) = climb(&header, up_to(50_000));
        assert_eq!((cells.len(), reason.as_str()), (3, "all steps were run"));
        let (cells, reason) = climb(&header, |_, _| Word::Inconclusive);
        assert_eq!((cells.len(), reason.as_str()), (1, "points=1000 is inconclusive"));
    }

    #[test]
    fn it_climbs_on_when_the_plan_says_so() {
        let (cells, reason) = climb(&header(&[1000, 5000, 50_000], true, None), |_, _| Word::Inconclusive);
        assert_eq!((cells.len(), reason.as_str()), (3, "all steps were run"));
    }

    #[test]
    fn without_a_ladder_there_is_one_cell() {
        let (cells, reason) = climb(&header(&[], false, None), up_to(0));
        assert_eq!((cells, reason.as_str()), (vec![(0, 1, Why::First)], "all steps were run"));
    }

    #[test]
    fn it_bisects_and_confirms() {
        let (cells, reason) = climb(&header(&[1000, 2000, 4000], false, refine(0.10, 2, 20)), up_to(2600));
        let wanted = [
            (1000, 1, Why::First),
            (2000, 1, Why::Climb),
            (4000, 1, Why::Climb),
            (3000, 1, Why::Refine),
            (2500, 1, Why::Refine),
            (2750, 1, Why::Refine),
            (2500, 2, Why::Confirm),
            (2500, 3, Why::Confirm),
        ];
        assert_eq!(cells, wanted);
        assert_eq!(reason, "the ceiling lies between 2500, which was confirmed 2 times, and 2750");
    }

    #[test]
    fn a_confirmation_that_fails_moves_the_search_below() {
        let header = header(&[1000, 2000], false, refine(0.10, 1, 20));
        let (cells, reason) =
            climb(
                &header,
                |step, repeat| {
                    if step <= 1500 || step < 2000 && repeat == 1 { Word::Pass } else { Word::Fail }
                },
            );
        assert!(cells.contains(&(1937, 2, Why::Confirm)) || cells.contains(&(1875, 2, Why::Confirm)), "{cells:?}");
        let (last, repeat, why) = cells[cells.len() - 1];
        assert!(last <= 1500 && repeat == 2 && why == Why::Confirm, "{cells:?}");
        assert!(reason.contains("confirmed once"), "{reason}");
    }

    #[test]
    fn it_stops_when_the_search_has_run_its_cells_or_has_nothing_to_search() {
        let (cells, reason) = climb(&header(&[1000, 2_000_000], false, refine(0.0, 1, 4)), up_to(777_777));
        assert_eq!(cells.len(), 6);
        assert!(reason.starts_with("the search has run its 4 cells"), "{reason}");
        let (cells, reason) = climb(&header(&[1000, 2000], false, refine(0.1, 1, 4)), up_to(500));
        assert_eq!((cells.len(), reason.as_str()), (1, "no step below 1000 passed"));
        let (_, reason) = climb(&header(&[1000, 2000], false, refine(0.1, 1, 4)), up_to(9000));
        assert_eq!(reason, "no step failed, so that there is no ceiling to search for");
    }

    #[test]
    fn an_inconclusive_search_stops() {
        let unclear = |step, _| match step {
            1000 => Word::Pass,
            4000 => Word::Fail,
            _ => Word::Inconclusive,
        };
        let (cells, reason) = climb(&header(&[1000, 4000], false, refine(0.1, 1, 9)), unclear);
        assert_eq!((cells.len(), reason.as_str()), (3, "points=2500 is inconclusive"));
        let (cells, reason) = climb(&header(&[1000, 4000], true, refine(0.1, 1, 9)), unclear);
        assert_eq!(cells.len(), 3);
        assert!(reason.starts_with("2500 is inconclusive, so that"), "{reason}");
    }

    proptest! {
        #[test]
        fn the_search_brackets_any_threshold(ceiling in 1_000_u64..1_000_000, until in 0.01..0.5_f64, confirm in 0_u32..4) {
            let header = header(&[1000, 10_000, 100_000, 1_000_000], false, refine(until, confirm, 50));
            let (cells, reason) = climb(&header, up_to(ceiling));
            let pass = cells.iter().map(|cell| cell.0).filter(|step| *step <= ceiling).max().unwrap();
            let fail = cells.iter().map(|cell| cell.0).filter(|step| *step > ceiling).min().unwrap();
            prop_assert!(fail - pass <= 1 || share(fail - pass, pass) <= until, "{pass} to {fail}: {reason}");
            let confirmations = cells.iter().filter(|(step, _, why)| *step == pass && *why == Why::Confirm).count();
            prop_assert_eq!(confirmations, confirm as usize);
            prop_assert_eq!(cells.iter().filter(|(_, _, why)| *why == Why::Confirm).count(), confirm as usize);
        }

        #[test]
        fn it_ends_within_its_bounds_whatever_the_words(
            words in prop::collection::vec(prop_oneof![Just(Word::Pass), Just(Word::Fail), Just(Word::Inconclusive)], 80),
            continue_on_fail: bool,
            most in 1_u32..20,
        ) {
            let header = header(&[1000, 2000, 8000], continue_on_fail, refine(0.05, 2, most));
            let mut words = words.into_iter().cycle();
            let (cells, _) = climb(&header, |_, _| words.next().unwrap());
            let added = cells.iter().filter(|(step, repeat, _)| *repeat > 1 || ![1000, 2000, 8000].contains(step)).count();
            prop_assert!(added <= most as usize);
            for (index, (step, repeat, _)) in cells.iter().enumerate() {
                let before = cells[..index].iter().filter(|(run, _, _)| run == step).count();
                prop_assert_eq!(*repeat as usize, before + 1, "repeats count up");
            }
        }
    }
}
