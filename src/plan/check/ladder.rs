//! The ladder: steps that rise, and a gate that tells a short generator from a full system.

use super::Scene;
use crate::{
    plan::{gate::Miss, load::Load, phase::Phase},
    problem::Problem,
};

pub(super) fn check(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let Some(ladder) = &scene.plan.ladder else { return };
    rising(scene, problems);
    generator_gate(scene, problems);
    if ladder.variable.is_empty() || !ladder.variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        let problem = Problem::error(format!("`{}` cannot be a step's name", ladder.variable));
        problems
            .push(problem.at(scene.place("/ladder/variable"), "letters, digits and `_`, for use in `{{ step.NAME }}`"));
    }
    if let Some(refine) = &ladder.refine
        && (refine.until.0 <= 0.0 || refine.until.0 >= 1.0)
    {
        let problem = Problem::error(format!("a search until {} never ends or never begins", refine.until));
        problems.push(problem.at(scene.place("/ladder/refine/until"), "expected more than 0% and less than 100%"));
    }
}

fn rising(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let Some(ladder) = &scene.plan.ladder else { return };
    let first = ladder.small_host.iter().flat_map(|small| &small.first).enumerate();
    let first = first.map(|(index, count)| (format!("/ladder/small_host/first/{index}"), count));
    let steps = ladder.steps.iter().enumerate().map(|(index, count)| (format!("/ladder/steps/{index}"), count));
    let mut last = 0;
    for (pointer, count) in first.chain(steps) {
        if count.0 <= last {
            let title = if last == 0 { "a step of 0".to_owned() } else { format!("the step {count} does not rise") };
            let label = format!("must be more than {last}, the step before it");
            problems.push(Problem::error(title).at(scene.place(&pointer), label));
        }
        last = count.0;
    }
}

/// Without such a gate a saturated generator would be published as the system's ceiling.
fn generator_gate(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    for (name, load) in &scene.cell.loads {
        let started = scene.cell_phases().any(|at| matches!(&at.phase, Phase::Hold(hold) if hold.start.contains(name)));
        let metric = format!("{name}.offered_ratio");
        let guarded = scene.cell.gates.iter().any(|gate| gate.metric == metric && gate.miss == Miss::Inconclusive);
        if matches!(load, Load::MqttPublish(_)) && started && !guarded {
            let problem = Problem::error("the ladder cannot tell a short generator from a full system");
            let label = format!("no gate on `{metric}` with `miss = \"inconclusive\"`");
            let help = format!(
                "add [[gate]] metric = \"{metric}\", at_least = \"99%\", miss = \"inconclusive\", cause = \"generator\""
            );
            problems.push(problem.at(scene.key("/ladder"), label).help(help));
        }
    }
}
