//! Gates that nobody writes: they follow from budgets, from live-safety and from the kind of the target.

use crate::plan::{
    checked::{CellPlan, CheckedGate, Part, Window},
    gate::{Comparison, Miss, Unit},
    phase::Phase,
    target::Target,
};

/// The cause of a cell in which live-safety tripped.
const LIVE_SAFETY: &str = "live_safety";

/// The gates that follow from the rest of the plan and are not written already.
pub(super) fn implied_gates(cell: &CellPlan, written: &[CheckedGate]) -> Vec<CheckedGate> {
    let mut gates = Vec::new();
    if cell.live_safety.is_some() {
        let gate = equals_zero("live-safety did not trip", "live_safety.trips");
        gates.push(CheckedGate { miss: Miss::Inconclusive, cause: Some(LIVE_SAFETY.to_owned()), ..gate });
    }
    if matches!(cell.target, Target::Processes(_)) {
        let because = "a process that ends by itself is not a server".to_owned();
        let gate = equals_zero("no process ended by itself", "target.unexpected_exits");
        gates.push(CheckedGate { because: Some(because), ..gate });
    }
    if matches!(cell.target, Target::Compose(_)) {
        gates.extend(of_containers());
    }
    for (name, probe) in &cell.probes {
        let run =
            cell.phases.iter().any(|named| matches!(&named.phase, Phase::Probe(phase) if phase.probes.contains(name)));
        let Some(budget) = probe.budget.filter(|_| run) else { continue };
        let because = probe.budget_source.as_ref().map(|source| format!("budget: {source}"));
        gates.push(equals_zero(&format!("{name} answers right"), &format!("{name}.failures")));
        gates.push(CheckedGate {
            name: format!("{name} within budget"),
            metric: format!("{name}.warm_median_s"),
            comparison: Comparison::AtMost,
            bound: budget.as_secs_f64(),
            bound_text: budget.to_string(),
            unit: Unit::Seconds,
            because,
            ..equals_zero("", "")
        });
    }
    gates.retain(|gate| !written.iter().any(|other| other.metric == gate.metric && other.window == gate.window));
    gates
}

/// Others on the engine are untouched, which is a proof; and the containers run through.
fn of_containers() -> Vec<CheckedGate> {
    let untouched = equals_zero("nothing else on the engine was touched", "engine.foreign_changes");
    let gates = [
        ("no container ended by itself", "target.unexpected_exits", "a container that ends by itself is not a server"),
        (
            "no container was restarted",
            "engine.restarts",
            "a container that the engine has to start again is not a server",
        ),
        (
            "no container ran out of memory",
            "engine.oom_kills",
            "the kernel had to kill what the cap on memory did not hold",
        ),
    ];
    let gate = |(name, metric, because): (&str, &str, &str)| CheckedGate {
        because: Some(because.to_owned()),
        ..equals_zero(name, metric)
    };
    std::iter::once(CheckedGate { proof: true, ..untouched }).chain(gates.into_iter().map(gate)).collect()
}

fn equals_zero(name: &str, metric: &str) -> CheckedGate {
    CheckedGate {
        name: name.to_owned(),
        metric: metric.to_owned(),
        window: Window { phase: None, part: Part::Whole },
        comparison: Comparison::Equals,
        bound: 0.0,
        bound_text: "0".to_owned(),
        unit: Unit::Count,
        miss: Miss::Fail,
        cause: None,
        proof: false,
        requires: None,
        because: None,
    }
}
