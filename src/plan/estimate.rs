//! What a step costs, as far as the plan says: time, messages, rows, disk and memory. Printed by `plan check` before anything starts.
//!
//! Time has two figures. The first takes each stated time whole and a tenth of each limit of a wait; the second takes every limit whole.
//! Sending messages and reading rows count as waits where they have a limit, and as nothing where they have none.

use super::{
    checked::{CellPlan, CheckedProbe, StepEstimate},
    document::Plan,
    fleet::{Each, Fleet},
    load::Load,
    phase::{Fault, Phase},
    probe::Probe,
    quantity::Length,
    target::Target,
    watch::Watch,
    workflow::Workflow,
};

/// The share of a wait's limit that the first figure takes.
const SHARE_OF_LIMIT: f64 = 0.1;

/// The least and the most seconds of something.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Span {
    seconds: f64,
    at_most: f64,
}

impl Span {
    fn stated(length: Length) -> Self {
        let seconds = length.as_secs_f64();
        Self { seconds, at_most: seconds }
    }

    fn limit(length: Length) -> Self {
        let at_most = length.as_secs_f64();
        Self { seconds: SHARE_OF_LIMIT * at_most, at_most }
    }

    fn times(self, factor: f64) -> Self {
        Self { seconds: factor * self.seconds, at_most: factor * self.at_most }
    }
}

impl std::ops::Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { seconds: self.seconds + other.seconds, at_most: self.at_most + other.at_most }
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::default(), std::ops::Add::add)
    }
}

/// Estimates one step.
#[must_use]
pub fn estimate(plan: &Plan, cell: &CellPlan) -> StepEstimate {
    let time = start_of_target(cell) + cell.phases.iter().map(|named| time_of(&named.phase, cell)).sum();
    let readings = readings(cell);
    let messages = readings + published(cell);
    let hints = plan.estimate.as_ref();
    let points = cell.fleet.as_ref().map_or(0, |fleet| fleet.points.0);
    StepEstimate {
        step: cell.step,
        seconds: time.seconds,
        seconds_at_most: time.at_most,
        messages,
        rows: readings,
        disk_bytes: hints.and_then(|hints| hints.bytes_per_row).map(|bytes| readings.saturating_mul(bytes.0)),
        memory_bytes: hints.and_then(|hints| hints.memory_per_point).map(|bytes| points.saturating_mul(bytes.0)),
    }
}

/// Each process is waited for until it is ready.
fn start_of_target(cell: &CellPlan) -> Span {
    match &cell.target {
        Target::Processes(processes) => {
            let ready = processes.services.values().filter_map(|service| service.ready.as_ref());
            ready.map(|ready| Span::limit(ready.within)).sum()
        }
        Target::Compose(compose) => Span::limit(compose.ready_within),
        Target::External(_) => Span::default(),
    }
}

fn time_of(phase: &Phase, cell: &CellPlan) -> Span {
    match phase {
        Phase::Publish(publish) => publish.until.as_ref().map_or(Span::default(), |until| Span::limit(until.within)),
        Phase::Hold(hold) => Span::stated(hold.length),
        Phase::Probe(phase) => phase.probes.iter().filter_map(|name| cell.probes.get(name)).map(time_of_probe).sum(),
        Phase::Workflow(phase) => cell.workflows.get(&phase.run).map_or(Span::default(), time_of_workflow),
        Phase::Fault(fault) => time_of_fault(fault),
        Phase::Drain(drain) => Span::stated(drain.still) + Span::limit(drain.within),
        Phase::Exec(exec) => Span::limit(exec.within),
        Phase::Sql(sql) => sql.moves.as_ref().map_or(Span::default(), |moves| Span::limit(moves.within)),
        Phase::Reconcile(_) => Span::default(),
    }
}

/// Every run takes the budget, if there is one.
fn time_of_probe(probe: &CheckedProbe) -> Span {
    let runs = f64::from(probe.cold + probe.warm);
    let once = match (&probe.budget, &probe.probe) {
        (Some(budget), _) => Span::stated(*budget),
        (None, Probe::Exec(exec)) => Span::limit(exec.within),
        (None, Probe::Http(_) | Probe::Sql(_)) => Span::default(),
    };
    once.times(runs)
}

fn time_of_workflow(workflow: &Workflow) -> Span {
    workflow.step.iter().filter_map(|step| step.until.as_ref()).map(|until| Span::limit(until.within)).sum()
}

fn time_of_fault(fault: &Fault) -> Span {
    let wait = fault.after.as_ref().map_or(Span::default(), |wait| Span {
        seconds: f64::midpoint(wait.at_least.as_secs_f64(), wait.at_most.as_secs_f64()),
        at_most: wait.at_most.as_secs_f64(),
    });
    (wait + Span::stated(fault.down) + Span::limit(fault.ready_within)).times(f64::from(fault.times))
}

/// Readings and canaries: what becomes a row.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, not negative"
)]
fn readings(cell: &CellPlan) -> u64 {
    let points = cell.fleet.as_ref().map_or(0, |fleet| fleet.points.0) as f64;
    let loads = cell.loads.iter().filter_map(|(name, load)| match load {
        Load::MqttPublish(publish) => Some(points * running_s(cell, name) / publish.interval.as_secs_f64()),
        Load::Exec(_) => None,
    });
    let canaries = cell.watches.iter().filter_map(|(name, watch)| match watch.watch {
        Watch::Canary(_) => Some(running_s(cell, name) / watch.every.as_secs_f64()),
        _ => None,
    });
    loads.chain(canaries).filter(|count| count.is_finite()).map(|count| count.round() as u64).sum()
}

/// How long a load or canary runs in a cell: from the `hold` that starts it to the phase that stops it.
fn running_s(cell: &CellPlan, name: &str) -> f64 {
    let names = |list: &[String]| list.iter().any(|listed| listed == name);
    let mut running = false;
    let mut seconds = 0.0;
    for named in &cell.phases {
        match &named.phase {
            Phase::Hold(hold) if names(&hold.start) => running = true,
            Phase::Drain(drain) if names(&drain.stop) => running = false,
            _ => {}
        }
        if running {
            seconds += time_of(&named.phase, cell).seconds;
        }
        if matches!(&named.phase, Phase::Hold(hold) if names(&hold.stop)) {
            running = false;
        }
    }
    seconds
}

/// The messages of `publish` phases.
fn published(cell: &CellPlan) -> u64 {
    let Some(fleet) = &cell.fleet else { return 0 };
    let phases = cell.phases.iter().filter_map(|named| match &named.phase {
        Phase::Publish(publish) => Some(publish),
        _ => None,
    });
    let messages = phases.flat_map(|publish| &publish.messages).filter_map(|name| cell.messages.get(name));
    messages.map(|message| things(fleet, message.each)).sum()
}

/// How many things of a kind a fleet has.
fn things(fleet: &Fleet, each: Each) -> u64 {
    let equips = fleet.points.0.div_ceil(u64::from(fleet.points_per_equip.max(1)));
    match each {
        Each::Fleet => 1,
        Each::Site => equips.div_ceil(u64::from(fleet.equips_per_site.max(1))),
        Each::Equip => equips,
        Each::Point => fleet.points.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::quantity::Count;

    #[test]
    fn things_of_a_fleet_are_rounded_up() {
        let fleet = Fleet { points: Count(1_001), points_per_equip: 10, equips_per_site: 50, labels: Vec::new() };
        let counts = [Each::Fleet, Each::Site, Each::Equip, Each::Point].map(|each| things(&fleet, each));
        assert_eq!(counts, [1, 3, 101, 1_001]);
    }
}
