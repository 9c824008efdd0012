//! Lengths of time that make sense.

use super::{PhaseAt, Scene};
use crate::{
    plan::{load::Load, phase::Phase, quantity::Length, tree::join, watch::Watch},
    problem::Problem,
};

/// A window shorter than this many sampling periods of a watch says little of its series.
const PERIODS: f64 = 3.0;

pub(super) fn check(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    for (pointer, length) in lengths(scene) {
        if length.0.is_zero() {
            let name = pointer.rsplit('/').next().unwrap_or_default();
            let problem =
                Problem::error(format!("`{name}` is zero")).at(scene.place(&pointer), "must be longer than 0");
            problems.push(problem);
        }
    }
    for at in scene.cell_phases() {
        short_hold(scene, at, problems);
    }
    for (name, watch) in &scene.cell.watches {
        if let Watch::Canary(canary) = &watch.watch
            && canary.poll > canary.lost_after
        {
            let place = scene.place(&format!("{}/canary/poll", join("/watches", name)));
            let label = format!("a reading is lost after {}, before the store is asked twice", canary.lost_after);
            problems.push(Problem::error("a canary that cannot be seen").at(place, label));
        }
    }
}

/// Every length that may not be zero.
fn lengths(scene: &Scene<'_>) -> Vec<(String, Length)> {
    let cell = scene.cell;
    let mut lengths = Vec::new();
    for (name, load) in &cell.loads {
        if let Load::MqttPublish(publish) = load {
            let at = format!("{}/mqtt_publish", join("/loads", name));
            lengths.push((format!("{at}/interval"), publish.interval));
            lengths.push((format!("{at}/ack_timeout"), publish.ack_timeout));
        }
    }
    for (name, watch) in &cell.watches {
        let at = join("/watches", name);
        lengths.push((format!("{at}/every"), watch.every));
        if let Watch::Canary(canary) = &watch.watch {
            lengths.push((format!("{at}/canary/poll"), canary.poll));
            lengths.push((format!("{at}/canary/lost_after"), canary.lost_after));
        }
    }
    for at in &scene.phases {
        match &at.phase {
            Phase::Hold(hold) => lengths.push((format!("{}/hold/for", at.pointer), hold.length)),
            Phase::Drain(drain) => lengths.push((format!("{}/drain/within", at.pointer), drain.within)),
            Phase::Exec(exec) => lengths.push((format!("{}/exec/within", at.pointer), exec.within)),
            Phase::Publish(publish) => {
                if let Some(until) = &publish.until {
                    lengths.push((format!("{}/publish/until/within", at.pointer), until.within));
                    lengths.push((format!("{}/publish/until/poll", at.pointer), until.poll));
                }
            }
            _ => {}
        }
    }
    if let Some(safety) = &cell.live_safety {
        lengths.push(("/live_safety/every".to_owned(), safety.every));
    }
    lengths
}

fn short_hold(scene: &Scene<'_>, at: &PhaseAt<'_>, problems: &mut Vec<Problem>) {
    let Phase::Hold(hold) = &at.phase else { return };
    let slowest = scene.cell.watches.iter().max_by_key(|(_, watch)| watch.every.0);
    let Some((name, watch)) = slowest.filter(|_| hold.measure && !hold.length.0.is_zero()) else { return };
    if hold.length.as_secs_f64() < PERIODS * watch.every.as_secs_f64() {
        let label = format!("`{name}` is sampled every {}: fewer than {PERIODS} samples", watch.every);
        let problem = Problem::warning(format!("the window `{}` is too short for `{name}`", at.name));
        problems.push(problem.at(scene.place(&format!("{}/hold/for", at.pointer)), label));
    }
}
