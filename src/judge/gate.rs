//! One gate against one value.
//!
//! A value is known as an interval: a point when it is exact, open above when what was waited for had not come, closed below only
//! by confidence when too few observations stand for a percentile. A gate is held when every value of the interval satisfies the
//! bound, broken when none does, and unmeasured otherwise.

use super::verdict::{GateOutcome, Standing};
use crate::{
    measure::{
        measure,
        measured::{Exactness, Figure, Measured, in_words},
        metric::window_in_words,
    },
    plan::{checked::CheckedGate, gate::Comparison},
    record::{cell::CellRecord, entry::RunStarted},
};

/// Judges one gate; what it requires is [`demote`]d later.
pub(super) fn judge(run: &RunStarted, cell: &CellRecord, gate: &CheckedGate) -> GateOutcome {
    let blank = GateOutcome {
        name: gate.name.clone(),
        metric: gate.metric.clone(),
        window: window_in_words(cell, &gate.window),
        standing: Standing::Unmeasured,
        value: None,
        unit: gate.unit,
        comparison: gate.comparison,
        bound: gate.bound,
        bound_text: gate.bound_text.clone(),
        margin: None,
        n: None,
        miss: gate.miss,
        cause: gate.cause.clone(),
        proof: gate.proof,
        requires: gate.requires.clone(),
        demoted: None,
        why: None,
        because: gate.because.clone(),
    };
    match measure(run, cell, &gate.metric, &gate.window) {
        Measured::Unmeasured { why } => GateOutcome { why: Some(why), ..blank },
        Measured::Value(figure) => compared(blank, &figure),
    }
}

fn compared(blank: GateOutcome, figure: &Figure) -> GateOutcome {
    let (comparison, bound, value) = (blank.comparison, blank.bound, figure.value());
    let standing = standing(comparison, bound, figure);
    let blank = GateOutcome { window: figure.window.clone(), standing, ..blank };
    if standing == Standing::Unmeasured {
        let note = figure.note.as_deref().unwrap_or("the value is not known exactly");
        let why = format!("{} does not decide it ({note})", in_words(value, figure.unit));
        return GateOutcome { why: Some(why), ..blank };
    }
    let (value, margin) = (Some(value), Some(margin(comparison, bound, value)));
    GateOutcome { value, margin, n: Some(figure.n), why: figure.note.clone(), ..blank }
}

/// How far a value is on the good side; for `equals`, minus the distance.
fn margin(comparison: Comparison, bound: f64, value: f64) -> f64 {
    match comparison {
        Comparison::AtLeast | Comparison::Above => value - bound,
        Comparison::AtMost | Comparison::Below => bound - value,
        Comparison::Equals => -(value - bound).abs(),
    }
}

fn standing(comparison: Comparison, bound: f64, figure: &Figure) -> Standing {
    let (low, high) = match figure.exactness {
        Exactness::Exact => (figure.value(), figure.value()),
        Exactness::AtLeast => (figure.value(), f64::INFINITY),
        Exactness::AtMost => (figure.low.unwrap_or(f64::NEG_INFINITY), figure.value()),
    };
    let holds = |value| comparison.holds(value, bound);
    let (all, none) = match comparison {
        Comparison::AtLeast | Comparison::Above => (holds(low), !holds(high)),
        Comparison::AtMost | Comparison::Below => (holds(high), !holds(low)),
        Comparison::Equals => (holds(low) && holds(high), bound < low || bound > high),
    };
    match (all, none) {
        (true, _) => Standing::Held,
        (_, true) => Standing::Broken,
        _ => Standing::Unmeasured,
    }
}

/// Marks the gates whose required gate does not hold in full: such a gate is a caveat at best. A gate that requires itself, by
/// whatever way round, never holds in full.
pub(super) fn demote(outcomes: &mut [GateOutcome]) {
    let reasons: Vec<Option<String>> = outcomes.iter().map(|outcome| why_not_in_full(outcome, outcomes)).collect();
    for (outcome, reason) in outcomes.iter_mut().zip(reasons) {
        outcome.demoted = reason;
    }
}

fn why_not_in_full(outcome: &GateOutcome, outcomes: &[GateOutcome]) -> Option<String> {
    let mut required = outcome.requires.as_deref()?;
    // Each step follows one `requires`; more steps than gates is a circle.
    for _ in outcomes {
        let Some(other) = outcomes.iter().find(|other| other.name == required) else {
            return Some(format!("it requires `{required}`, which is no gate of this plan"));
        };
        match (other.standing, other.requires.as_deref()) {
            (Standing::Held, None) => return None,
            (Standing::Held, Some(next)) => required = next,
            (Standing::Broken, _) => return Some(format!("it requires `{required}`, which is broken")),
            (Standing::Unmeasured, _) => return Some(format!("it requires `{required}`, which is unmeasured")),
        }
    }
    Some(format!("it requires `{required}` in a circle"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        measure::{
            measured::Extent,
            sample_cell::{canary, cell, default_window, finish, open_window, push, run},
        },
        plan::gate::{Miss, Unit},
        record::entry::Entry,
    };

    /// A gate on a metric of seconds with a bar of 5.
    pub(in crate::judge) fn gate(name: &str, metric: &str) -> CheckedGate {
        CheckedGate {
            name: name.into(),
            metric: metric.into(),
            window: default_window(),
            comparison: Comparison::Below,
            bound: 5.0,
            bound_text: "5s".into(),
            unit: Unit::Seconds,
            miss: Miss::Fail,
            cause: None,
            proof: false,
            requires: None,
            because: None,
        }
    }

    fn figure(value: f64, exactness: Exactness, low: Option<f64>) -> Figure {
        let extent = Extent { window: "soak".into(), from: 0.0, to: 1.0 };
        let mut figure = Figure::new(value, Unit::Seconds, 12, &extent).unwrap();
        (figure.exactness, figure.low) = (exactness, low);
        figure
    }

    #[test]
    fn standings_of_exact_values() {
        use Comparison::{Above, AtLeast, AtMost, Below, Equals};
        use Standing::{Broken, Held};
        let rows = [
            (AtLeast, [Broken, Held, Held]),
            (AtMost, [Held, Held, Broken]),
            (Above, [Broken, Broken, Held]),
            (Below, [Held, Broken, Broken]),
            (Equals, [Broken, Held, Broken]),
        ];
        for (comparison, wanted) in rows {
            let found = [4.0, 5.0, 6.0].map(|value| standing(comparison, 5.0, &figure(value, Exactness::Exact, None)));
            assert_eq!(found, wanted, "{comparison:?}");
        }
    }

    #[test]
    fn a_lower_bound_can_break_an_upper_bar_and_never_meet_it() {
        use Comparison::{Above, AtLeast, AtMost, Below, Equals};
        use Standing::{Broken, Held, Unmeasured};
        let rows = [
            (AtLeast, [Unmeasured, Held, Held]),
            (AtMost, [Unmeasured, Unmeasured, Broken]),
            (Above, [Unmeasured, Unmeasured, Held]),
            (Below, [Unmeasured, Broken, Broken]),
            (Equals, [Unmeasured, Unmeasured, Broken]),
        ];
        for (comparison, wanted) in rows {
            let found =
                [4.0, 5.0, 6.0].map(|value| standing(comparison, 5.0, &figure(value, Exactness::AtLeast, None)));
            assert_eq!(found, wanted, "{comparison:?}");
        }
    }

    #[test]
    fn the_longest_of_a_few_can_meet_an_upper_bar_and_breaks_it_only_by_its_lower_end() {
        use Comparison::{Above, AtLeast, AtMost, Below, Equals};
        use Standing::{Broken, Held, Unmeasured};
        // The value and its lower end: below the bar, around it, above it.
        let rows = [
            (AtLeast, [Broken, Unmeasured, Held]),
            (AtMost, [Held, Unmeasured, Broken]),
            (Above, [Broken, Unmeasured, Held]),
            (Below, [Held, Unmeasured, Broken]),
            (Equals, [Broken, Unmeasured, Broken]),
        ];
        for (comparison, wanted) in rows {
            let found = [(4.0, Some(3.0)), (6.0, Some(4.0)), (7.0, Some(6.0))]
                .map(|(value, low)| standing(comparison, 5.0, &figure(value, Exactness::AtMost, low)));
            assert_eq!(found, wanted, "{comparison:?}");
        }
        assert_eq!(standing(AtMost, 5.0, &figure(6.0, Exactness::AtMost, None)), Unmeasured);
    }

    #[test]
    fn the_outcome_can_be_derived_again_from_what_it_shows() {
        let mut cell = cell();
        open_window(&mut cell, "soak", true, 10.0, 40.0);
        for number in 1..=60 {
            let published = 10.0 + 0.5 * f64::from(u32::try_from(number - 1).unwrap());
            push(&mut cell, Entry::Canary(canary(number, published, Some(7.25))));
        }
        finish(&mut cell);
        let outcome = judge(&run(), &cell, &gate("lag", "lag.p95_s"));
        assert_eq!(
            (outcome.standing, outcome.value, outcome.margin, outcome.n),
            (Standing::Broken, Some(7.25), Some(-2.25), Some(60))
        );
        assert_eq!(outcome.margin_ratio(), Some(-0.45));
        assert!(!outcome.comparison.holds(outcome.value.unwrap(), outcome.bound));
        assert_eq!(outcome.sentence(), "lag.p95_s = 7.25 s, must be < 5s (n = 60, soak, resolution 20 ms)");
    }

    #[test]
    fn a_gate_without_samples_is_unmeasured_and_has_no_value() {
        let mut cell = cell();
        open_window(&mut cell, "soak", true, 10.0, 40.0);
        let outcome = judge(&run(), &cell, &gate("lag", "lag.p95_s"));
        assert_eq!((outcome.standing, outcome.value, outcome.margin), (Standing::Unmeasured, None, None));
        assert!(outcome.sentence().starts_with("lag.p95_s is unmeasured: no canary reading"), "{}", outcome.sentence());
    }

    #[test]
    fn margins_are_positive_on_the_good_side() {
        let rows = [
            (Comparison::AtLeast, 1.0),
            (Comparison::Above, 1.0),
            (Comparison::AtMost, -1.0),
            (Comparison::Below, -1.0),
            (Comparison::Equals, -1.0),
        ];
        for (comparison, wanted) in rows {
            assert_eq!(margin(comparison, 5.0, 6.0), wanted);
        }
    }

    #[test]
    fn a_gate_whose_requirement_does_not_hold_is_demoted() {
        let cell = cell();
        let named = |name: &str, standing, requires: Option<&str>| GateOutcome {
            standing,
            requires: requires.map(str::to_owned),
            ..judge(&run(), &cell, &gate(name, "lag.n"))
        };
        let mut outcomes = [
            named("rest", Standing::Held, None),
            named("broken", Standing::Broken, None),
            named("on rest", Standing::Held, Some("rest")),
            named("on broken", Standing::Held, Some("broken")),
            named("two away", Standing::Broken, Some("on broken")),
            named("on nothing", Standing::Held, Some("gone")),
            named("circle", Standing::Held, Some("circle")),
        ];
        demote(&mut outcomes);
        let demoted: Vec<&str> =
            outcomes.iter().filter(|outcome| outcome.demoted.is_some()).map(|outcome| outcome.name.as_str()).collect();
        assert_eq!(demoted, ["on broken", "two away", "on nothing", "circle"]);
    }
}
