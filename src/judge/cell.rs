//! The judgement of one cell: its gates, their order, what the reader should know beside, and what was at its limit.

use super::{
    bottleneck,
    gate::{self, demote},
    order::{Decision, Ending, Weighed, decide},
    verdict::{CellVerdict, GateOutcome, Standing, Word},
};
use crate::{
    measure::{
        measure,
        measured::{Exactness, Figure, in_words},
        metric::was_run,
    },
    plan::{
        checked::{Part, Window},
        gate::{Miss, Unit},
    },
    record::{
        cell::CellRecord,
        entry::{RunStarted, Subject},
    },
};

/// Halves of a window that differ by more than this are a transition.
const HALVES_TOLERANCE: f64 = 0.10;

/// Halves whose acknowledged readings differ by fewer than this are the same: one slice more or less.
const READINGS_NOISE: f64 = 100.0;

/// Halves whose median lags differ by less than this are the same, seconds.
const LAG_NOISE_S: f64 = 0.1;

/// The share of the generator's ceiling above which a step is marked.
const CEILING_SHARE: f64 = 0.80;

/// Judges a cell by the gates that it began with.
///
/// A cell that is not over, or was cut short, never passes. The same function decides live and from an old record.
#[must_use]
pub fn judge_cell(run: &RunStarted, cell: &CellRecord) -> CellVerdict {
    let mut gates: Vec<GateOutcome> = cell.started.gates.iter().map(|gate| gate::judge(run, cell, gate)).collect();
    demote(&mut gates);
    let weighed: Vec<Weighed> = gates
        .iter()
        .zip(&cell.started.gates)
        .map(|(outcome, gate)| Weighed { outcome, was_run: was_run(cell, &gate.metric, &gate.window) })
        .collect();
    let ending = match &cell.finished {
        None => Ending::GoingOn,
        Some(finished) => finished.cut_short.as_ref().map_or_else(|| whole(cell), Ending::CutShort),
    };
    let mut decision = decide(ending, &weighed);
    if decision.word == Word::Pass
        && let Some(cause) = idle_load(cell)
    {
        decision = Decision { word: Word::Inconclusive, cause: Some(cause), decided_by: Vec::new() };
    }
    let mut caveats: Vec<String> = gates.iter().filter_map(caveat_of).collect();
    caveats.extend(transitions(run, cell));
    caveats.extend(near_the_ceiling(run, cell));
    let bottleneck = (decision.word != Word::Pass).then(|| bottleneck::find(run, cell, &gates, &decision.decided_by));
    CellVerdict {
        word: decision.word,
        cause: decision.cause,
        decided_by: decision.decided_by,
        gates,
        caveats,
        bottleneck,
    }
}

/// A load that ran and wrote nothing: whatever held, held without it.
fn idle_load(cell: &CellRecord) -> Option<String> {
    cell.started.subjects.keys().find_map(|load| {
        // A load's schedule is told when it stops, also when not one connection was ever made.
        let mut runs = cell.schedules.iter().filter(|schedule| schedule.load == *load).peekable();
        let idle = runs.peek().is_some() && runs.all(|run| run.offered.iter().all(|offered| *offered == 0));
        idle.then(|| format!("generator: load {load} wrote no reading"))
    })
}

/// A cell that nothing cut short has run all its phases.
fn whole(cell: &CellRecord) -> Ending<'_> {
    let phases = cell.started.subjects.iter().filter(|(_, what)| matches!(what, Subject::Phase { .. }));
    let mut lacking = phases.filter(|(name, _)| !cell.windows.iter().any(|window| window.name == **name));
    lacking.next().map_or(Ending::Whole, |(name, _)| Ending::Lacking(name))
}

/// What a gate leaves to say although it decided nothing.
fn caveat_of(outcome: &GateOutcome) -> Option<String> {
    match (&outcome.demoted, outcome.standing, outcome.miss) {
        (Some(why), ..) => Some(format!("{}: {}; {why}", outcome.name, outcome.sentence())),
        (None, Standing::Broken | Standing::Unmeasured, Miss::Caveat) if !outcome.proof => {
            Some(format!("{}: {}", outcome.name, outcome.sentence()))
        }
        _ => None,
    }
}

/// The measured phases whose halves differ: what was measured there was not a steady state.
fn transitions(run: &RunStarted, cell: &CellRecord) -> Vec<String> {
    let mut found = Vec::new();
    for span in cell.windows.iter().filter(|span| span.measured) {
        for (subject, what) in &cell.started.subjects {
            let (metric, unit) = match what {
                Subject::MqttPublish { .. } => ("acked_per_s", Unit::PerSecond),
                Subject::Canary { .. } => ("p50_s", Unit::Seconds),
                _ => continue,
            };
            let half = |part| {
                let window = Window { phase: Some(span.name.clone()), part };
                let measured = measure(run, cell, &format!("{subject}.{metric}"), &window);
                measured.figure().filter(|figure| figure.exactness == Exactness::Exact).cloned()
            };
            if let (Some(first), Some(last)) = (half(Part::FirstHalf), half(Part::LastHalf))
                && differ(&first, &last)
            {
                found.push(format!(
                    "{} was a transition: {subject}.{metric} was {} in its first half and {} in its last",
                    span.name,
                    in_words(first.value(), unit),
                    in_words(last.value(), unit)
                ));
            }
        }
    }
    found
}

/// Whether two halves differ beyond the tolerance and the noise.
#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
fn differ(first: &Figure, last: &Figure) -> bool {
    let (a, b) = (first.value(), last.value());
    let is_noise = match first.unit {
        Unit::PerSecond => (first.n as f64 - last.n as f64).abs() < READINGS_NOISE,
        _ => (a - b).abs() < LAG_NOISE_S,
    };
    !is_noise && (a - b).abs() > HALVES_TOLERANCE * a.abs().max(b.abs())
}

/// The loads whose nominal rate is near what the generator can do on this host.
fn near_the_ceiling(run: &RunStarted, cell: &CellRecord) -> Vec<String> {
    let whole = Window { phase: None, part: Part::Whole };
    let loads = cell.started.subjects.iter().filter(|(_, what)| matches!(what, Subject::MqttPublish { .. }));
    loads
        .filter_map(|(load, _)| {
            let measured = measure(run, cell, &format!("{load}.generator_ceiling_ratio"), &whole);
            let share = measured.figure().map(Figure::value).filter(|share| *share > CEILING_SHARE)?;
            Some(format!(
                "{load} asks for {} of what the generator reached on this host (marked above {})",
                in_words(share, Unit::Ratio),
                in_words(CEILING_SHARE, Unit::Ratio)
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{super::gate::tests::gate, *};
    use crate::{
        measure::sample_cell::{canary, cell, cut_short, finish, open_window, push, run, schedule, slice, subject},
        plan::{checked::CheckedGate, gate::Comparison},
        record::entry::{CutShort, Entry},
    };

    /// A soak of 30 s in which acknowledgements and lags are as told, by second.
    fn soak(acked: impl Fn(u32) -> u64, lag_s: impl Fn(u32) -> f64) -> CellRecord {
        let mut cell = cell();
        open_window(&mut cell, "soak", true, 10.0, 40.0);
        for second in 0..30_u32 {
            let at = 10.0 + f64::from(second);
            let mut slice = slice(at, 1_000);
            slice.acked = acked(second);
            push(&mut cell, Entry::Slice(slice));
            push(&mut cell, Entry::Canary(canary(u64::from(second) + 1, at, Some(lag_s(second)))));
        }
        cell
    }

    fn with_gates(mut cell: CellRecord, gates: Vec<CheckedGate>) -> CellRecord {
        cell.started.gates = gates;
        finish(&mut cell);
        cell
    }

    fn none_lost() -> CheckedGate {
        let (comparison, bound, bound_text) = (Comparison::Equals, 0.0, "0".to_owned());
        CheckedGate { comparison, bound, bound_text, unit: Unit::Count, ..gate("none lost", "lag.lost") }
    }

    #[test]
    fn a_steady_cell_that_meets_its_bars_passes_without_caveats() {
        let cell = with_gates(soak(|_| 200, |_| 0.2), vec![gate("lag", "lag.p95_s"), none_lost()]);
        let verdict = judge_cell(&run(), &cell);
        assert_eq!((verdict.word, verdict.cause, verdict.bottleneck), (Word::Pass, None, None));
        assert!(verdict.caveats.is_empty(), "{:?}", verdict.caveats);
    }

    #[test]
    fn a_load_that_never_wrote_anything_passes_nothing() {
        let mut cell = with_gates(soak(|_| 0, |_| 0.2), vec![none_lost()]);
        push(&mut cell, Entry::Schedule(schedule()));
        assert_eq!(judge_cell(&run(), &cell).word, Word::Pass);
        cell.schedules[0].offered = vec![0, 0];
        let verdict = judge_cell(&run(), &cell);
        assert_eq!(verdict.word, Word::Inconclusive);
        assert_eq!(verdict.cause.as_deref(), Some("generator: load readings wrote no reading"));
    }

    #[test]
    fn a_broken_bar_fails_with_its_sentence() {
        let cell = with_gates(soak(|_| 200, |_| 7.0), vec![none_lost(), gate("lag", "lag.p95_s")]);
        let verdict = judge_cell(&run(), &cell);
        assert_eq!((verdict.word, verdict.decided_by), (Word::Fail, vec!["lag".to_owned()]));
        let cause = verdict.cause.unwrap();
        assert!(cause.starts_with("lag.p95_s = 7 s, must be < 5s (n = 30, soak, max of 30"), "{cause}");
        assert_eq!(verdict.bottleneck.unwrap().part, None);
    }

    #[test]
    fn a_cell_that_is_not_over_or_was_cut_short_never_passes() {
        let mut cell = soak(|_| 200, |_| 0.2);
        cell.started.gates = vec![none_lost()];
        assert_eq!(judge_cell(&run(), &cell).word, Word::Inconclusive);
        for (cut, cause) in [
            (CutShort::LiveSafety("latency 900 ms".into()), "live-safety: latency 900 ms"),
            (CutShort::Interrupted, "interrupted"),
            (CutShort::PhaseFailed("drain: no".into()), "phase failed: drain: no"),
        ] {
            let mut cell = cell.clone();
            cut_short(&mut cell, cut);
            let verdict = judge_cell(&run(), &cell);
            assert_eq!((verdict.word, verdict.cause.as_deref()), (Word::Inconclusive, Some(cause)));
        }
    }

    #[test]
    fn halves_that_differ_are_a_transition() {
        let rising = with_gates(soak(|second| if second < 15 { 200 } else { 160 }, |_| 0.2), vec![none_lost()]);
        let caveats = judge_cell(&run(), &rising).caveats;
        assert_eq!(
            caveats,
            ["soak was a transition: readings.acked_per_s was 200/s in its first half and 160/s in its last"]
        );
        let slower = with_gates(soak(|_| 200, |second| if second < 15 { 0.2 } else { 0.5 }), vec![none_lost()]);
        let caveats = judge_cell(&run(), &slower).caveats;
        assert_eq!(caveats, ["soak was a transition: lag.p50_s was 200 ms in its first half and 500 ms in its last"]);
    }

    #[test]
    fn halves_that_differ_by_noise_are_not() {
        let cell = with_gates(soak(|_| 200, |second| if second < 15 { 0.02 } else { 0.05 }), vec![none_lost()]);
        assert!(judge_cell(&run(), &cell).caveats.is_empty());
        let few = with_gates(soak(|second| if second < 15 { 5 } else { 6 }, |_| 0.2), vec![none_lost()]);
        assert!(judge_cell(&run(), &few).caveats.is_empty());
    }

    #[test]
    fn a_step_near_the_generators_ceiling_is_marked() {
        let mut cell = soak(|_| 200, |_| 0.2);
        let near = Subject::MqttPublish { nominal_per_s: 8_100, points: 40_500, inflight: 4000 };
        subject(&mut cell, "readings", near);
        let caveats = judge_cell(&run(), &with_gates(cell, vec![none_lost()])).caveats;
        assert_eq!(caveats, ["readings asks for 81% of what the generator reached on this host (marked above 80%)"]);
    }

    #[test]
    fn a_missed_caveat_and_a_demoted_gate_are_said_and_decide_nothing() {
        let caveat = CheckedGate { miss: Miss::Caveat, ..gate("lag", "lag.p95_s") };
        let demoted = CheckedGate { requires: Some("lag".into()), ..none_lost() };
        let bar = CheckedGate { name: "bar".into(), ..none_lost() };
        let verdict = judge_cell(&run(), &with_gates(soak(|_| 200, |_| 7.0), vec![caveat, demoted, bar]));
        assert_eq!(verdict.word, Word::Pass);
        assert_eq!(verdict.caveats.len(), 2, "{:?}", verdict.caveats);
        assert!(verdict.caveats[1].ends_with("it requires `lag`, which is broken"), "{}", verdict.caveats[1]);
    }
}
