//! Warnings about figures that will not bear what is asked of them: too few canaries, too coarse a poll, a rate out of reach.

use super::Scene;
use crate::{
    plan::{
        checked::{CheckedGate, Part},
        gate::{Comparison, Unit},
        load::{Load, MqttPublish},
        phase::Phase,
        quantity::Length,
        tree::join,
        watch::{Canary, Watch},
    },
    problem::Problem,
};

/// The round trip that a rate is checked against: more than loopback and a local network take, less than a loaded broker does.
const ROUND_TRIP_S: f64 = 0.010;

/// A canary is polled at most this share of the smallest bar on its lag.
const SHARE_OF_BAR: f64 = 0.1;

/// The least n for an upper bound on a quantile q at 95 % confidence: `ln 0.05 / ln q` (the chance that all n lie below it is q^n).
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
fn least_n(quantile: f64) -> u64 {
    (0.05_f64.ln() / quantile.ln()).ceil() as u64
}

pub(super) fn check(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    for (name, watch) in &scene.cell.watches {
        if let Watch::Canary(canary) = &watch.watch {
            few_canaries(scene, name, watch.every, problems);
            coarse_poll(scene, name, canary, problems);
        }
    }
    let measured = scene.cell_phases().any(|at| matches!(&at.phase, Phase::Hold(hold) if hold.measure));
    if scene.cell.live_safety.is_some() && !measured {
        let problem = Problem::warning("live-safety watches nothing")
            .at(scene.key("/live_safety"), "it is watched in measured holds");
        problems.push(problem.help("set `measure = true` in a `hold`"));
    }
    for (name, load) in &scene.cell.loads {
        if let Load::MqttPublish(publish) = load {
            problems.extend(out_of_reach(scene, name, publish));
        }
    }
}

fn few_canaries(scene: &Scene<'_>, name: &str, every: Length, problems: &mut Vec<Problem>) {
    for (metric, quantile) in [("p95_s", 0.95), ("p99_s", 0.99)] {
        let full_name = format!("{name}.{metric}");
        for gate in scene.cell.gates.iter().filter(|gate| gate.metric == full_name) {
            let (Some(seconds), Some(pointer)) = (window_s(scene, gate), pointer(scene, gate)) else { continue };
            let n = seconds / every.as_secs_f64();
            let needed = least_n(quantile);
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            if n.floor() < needed as f64 {
                let label = format!(
                    "about {n:.0} readings in {seconds:.0} s; {needed} are needed to bound it with 95% confidence"
                );
                let problem = Problem::warning(format!("too few canaries for `{full_name}`"));
                let help = format!(
                    "send them more often than every {every}, or hold longer; else only the longest of n is reported"
                );
                problems.push(problem.at(scene.place(&pointer), label).help(help));
            }
        }
    }
}

/// The seconds of a gate's window, when they are known beforehand.
fn window_s(scene: &Scene<'_>, gate: &CheckedGate) -> Option<f64> {
    let holds = scene.cell_phases().filter_map(|at| match &at.phase {
        Phase::Hold(hold) => Some((at.name, hold)),
        _ => None,
    });
    let seconds: f64 = match &gate.window.phase {
        Some(phase) => holds.filter(|(name, _)| name == phase).map(|(_, hold)| hold.length.as_secs_f64()).sum(),
        None => holds.filter(|(_, hold)| hold.measure).map(|(_, hold)| hold.length.as_secs_f64()).sum(),
    };
    let share = match gate.window.part {
        Part::Whole => 1.0,
        Part::FirstHalf | Part::LastHalf => 0.5,
        Part::FirstThird | Part::MiddleThird | Part::LastThird => 1.0 / 3.0,
    };
    (seconds > 0.0).then_some(seconds * share)
}

/// Where the gate's metric was written; none for a gate that follows from something else.
fn pointer(scene: &Scene<'_>, gate: &CheckedGate) -> Option<String> {
    let index = scene.plan.gate.iter().position(|written| written.metric == gate.metric)?;
    Some(format!("/gate/{index}/metric"))
}

fn coarse_poll(scene: &Scene<'_>, name: &str, canary: &Canary, problems: &mut Vec<Problem>) {
    let prefix = format!("{name}.");
    let bars = scene.cell.gates.iter().filter(|gate| gate.metric.starts_with(&prefix) && gate.unit == Unit::Seconds);
    let bars = bars.filter(|gate| matches!(gate.comparison, Comparison::AtMost | Comparison::Below));
    let Some(bar) = bars.min_by(|a, b| a.bound.total_cmp(&b.bound)) else { return };
    if canary.poll.as_secs_f64() > SHARE_OF_BAR * bar.bound {
        let label = format!("more than a tenth of the bar on `{}`, {}", bar.metric, bar.bound_text);
        let problem = Problem::warning(format!("`{name}` is polled too seldom for its bar"));
        let problem = problem.at(scene.place(&format!("{}/canary/poll", join("/watches", name))), label);
        problems.push(problem.help(format!("poll every {:.0}ms or more often", 1e3 * SHARE_OF_BAR * bar.bound)));
    }
}

/// `connections × inflight / round trip` bounds the rate (Little's law).
fn out_of_reach(scene: &Scene<'_>, name: &str, publish: &MqttPublish) -> Option<Problem> {
    let points = scene.cell.fleet.as_ref()?.points.0;
    #[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
    let rate = points as f64 / publish.interval.as_secs_f64();
    let window = f64::from(publish.connections) * f64::from(publish.inflight);
    if publish.qos == 0 || !rate.is_finite() || rate <= window / ROUND_TRIP_S {
        return None;
    }
    let title = format!("`{name}` may not reach its rate of {rate:.0}/s");
    let label = format!(
        "{} × {} waiting publishes allow {:.0}/s at a round trip of 10 ms",
        publish.connections,
        publish.inflight,
        window / ROUND_TRIP_S
    );
    let at = format!("{}/mqtt_publish", join("/loads", name));
    let place = scene.place(&format!("{at}/inflight"));
    Some(Problem::warning(title).at(place, label).help("raise `connections` or `inflight`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_n_is_that_of_the_literature() {
        assert_eq!((least_n(0.95), least_n(0.99)), (59, 299));
    }
}
