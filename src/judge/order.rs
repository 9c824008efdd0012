//! The order of verdicts, in one pure function: what outweighs what.
//!
//! 1. A broken proof fails the cell, whatever else is unclear.
//! 2. Otherwise a measurement that is not valid (live-safety, an interruption, a validity gate that does not hold) says nothing of the system.
//! 3. Otherwise a broken bar fails it.
//! 4. Otherwise something that was not done or not measured leaves it open: what was not measured never passes.
//! 5. Otherwise it passes.

use super::verdict::{GateOutcome, Standing, Word};
use crate::{plan::gate::Miss, record::entry::CutShort};

/// How the cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending<'a> {
    /// All phases were run.
    Whole,
    /// It is not over.
    GoingOn,
    /// It is over, and this phase was never run although nothing cut the cell short: the record is damaged.
    Lacking(&'a str),
    /// It was cut short.
    CutShort(&'a CutShort),
}

/// A gate and whether its window was run at all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighed<'a> {
    /// The gate.
    pub(super) outcome: &'a GateOutcome,
    /// False when the phase that it looks at was not reached.
    pub(super) was_run: bool,
}

/// The word, why, and the gates that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// The word.
    pub(super) word: Word,
    /// Why it is not a pass.
    pub(super) cause: Option<String>,
    /// The gates that made the word, in the plan's order.
    pub(super) decided_by: Vec<String>,
}

/// Decides a cell.
pub(super) fn decide(ending: Ending, gates: &[Weighed]) -> Decision {
    let those = |wanted: fn(&Weighed) -> bool| -> Vec<&GateOutcome> {
        gates.iter().filter(|gate| wanted(gate)).map(|gate| gate.outcome).collect()
    };
    let proofs = those(|gate| gate.outcome.proof && is_broken_bar(gate.outcome));
    if !proofs.is_empty() {
        return because_of(Word::Fail, &proofs, GateOutcome::sentence);
    }
    if let Some(cause) = invalid_ending(ending) {
        return Decision { word: Word::Inconclusive, cause: Some(cause), decided_by: Vec::new() };
    }
    let invalid: Vec<&GateOutcome> = those(is_invalid).into_iter().filter(|gate| !is_explained(gate, gates)).collect();
    if !invalid.is_empty() {
        return because_of(Word::Inconclusive, &invalid, |first| {
            format!("{}: {}", first.cause.as_deref().unwrap_or(&first.name), first.sentence())
        });
    }
    let broken = those(|gate| gate.outcome.miss == Miss::Fail && is_broken_bar(gate.outcome));
    if !broken.is_empty() {
        return because_of(Word::Fail, &broken, GateOutcome::sentence);
    }
    let unmeasured = those(|gate| counts(gate.outcome) && gate.outcome.standing == Standing::Unmeasured);
    if let Ending::CutShort(CutShort::PhaseFailed(reason)) = ending {
        return because_of(Word::Inconclusive, &unmeasured, |_| String::new())
            .because(format!("phase failed: {reason}"));
    }
    if !unmeasured.is_empty() {
        return because_of(Word::Inconclusive, &unmeasured, |first| format!("unmeasured: {}", first.sentence()));
    }
    let in_full = |gate: &Weighed| counts(gate.outcome) && gate.outcome.demoted.is_none();
    if !gates.iter().any(in_full) {
        return because_of(Word::Inconclusive, &[], |_| String::new()).because("no gate was judged in full".to_owned());
    }
    Decision { word: Word::Pass, cause: None, decided_by: Vec::new() }
}

impl Decision {
    fn because(self, cause: String) -> Self {
        Self { cause: Some(cause), ..self }
    }
}

fn because_of(word: Word, gates: &[&GateOutcome], cause: impl Fn(&GateOutcome) -> String) -> Decision {
    let decided_by = gates.iter().map(|gate| gate.name.clone()).collect();
    Decision { word, cause: gates.first().map(|first| cause(first)), decided_by }
}

/// Whether a bar that counts in full is broken and explains why a validity gate that requires it does not hold: a load that was held up by the
/// system says something of the system. Such a cell fails; nothing passes by this.
fn is_explained(gate: &GateOutcome, gates: &[Weighed]) -> bool {
    let required = gates.iter().map(|other| other.outcome).find(|other| gate.requires.as_deref() == Some(&other.name));
    required.is_some_and(|bar| bar.miss == Miss::Fail && is_broken_bar(bar))
}

/// Whether a broken bar counts in full.
fn is_broken_bar(outcome: &GateOutcome) -> bool {
    outcome.standing == Standing::Broken && outcome.demoted.is_none()
}

/// Whether a gate's being unmeasured matters.
fn counts(outcome: &GateOutcome) -> bool {
    outcome.proof || outcome.miss != Miss::Caveat
}

/// Whether a validity gate does not hold. One whose phase was never reached says nothing of what happened before: it is unmeasured
/// like any other, so that a system which failed earlier is not excused by it.
fn is_invalid(gate: &Weighed) -> bool {
    let Weighed { outcome, was_run } = gate;
    outcome.miss == Miss::Inconclusive
        && (outcome.standing == Standing::Broken || outcome.standing == Standing::Unmeasured && *was_run)
}

/// Why the end of the cell makes it invalid.
fn invalid_ending(ending: Ending) -> Option<String> {
    match ending {
        Ending::CutShort(CutShort::LiveSafety(cause)) => Some(format!("live-safety: {cause}")),
        Ending::CutShort(CutShort::DiskLow(cause)) => Some(format!("disk: {cause}")),
        Ending::CutShort(CutShort::Interrupted) => Some("interrupted".to_owned()),
        Ending::GoingOn => Some("the cell is not over".to_owned()),
        Ending::Lacking(phase) => Some(format!("the record lacks the phase `{phase}`")),
        Ending::CutShort(CutShort::PhaseFailed(_)) | Ending::Whole => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::gate::{judge, tests::gate},
        *,
    };
    use crate::measure::sample_cell::{cell, run};

    /// A gate that ended so.
    fn ended(name: &str, standing: Standing, miss: Miss, proof: bool) -> GateOutcome {
        GateOutcome { standing, miss, proof, ..judge(&run(), &cell(), &gate(name, "lag.n")) }
    }

    /// The rule of measurement.md in its own words, to hold the function against.
    fn by_the_rule(proof: Standing, validity: Standing, bar: Standing, ending: &str) -> Word {
        if proof == Standing::Broken {
            return Word::Fail;
        }
        if validity != Standing::Held || ["live-safety", "disk", "interrupted", "going on"].contains(&ending) {
            return Word::Inconclusive;
        }
        if bar == Standing::Broken {
            return Word::Fail;
        }
        if bar == Standing::Unmeasured || proof == Standing::Unmeasured || ending == "phase failed" {
            return Word::Inconclusive;
        }
        Word::Pass
    }

    #[test]
    fn all_combinations_follow_the_order() {
        let standings = [Standing::Held, Standing::Broken, Standing::Unmeasured];
        let cuts = [
            ("live-safety", CutShort::LiveSafety("latency".into())),
            ("disk", CutShort::DiskLow("1 byte is free".into())),
            ("interrupted", CutShort::Interrupted),
            ("phase failed", CutShort::PhaseFailed("tags: no".into())),
        ];
        let mut endings: Vec<(&str, Ending)> = vec![("whole", Ending::Whole), ("going on", Ending::GoingOn)];
        endings.extend(cuts.iter().map(|(name, cut)| (*name, Ending::CutShort(cut))));
        let mut passes = 0;
        for (name, ending) in endings {
            for (proof, validity, bar, caveat) in combinations(standings) {
                let gates = [
                    ended("caveat", caveat, Miss::Caveat, false),
                    ended("bar", bar, Miss::Fail, false),
                    ended("validity", validity, Miss::Inconclusive, false),
                    ended("proof", proof, Miss::Fail, true),
                ];
                let weighed: Vec<Weighed> = gates.iter().map(|outcome| Weighed { outcome, was_run: true }).collect();
                let decision = decide(ending, &weighed);
                let row = format!("{name}, proof {proof:?}, validity {validity:?}, bar {bar:?}, caveat {caveat:?}");
                assert_eq!(decision.word, by_the_rule(proof, validity, bar, name), "{row}");
                assert_eq!(decision.cause.is_none(), decision.word == Word::Pass, "{row}");
                assert!(!decision.decided_by.contains(&"caveat".to_owned()), "{row}");
                passes += u32::from(decision.word == Word::Pass);
            }
        }
        assert_eq!(passes, 3, "only when all but the caveat hold in a whole cell");
    }

    fn combinations(standings: [Standing; 3]) -> impl Iterator<Item = (Standing, Standing, Standing, Standing)> {
        (0..81)
            .map(move |row| (standings[row % 3], standings[row / 3 % 3], standings[row / 9 % 3], standings[row / 27]))
    }

    fn decided(ending: Ending, gates: &[GateOutcome], was_run: bool) -> Decision {
        decide(ending, &gates.iter().map(|outcome| Weighed { outcome, was_run }).collect::<Vec<_>>())
    }

    #[test]
    fn a_fail_names_the_first_broken_gate_and_all_others() {
        let gates = ["a", "b", "c"]
            .map(|name| ended(name, if name == "a" { Standing::Held } else { Standing::Broken }, Miss::Fail, false));
        assert_eq!(decided(Ending::Whole, &gates, true).decided_by, ["b", "c"]);
    }

    #[test]
    fn an_inconclusive_gate_gives_its_cause() {
        let mut short = ended("kept pace", Standing::Broken, Miss::Inconclusive, false);
        short.cause = Some("generator".into());
        let cause = decided(Ending::Whole, &[short], true).cause.unwrap();
        assert!(cause.starts_with("generator: "), "{cause}");
    }

    #[test]
    fn a_demoted_proof_proves_nothing() {
        let mut proof = ended("nothing lost", Standing::Broken, Miss::Fail, true);
        proof.demoted = Some("it requires `store at rest`, which is broken".into());
        let rest = ended("store at rest", Standing::Broken, Miss::Fail, false);
        let decision = decided(Ending::Whole, &[rest.clone(), proof.clone()], true);
        assert_eq!((decision.word, decision.decided_by), (Word::Fail, vec!["store at rest".to_owned()]));
        let validity = ended("validity", Standing::Unmeasured, Miss::Inconclusive, false);
        assert_eq!(decided(Ending::Whole, &[proof, validity], true).word, Word::Inconclusive);
    }

    #[test]
    fn a_demoted_validity_gate_still_invalidates_unless_a_broken_bar_explains_it() {
        let mut validity = ended("kept pace", Standing::Broken, Miss::Inconclusive, false);
        validity.demoted = Some("it requires `acknowledged in time`, which is broken".into());
        validity.requires = Some("acknowledged in time".into());
        assert_eq!(decided(Ending::Whole, &[validity.clone()], true).word, Word::Inconclusive);
        for (standing, miss, word) in [
            (Standing::Broken, Miss::Fail, Word::Fail),
            (Standing::Broken, Miss::Inconclusive, Word::Inconclusive),
            (Standing::Broken, Miss::Caveat, Word::Inconclusive),
            (Standing::Unmeasured, Miss::Fail, Word::Inconclusive),
            (Standing::Held, Miss::Fail, Word::Inconclusive),
        ] {
            let required = ended("acknowledged in time", standing, miss, false);
            let decision = decided(Ending::Whole, &[required.clone(), validity.clone()], true);
            assert_eq!(decision.word, word, "{standing:?} {miss:?}");
            let mut demoted = required;
            demoted.demoted = Some("it requires `x`, which is broken".into());
            let decision = decided(Ending::Whole, &[demoted, validity.clone()], true);
            assert_eq!(decision.word, Word::Inconclusive, "{standing:?} {miss:?}, demoted itself");
        }
        let other = ended("other", Standing::Unmeasured, Miss::Inconclusive, false);
        let bar = ended("acknowledged in time", Standing::Broken, Miss::Fail, false);
        assert_eq!(decided(Ending::Whole, &[bar, validity, other], true).word, Word::Inconclusive, "not that one");
    }

    #[test]
    fn a_system_that_failed_before_the_load_began_is_not_excused_by_the_load() {
        let cut = CutShort::PhaseFailed("tags: 400 of 1000 were seen".into());
        let visible = ended("tags visible", Standing::Broken, Miss::Fail, false);
        let pace = ended("kept pace", Standing::Unmeasured, Miss::Inconclusive, false);
        let gates = [visible, pace];
        assert_eq!(decided(Ending::CutShort(&cut), &gates, false).word, Word::Fail);
        assert_eq!(
            decided(Ending::CutShort(&cut), &gates, true).word,
            Word::Inconclusive,
            "the load ran and was not measured"
        );
    }

    #[test]
    fn gates_that_are_caveats_or_demoted_make_no_pass() {
        let caveat = ended("caveat", Standing::Held, Miss::Caveat, false);
        let mut demoted = ended("leak", Standing::Held, Miss::Fail, false);
        demoted.demoted = Some("it requires `caveat`, which is broken".into());
        assert_eq!(decided(Ending::Whole, &[caveat, demoted], true).word, Word::Inconclusive);
    }

    #[test]
    fn a_cell_without_one_of_its_phases_does_not_pass() {
        let bar = ended("bar", Standing::Held, Miss::Fail, false);
        assert_eq!(decided(Ending::Lacking("soak"), &[bar], true).word, Word::Inconclusive);
    }

    #[test]
    fn without_gates_nothing_passes() {
        assert_eq!(decided(Ending::Whole, &[], true).word, Word::Inconclusive);
    }
}
