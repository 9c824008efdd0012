//! Gates, compared by the values that they accept.

use super::{Alteration, Change, Effect, Topic};
use crate::plan::{
    checked::{CheckedGate, Part, Window},
    gate::{Comparison, Miss},
};

/// What changes between two lists of gates. Gates belong together by name, or else by metric and window.
pub(crate) fn changes(before: &[CheckedGate], after: &[CheckedGate]) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut matched = vec![false; before.len()];
    for gate in after {
        let partner = partner(before, after, gate);
        match partner {
            Some(index) => {
                matched[index] = true;
                changes.extend(between(&before[index], gate));
            }
            None => changes.push(change(gate, "", Alteration::Added(bar(gate)), Effect::Tightened)),
        }
    }
    let gone = before.iter().zip(matched).filter(|(_, matched)| !matched);
    changes.extend(gone.map(|(gate, _)| change(gate, "", Alteration::Removed(bar(gate)), Effect::Loosened)));
    changes
}

/// The gate before that this one continues: the one of its name, or one of the same metric and window whose name is gone, as
/// long as only one can be meant.
fn partner(before: &[CheckedGate], after: &[CheckedGate], gate: &CheckedGate) -> Option<usize> {
    let named = |gates: &[CheckedGate], name: &str| gates.iter().position(|gate| gate.name == name);
    if let Some(index) = named(before, &gate.name) {
        return Some(index);
    }
    let alike = |other: &CheckedGate| other.metric == gate.metric && other.window == gate.window;
    let renamed: Vec<usize> = (0..before.len())
        .filter(|index| alike(&before[*index]) && named(after, &before[*index].name).is_none())
        .collect();
    let claimants = after.iter().filter(|other| alike(other) && named(before, &other.name).is_none()).count();
    if let ([index], 1) = (renamed.as_slice(), claimants) { Some(*index) } else { None }
}

fn between(old: &CheckedGate, new: &CheckedGate) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut note = |part: &str, before: String, after: String, effect: Effect| {
        if before != after {
            changes.push(change(new, part, Alteration::Replaced { before, after }, effect));
        }
    };
    note("name", old.name.clone(), new.name.clone(), Effect::Changed);
    note("metric", old.metric.clone(), new.metric.clone(), Effect::Changed);
    note("window", window(&old.window), window(&new.window), Effect::Changed);
    let (was, is) = (Accepted::of(old), Accepted::of(new));
    if was != is {
        note("", condition(old), condition(new), was.becomes(is));
    }
    note("miss", miss(old.miss).to_owned(), miss(new.miss).to_owned(), stricter(rank(old.miss), rank(new.miss)));
    note("proof", old.proof.to_string(), new.proof.to_string(), stricter(u8::from(old.proof), u8::from(new.proof)));
    let needs = |gate: &CheckedGate| gate.requires.clone().unwrap_or_else(|| "nothing".to_owned());
    let effect = match (&old.requires, &new.requires) {
        (None, _) => Effect::Tightened,
        (_, None) => Effect::Loosened,
        _ => Effect::Changed,
    };
    note("requires", needs(old), needs(new), effect);
    let words = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    note("cause", words(&old.cause), words(&new.cause), Effect::Changed);
    note("because", words(&old.because), words(&new.because), Effect::Changed);
    changes
}

fn change(gate: &CheckedGate, part: &str, alteration: Alteration, effect: Effect) -> Change {
    let subject = format!("gate {}", gate.name);
    Change { topic: Topic::Bars, subject, part: part.to_owned(), alteration, effect: Some(effect) }
}

/// The values that a gate accepts: an interval, its ends included or not.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Accepted {
    /// The lower end and whether it is left out.
    low: (f64, bool),
    /// The upper end and whether it is left out.
    high: (f64, bool),
}

impl Accepted {
    fn of(gate: &CheckedGate) -> Self {
        let (all_below, all_above) = ((f64::NEG_INFINITY, false), (f64::INFINITY, false));
        match gate.comparison {
            Comparison::AtLeast => Self { low: (gate.bound, false), high: all_above },
            Comparison::Above => Self { low: (gate.bound, true), high: all_above },
            Comparison::AtMost => Self { low: all_below, high: (gate.bound, false) },
            Comparison::Below => Self { low: all_below, high: (gate.bound, true) },
            Comparison::Equals => Self { low: (gate.bound, false), high: (gate.bound, false) },
        }
    }

    /// Whether every value accepted here is accepted there.
    #[expect(clippy::float_cmp, reason = "two bounds are the same or they are not")]
    fn lies_in(self, other: Self) -> bool {
        let low = self.low.0 > other.low.0 || (self.low.0 == other.low.0 && (self.low.1 || !other.low.1));
        let high = self.high.0 < other.high.0 || (self.high.0 == other.high.0 && (self.high.1 || !other.high.1));
        low && high
    }

    fn becomes(self, new: Self) -> Effect {
        match (new.lies_in(self), self.lies_in(new)) {
            (true, false) => Effect::Tightened,
            (false, true) => Effect::Loosened,
            _ => Effect::Changed,
        }
    }
}

fn stricter(before: u8, after: u8) -> Effect {
    if after > before { Effect::Tightened } else { Effect::Loosened }
}

fn rank(miss: Miss) -> u8 {
    match miss {
        Miss::Caveat => 0,
        Miss::Inconclusive => 1,
        Miss::Fail => 2,
    }
}

fn miss(miss: Miss) -> &'static str {
    match miss {
        Miss::Fail => "fail",
        Miss::Inconclusive => "inconclusive",
        Miss::Caveat => "caveat",
    }
}

fn condition(gate: &CheckedGate) -> String {
    format!("{} {}", gate.comparison.sign(), gate.bound_text)
}

fn bar(gate: &CheckedGate) -> String {
    let over = if gate.window == (Window { phase: None, part: Part::Whole }) {
        String::new()
    } else {
        format!(" over {}", window(&gate.window))
    };
    format!("{} {}{over}, a miss is {}", gate.metric, condition(gate), miss(gate.miss))
}

fn window(window: &Window) -> String {
    let phase = window.phase.as_deref().unwrap_or("all measured phases");
    let part = match window.part {
        Part::Whole => return phase.to_owned(),
        Part::FirstHalf => "first_half",
        Part::LastHalf => "last_half",
        Part::FirstThird => "first_third",
        Part::MiddleThird => "middle_third",
        Part::LastThird => "last_third",
    };
    format!("{phase}/{part}")
}
