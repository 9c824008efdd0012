//! The subjects that a cell's metrics can be taken of. Pure; written into the journal so that a record explains itself.

use indexmap::IndexMap;

use crate::{
    plan::{
        checked::{CellPlan, CheckedWatch},
        derived::{Durability, Growth},
        gate::Unit,
        load::Load,
        metric::{CONTAINER_SERIES, HOST_SERIES, PROCESS_SERIES},
        target::Target,
        watch::{Canary, Watch},
    },
    record::entry::Subject,
};

/// Name to subject: loads, watches, probes and phases of the plan, the target and live-safety.
pub(super) fn subjects(plan: &CellPlan) -> IndexMap<String, Subject> {
    let mut subjects = IndexMap::new();
    for (name, load) in &plan.loads {
        subjects.insert(name.clone(), load_subject(plan, load));
    }
    for (name, watch) in &plan.watches {
        subjects.insert(name.clone(), watch_subject(plan, watch));
    }
    for (name, probe) in &plan.probes {
        let budget_ms = probe.budget.map(|budget| millis(budget.0));
        subjects.insert(name.clone(), Subject::Probe { budget_ms, budget_source: probe.budget_source.clone() });
    }
    for phase in &plan.phases {
        subjects.insert(phase.name.clone(), Subject::Phase { kind: phase.phase.key().to_owned() });
    }
    subjects.insert("target".to_owned(), Subject::Target);
    if let Target::Compose(_) = plan.target {
        subjects.insert("engine".to_owned(), Subject::Engine);
    }
    if plan.live_safety.is_some() {
        subjects.insert("live_safety".to_owned(), Subject::LiveSafety);
    }
    if let Some(Durability { server, ingest }) = plan.durability.clone() {
        subjects.insert("durability".to_owned(), Subject::Durability { server, ingest });
    }
    if let Some(Growth { custody, bytes_per_row, total_bytes }) = plan.growth.clone() {
        subjects.insert("growth".to_owned(), Subject::Growth { custody, bytes_per_row, total_bytes });
    }
    subjects
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a rate below 2^53"
)]
fn load_subject(plan: &CellPlan, load: &Load) -> Subject {
    match load {
        Load::Exec(_) => Subject::ExecLoad,
        Load::MqttPublish(publish) => {
            let points = plan.fleet.as_ref().map_or(0, |fleet| fleet.points.0);
            let nominal_per_s = (points as f64 / publish.interval.as_secs_f64()).ceil() as u64;
            let inflight = u64::from(publish.connections) * u64::from(publish.inflight);
            Subject::MqttPublish { nominal_per_s, points, inflight }
        }
    }
}

fn watch_subject(plan: &CellPlan, watch: &CheckedWatch) -> Subject {
    let names = match &watch.watch {
        Watch::Canary(canary) => return canary_subject(watch, canary),
        Watch::Process(process) => service_series(plan, &process.services, PROCESS_SERIES),
        Watch::Containers(containers) => service_series(plan, &containers.services, CONTAINER_SERIES),
        Watch::Host(_) => HOST_SERIES.iter().map(|(name, _)| (*name).to_owned()).collect(),
        Watch::Sql(sql) => sql.series.iter().chain(&sql.seconds).cloned().collect(),
        Watch::HttpJson(http) => http.series.keys().chain(&http.seconds).cloned().collect(),
        Watch::Prometheus(prometheus) => prometheus.series.keys().cloned().collect(),
        Watch::MqttSys(sys) => sys.series.keys().cloned().collect(),
        Watch::Exec(exec) => exec.series.clone(),
    };
    Subject::Series { names, every_ms: millis(watch.every.0), kind: watch.watch.key().to_owned() }
}

fn canary_subject(watch: &CheckedWatch, canary: &Canary) -> Subject {
    Subject::Canary { poll_ms: millis(canary.poll.0), every_ms: millis(watch.every.0) }
}

fn service_series(plan: &CellPlan, named: &[String], series: &[(&str, Unit)]) -> Vec<String> {
    let services = if named.is_empty() { plan.target.services() } else { named.iter().map(String::as_str).collect() };
    services.iter().flat_map(|service| series.iter().map(move |(name, _)| format!("{service}.{name}"))).collect()
}

fn millis(length: std::time::Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
