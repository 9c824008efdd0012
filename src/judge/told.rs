//! Parts that the gates which decided are themselves about: a container that was killed for want of memory, that ended or was started
//! again, and whoever missed the readings that a broker dropped. What happened outweighs what was merely busy meanwhile.

use super::{
    bottleneck::{Look, Sign, Weight},
    verdict::{GateOutcome, Standing},
};
use crate::{
    measure::measured::in_words,
    plan::gate::Unit,
    record::entry::{Event, EventKind, Subject},
};

/// Metrics that count events, the events, and what they say of their subject.
const COUNTED: &[(&str, EventKind, &str)] = &[
    ("engine.oom_kills", EventKind::OutOfMemory, "the kernel killed a process of {} for want of memory"),
    ("target.unexpected_exits", EventKind::UnexpectedExit, "{} ended although nobody took it down"),
    ("engine.restarts", EventKind::Restarted, "{} was started again"),
];

impl Look<'_> {
    /// Parts that events name, the first one first.
    pub(super) fn happened(&self, deciding: &[&GateOutcome]) -> Vec<Sign> {
        let broken =
            |metric: &str| deciding.iter().any(|gate| gate.metric == metric && gate.standing == Standing::Broken);
        let mut signs: Vec<Sign> = Vec::new();
        for (_, kind, words) in COUNTED.iter().filter(|(metric, ..)| broken(metric)) {
            let events: Vec<&Event> = self.cell.events.iter().filter(|event| event.kind == *kind).collect();
            for event in &events {
                let what = words.replace("{}", &event.subject);
                if signs.iter().any(|sign| sign.evidence.starts_with(&what)) {
                    continue;
                }
                let times = events.iter().filter(|other| other.subject == event.subject).count();
                let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
                let evidence = format!("{what}: {}{times}", event.detail);
                signs.push(Sign { part: event.subject.clone(), evidence, weight: Weight::Told });
            }
        }
        signs
    }

    /// Counters of drops that rose. A broker that dropped messages although all that it acknowledged is stored dropped them for somebody at
    /// QoS 0: for the ingest path it would have been a loss.
    pub(super) fn drops(&self, deciding: &[&GateOutcome]) -> Vec<Sign> {
        let mut signs = Vec::new();
        for (full, name) in self.series().filter(|(_, name)| name.contains("drop")) {
            let Some(rise) = self.figure(&format!("{full}.delta")).filter(|rise| rise.value() > 0.0) else { continue };
            let mut evidence = format!("{full} rose by {} over {}", in_words(rise.value(), Unit::Number), rise.window);
            if !(self.is_of_broker(&full, name) && self.all_is_stored()) {
                signs.push(Sign { part: full, evidence, weight: Weight::Sign });
                continue;
            }
            evidence.push_str(
                ", and all that was acknowledged is stored, so a subscriber at QoS 0 missed them and not the ingest path",
            );
            let decided = |gate: &&GateOutcome| gate.metric.starts_with(&full) && gate.standing == Standing::Broken;
            let weight = if deciding.iter().any(decided) { Weight::Told } else { Weight::Sign };
            signs.push(Sign { part: "a QoS 0 subscriber".to_owned(), evidence, weight });
        }
        signs
    }

    /// Whether a series is of a broker's `$SYS` topics.
    fn is_of_broker(&self, full: &str, name: &str) -> bool {
        let watch = full.strip_suffix(name).and_then(|watch| watch.strip_suffix('.')).unwrap_or_default();
        matches!(self.cell.started.subjects.get(watch), Some(Subject::Series { kind, .. }) if kind == "mqtt_sys")
    }

    /// Whether every reconciliation of the cell was made and found nothing missing; false when there was none.
    fn all_is_stored(&self) -> bool {
        let reconciles = self.cell.started.subjects.iter().filter(|(_, what)| is_reconcile(what));
        let missing: Vec<Option<f64>> = reconciles.map(|(name, _)| self.value(&format!("{name}.missing"))).collect();
        !missing.is_empty() && missing.iter().all(|missing| *missing == Some(0.0))
    }
}

fn is_reconcile(subject: &Subject) -> bool {
    matches!(subject, Subject::Phase { kind } if kind == "reconcile")
}
