//! What a plan's metrics can be taken of, and what a metric's full name means in this plan.

use indexmap::IndexMap;

use super::{
    checked::{CellPlan, CheckedWatch},
    gate::Unit,
    load::Load,
    metric::{AGGREGATES, CONTAINER_SERIES, HOST_SERIES, METRICS, PROCESS_SERIES, SubjectKind},
    phase::Phase,
    target::Target,
    watch::Watch,
};

/// A thing that metrics are taken of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Which metrics there are.
    pub kind: SubjectKind,
    /// Its series with their units, for a watch.
    pub series: IndexMap<String, Unit>,
}

/// What a metric's full name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedMetric {
    /// What it is taken of.
    pub kind: SubjectKind,
    /// Its unit.
    pub unit: Unit,
    /// Whether it can be taken over a window.
    pub windowed: bool,
}

/// Why a name is no metric of this plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMetric {
    /// The reason.
    pub reason: String,
    /// Full names that would be metrics.
    pub known: Vec<String>,
}

/// The subjects of a cell by name: its loads, watches, probes and phases, the target, and live-safety.
#[must_use]
pub fn subjects(cell: &CellPlan) -> IndexMap<String, Subject> {
    let plain = |kind| Subject { kind, series: IndexMap::new() };
    let mut subjects = IndexMap::new();
    for (name, load) in &cell.loads {
        let kind = match load {
            Load::MqttPublish(_) => SubjectKind::MqttPublish,
            Load::Exec(_) => SubjectKind::ExecLoad,
        };
        subjects.insert(name.clone(), plain(kind));
    }
    for (name, watch) in &cell.watches {
        let subject = match series(watch, &cell.target) {
            Some(series) => Subject { kind: SubjectKind::Series, series },
            None => plain(SubjectKind::Canary),
        };
        subjects.insert(name.clone(), subject);
    }
    subjects.extend(cell.probes.keys().map(|name| (name.clone(), plain(SubjectKind::Probe))));
    for named in &cell.phases {
        if let Some(kind) = phase_kind(&named.phase) {
            subjects.insert(named.name.clone(), plain(kind));
        }
    }
    if !matches!(cell.target, Target::External(_)) {
        subjects.insert("target".to_owned(), plain(SubjectKind::Target));
    }
    if let Target::Compose(_) = cell.target {
        subjects.insert("engine".to_owned(), plain(SubjectKind::Engine));
    }
    if cell.live_safety.is_some() {
        subjects.insert("live_safety".to_owned(), plain(SubjectKind::LiveSafety));
    }
    if cell.durability.is_some() {
        subjects.insert("durability".to_owned(), plain(SubjectKind::Durability));
    }
    if cell.growth.is_some() {
        subjects.insert("growth".to_owned(), plain(SubjectKind::Growth));
    }
    subjects
}

/// What a metric's full name means among these subjects.
///
/// # Errors
/// When there is no such subject, or it has no such metric.
pub fn resolve_metric(subjects: &IndexMap<String, Subject>, name: &str) -> Result<ResolvedMetric, UnknownMetric> {
    let known = || subjects.iter().flat_map(|(name, subject)| names(name, subject)).collect();
    let Some((subject_name, rest)) = name.split_once('.') else {
        return Err(UnknownMetric { reason: "a metric is `SUBJECT.NAME`".to_owned(), known: known() });
    };
    let Some(subject) = subjects.get(subject_name) else {
        return Err(UnknownMetric {
            reason: format!("nothing called `{subject_name}` is measured by this plan"),
            known: known(),
        });
    };
    let found =
        if subject.kind == SubjectKind::Series { series_metric(subject, rest) } else { spec_metric(subject, rest) };
    found.ok_or_else(|| UnknownMetric {
        reason: format!("`{subject_name}` has no metric `{rest}`"),
        known: names(subject_name, subject),
    })
}

/// The unit of an aggregate of a series.
#[must_use]
pub fn aggregate_unit(series: Unit, aggregate: &str) -> Unit {
    match (aggregate, series) {
        ("slope_per_min", Unit::Bytes) => Unit::BytesPerMinute,
        ("slope_per_min", _) | ("per_s", Unit::Bytes) => Unit::Number,
        ("per_s", Unit::Count | Unit::Number) => Unit::PerSecond,
        (_, unit) => unit,
    }
}

fn spec_metric(subject: &Subject, name: &str) -> Option<ResolvedMetric> {
    let spec = METRICS.iter().find(|spec| spec.subject == subject.kind && spec.name == name)?;
    Some(ResolvedMetric { kind: subject.kind, unit: spec.unit, windowed: spec.windowed })
}

fn series_metric(subject: &Subject, name: &str) -> Option<ResolvedMetric> {
    let (series, aggregate) = name.rsplit_once('.')?;
    let unit = *subject.series.get(series)?;
    AGGREGATES.iter().find(|known| known.name == aggregate)?;
    Some(ResolvedMetric { kind: subject.kind, unit: aggregate_unit(unit, aggregate), windowed: true })
}

/// The full names of a subject's metrics.
fn names(name: &str, subject: &Subject) -> Vec<String> {
    let specs = METRICS.iter().filter(|spec| spec.subject == subject.kind).map(|spec| format!("{name}.{}", spec.name));
    let of_series = subject
        .series
        .keys()
        .flat_map(|series| AGGREGATES.iter().map(move |aggregate| format!("{name}.{series}.{}", aggregate.name)));
    specs.chain(of_series).collect()
}

/// The series of a watch with their units; none for a canary.
fn series(watch: &CheckedWatch, target: &Target) -> Option<IndexMap<String, Unit>> {
    let numbers = |names: &mut dyn Iterator<Item = &String>| names.map(|name| (name.clone(), Unit::Number)).collect();
    Some(match &watch.watch {
        Watch::Process(process) => service_series(&process.services, target, PROCESS_SERIES),
        Watch::Containers(containers) => service_series(&containers.services, target, CONTAINER_SERIES),
        Watch::Host(_) => HOST_SERIES.iter().map(|(name, unit)| ((*name).to_owned(), *unit)).collect(),
        Watch::Sql(sql) => numbers(&mut sql.series.iter().chain(&sql.seconds)),
        Watch::HttpJson(json) => numbers(&mut json.series.keys().chain(&json.seconds)),
        Watch::Prometheus(prometheus) => numbers(&mut prometheus.series.keys()),
        Watch::MqttSys(sys) => numbers(&mut sys.series.keys()),
        Watch::Exec(exec) => numbers(&mut exec.series.iter()),
        Watch::Canary(_) => return None,
    })
}

fn service_series(named: &[String], target: &Target, series: &[(&str, Unit)]) -> IndexMap<String, Unit> {
    let all = match target {
        Target::Processes(processes) => processes.lasting().map(String::as_str).collect(),
        containers => containers.services(),
    };
    let services = if named.is_empty() { all } else { named.iter().map(String::as_str).collect() };
    services
        .into_iter()
        .flat_map(|service| series.iter().map(move |(series, unit)| (format!("{service}.{series}"), *unit)))
        .collect()
}

/// The subject kind of a phase; none for phases that are only windows.
fn phase_kind(phase: &Phase) -> Option<SubjectKind> {
    Some(match phase {
        Phase::Publish(_) => SubjectKind::Publish,
        Phase::Workflow(_) => SubjectKind::Workflow,
        Phase::Fault(_) => SubjectKind::Fault,
        Phase::Drain(_) => SubjectKind::Drain,
        Phase::Reconcile(_) => SubjectKind::Reconcile,
        Phase::Exec(_) | Phase::Sql(_) => SubjectKind::Ran,
        Phase::Hold(_) | Phase::Probe(_) => return None,
    })
}
