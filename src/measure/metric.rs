//! From a metric's full name to its value: finds the subject, looks the metric up in the vocabulary of
//! [`crate::plan::metric`], and asks who computes it.

use indexmap::IndexMap;

use super::{
    asked::Asked, durability, growth, lag, measured::Measured, outages, pace, phases, probes, reconcile, scope, series,
    stats::count,
};
use crate::{
    plan::{
        checked::{Part, Window},
        gate::Unit,
        metric::{AGGREGATES, METRICS, MetricSpec, SubjectKind},
    },
    record::{
        cell::{CellRecord, WindowSpan},
        entry::{Event, EventKind, RunStarted, Subject},
    },
};

/// The value of a metric in a cell over a window, or why there is none.
///
/// Probes, exits and trips are not confined to measured phases: for them a window without a phase is the whole cell.
#[must_use]
pub fn measure(run: &RunStarted, cell: &CellRecord, metric: &str, window: &Window) -> Measured {
    let Some((name, subject)) = subject_of(cell, metric) else {
        return Measured::unmeasured(format!("nothing in this cell is measured as `{metric}`"));
    };
    let rest = &metric[name.len() + 1..];
    let asked = Asked { run, cell, subject: name, name: rest, unit: Unit::Number, window };
    if let Subject::Series { names, every_ms, .. } = subject {
        return series::measure(&asked, names, *every_ms);
    }
    match kind_of(subject).and_then(|kind| spec(kind, rest)) {
        None => asked.unknown(),
        Some(spec) => dispatch(&Asked { unit: spec.unit, ..asked }, subject, spec.subject),
    }
}

/// Every metric of every subject over its default window, and the gates' metrics over theirs, as `METRIC@WINDOW`.
#[must_use]
pub fn all(run: &RunStarted, cell: &CellRecord) -> IndexMap<String, Measured> {
    let whole = Window { phase: None, part: Part::Whole };
    let mut all = IndexMap::new();
    for (subject, what) in &cell.started.subjects {
        for name in names(what) {
            let metric = format!("{subject}.{name}");
            all.insert(metric.clone(), measure(run, cell, &metric, &whole));
        }
    }
    for gate in &cell.started.gates {
        let name = name_over(&gate.metric, &gate.window);
        all.entry(name).or_insert_with(|| measure(run, cell, &gate.metric, &gate.window));
    }
    all
}

/// The name of a metric over a window: `lag.p95_s` over the default one, `lag.p95_s@soak/last_half` over another.
#[must_use]
pub fn name_over(metric: &str, window: &Window) -> String {
    match (&window.phase, scope::part_name(window.part)) {
        (None, None) => metric.to_owned(),
        (None, Some(part)) => format!("{metric}@/{part}"),
        (Some(phase), None) => format!("{metric}@{phase}"),
        (Some(phase), Some(part)) => format!("{metric}@{phase}/{part}"),
    }
}

/// A window of a cell in words: `soak`, `soak/last_half`, `soak + burst` for several measured phases, `cell`.
#[must_use]
pub fn window_in_words(cell: &CellRecord, window: &Window) -> String {
    scope::words(cell, window)
}

/// Whether the time that a metric looks at was reached: its phase for metrics of phases, its first run for probes, its window for
/// all others.
#[must_use]
pub fn was_run(cell: &CellRecord, metric: &str, window: &Window) -> bool {
    match subject_of(cell, metric) {
        Some((name, Subject::Phase { .. })) => cell.windows.iter().any(|span| span.name == name),
        Some((name, Subject::Probe { .. })) => cell.probe_runs.iter().any(|run| run.probe == name),
        _ => scope::Scope::of(cell, window).is_ok(),
    }
}

/// Whether the time that a metric looks at is over, so that its figure will not change in this cell any more: for metrics of phases when
/// the phase has ended, for probes when no phase goes on, for all others when their window has ended.
#[must_use]
pub fn is_over(cell: &CellRecord, metric: &str, window: &Window) -> bool {
    let all_closed = |phase: &dyn Fn(&WindowSpan) -> bool| {
        let mut spans = cell.windows.iter().filter(|span| phase(span)).peekable();
        spans.peek().is_some() && spans.all(|span| span.closed)
    };
    match (subject_of(cell, metric), &window.phase) {
        _ if cell.finished.is_some() => true,
        (Some((name, Subject::Phase { .. })), _) => all_closed(&|span| span.name == name),
        (Some((_, Subject::Probe { .. })), _) => cell.open_window().is_none(),
        (_, Some(phase)) => all_closed(&|span| span.name == *phase),
        (_, None) => all_closed(&|span| span.measured),
    }
}

/// The subject of a metric: the longest name in the cell that the metric begins with.
#[must_use]
pub fn subject_of<'a>(cell: &'a CellRecord, metric: &str) -> Option<(&'a str, &'a Subject)> {
    let named = cell
        .started
        .subjects
        .iter()
        .filter(|(name, _)| metric.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.')));
    named.max_by_key(|(name, _)| name.len()).map(|(name, subject)| (name.as_str(), subject))
}

/// The names of the metrics that a subject has.
fn names(subject: &Subject) -> Vec<String> {
    if let Subject::Series { names, .. } = subject {
        let aggregates =
            |series: &String| AGGREGATES.iter().map(|aggregate| format!("{series}.{}", aggregate.name)).collect();
        return names.iter().flat_map(|series| -> Vec<String> { aggregates(series) }).collect();
    }
    let kind = kind_of(subject);
    METRICS.iter().filter(|spec| Some(spec.subject) == kind).map(|spec| spec.name.to_owned()).collect()
}

/// What the vocabulary calls a subject; none for phases without metrics.
fn kind_of(subject: &Subject) -> Option<SubjectKind> {
    Some(match subject {
        Subject::MqttPublish { .. } => SubjectKind::MqttPublish,
        Subject::ExecLoad => SubjectKind::ExecLoad,
        Subject::Series { .. } => SubjectKind::Series,
        Subject::Canary { .. } => SubjectKind::Canary,
        Subject::Probe { .. } => SubjectKind::Probe,
        Subject::Target => SubjectKind::Target,
        Subject::Engine => SubjectKind::Engine,
        Subject::LiveSafety => SubjectKind::LiveSafety,
        Subject::Durability { .. } => SubjectKind::Durability,
        Subject::Growth { .. } => SubjectKind::Growth,
        Subject::Phase { kind } => match kind.as_str() {
            "publish" => SubjectKind::Publish,
            "workflow" => SubjectKind::Workflow,
            "fault" => SubjectKind::Fault,
            "drain" => SubjectKind::Drain,
            "reconcile" => SubjectKind::Reconcile,
            "exec" | "sql" => SubjectKind::Ran,
            _ => return None,
        },
    })
}

fn spec(kind: SubjectKind, name: &str) -> Option<&'static MetricSpec> {
    METRICS.iter().find(|spec| spec.subject == kind && spec.name == name)
}

fn dispatch(asked: &Asked, subject: &Subject, kind: SubjectKind) -> Measured {
    match (kind, subject) {
        (_, Subject::MqttPublish { nominal_per_s, .. }) => pace::measure(asked, *nominal_per_s),
        (_, Subject::Canary { poll_ms, every_ms }) => lag::measure(asked, *poll_ms, *every_ms),
        (_, Subject::Durability { server, ingest }) => durability::measure(asked, server, ingest),
        (_, Subject::Growth { custody, bytes_per_row, total_bytes }) => {
            growth::measure(asked, custody, bytes_per_row, total_bytes.as_deref())
        }
        (SubjectKind::Probe, _) => probes::measure(asked),
        (SubjectKind::Publish, _) => phases::publish(asked),
        (SubjectKind::Workflow, _) => phases::workflow(asked),
        (SubjectKind::Fault, _) => outages::fault(asked),
        (SubjectKind::Drain, _) => phases::drain(asked),
        (SubjectKind::Reconcile, _) => reconcile::measure(asked),
        (SubjectKind::Ran, _) => phases::ran(asked),
        (SubjectKind::ExecLoad, _) => events(asked, |event| is_exit(event) && event.subject == asked.subject),
        (SubjectKind::Target, _) => events(asked, |event| is_exit(event) && !is_load(asked.cell, &event.subject)),
        (SubjectKind::Engine, _) => engine(asked),
        (SubjectKind::LiveSafety, _) if !cell_was_watched(asked.cell) => {
            Measured::unmeasured("the live system was not looked at in this cell")
        }
        (SubjectKind::LiveSafety, _) => events(asked, |event| event.kind == EventKind::LiveSafety),
        _ => asked.unknown(),
    }
}

fn is_exit(event: &Event) -> bool {
    event.kind == EventKind::UnexpectedExit
}

/// Without a look at the live system there is no trip, and nothing is known of it.
fn cell_was_watched(cell: &CellRecord) -> bool {
    cell.samples.iter().any(|sample| sample.watch == "live_safety")
}

fn is_load(cell: &CellRecord, subject: &str) -> bool {
    matches!(cell.started.subjects.get(subject), Some(Subject::ExecLoad | Subject::MqttPublish { .. }))
}

/// How many events there were. The record has every event of the cell, so that none is a count of 0.
fn events(asked: &Asked, wanted: impl Fn(&Event) -> bool) -> Measured {
    let scope = match asked.scope_of_events() {
        Ok(scope) => scope,
        Err(why) => return Measured::unmeasured(why),
    };
    let all = asked.cell.events.iter().filter(|event| wanted(event));
    let found: Vec<&Event> = all.filter(|event| scope.is_cell || scope.holds(event.at)).collect();
    let measured = Measured::value(count(found.len()), asked.unit, 1, &scope.extent);
    match found.first() {
        Some(first) => measured.note(format!("{}: {}", first.subject, first.detail)),
        None => measured,
    }
}

/// Counts of what the engine told. What it could not tell, or was never asked, is not a count of 0.
fn engine(asked: &Asked) -> Measured {
    let first = |kind: EventKind| asked.cell.events.iter().find(|event| event.kind == kind);
    if let Some(lost) = first(EventKind::EngineLost) {
        return Measured::unmeasured(format!("the engine's events were not all seen: {}", lost.detail));
    }
    match asked.name {
        "oom_kills" => events(asked, |event| event.kind == EventKind::OutOfMemory),
        "restarts" => events(asked, |event| event.kind == EventKind::Restarted),
        "foreign_changes" if first(EventKind::OthersCompared).is_some() => {
            events(asked, |event| event.kind == EventKind::OtherChanged)
        }
        _ => Measured::unmeasured("what else is on the engine was not compared at the end of the cell"),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample_cell::{cell, default_window, in_phase, open_window, push, run, sample, subject},
        *,
    };
    use crate::record::entry::Entry;

    fn event(kind: EventKind, at: f64, subject: &str) -> Entry {
        Entry::Event(Event { at, kind, subject: subject.into(), detail: "exit 1".into() })
    }

    fn exits(cell: &CellRecord, metric: &str, window: &Window) -> f64 {
        measure(&run(), cell, metric, window).figure().unwrap().value()
    }

    #[test]
    fn exits_count_in_the_whole_cell_and_for_whom_they_are() {
        let mut cell = cell();
        subject(&mut cell, "target", Subject::Target);
        subject(&mut cell, "noise", Subject::ExecLoad);
        subject(&mut cell, "live_safety", Subject::LiveSafety);
        open_window(&mut cell, "soak", true, 10.0, 20.0);
        push(&mut cell, event(EventKind::UnexpectedExit, 15.0, "noise"));
        push(&mut cell, event(EventKind::UnexpectedExit, 25.0, "listener"));
        assert_eq!(exits(&cell, "target.unexpected_exits", &default_window()), 1.0, "after the measured phase");
        assert_eq!(exits(&cell, "target.unexpected_exits", &in_phase("soak", Part::Whole)), 0.0);
        assert_eq!(exits(&cell, "noise.unexpected_exits", &default_window()), 1.0);
        let unwatched = measure(&run(), &cell, "live_safety.trips", &default_window());
        assert_eq!(unwatched, Measured::unmeasured("the live system was not looked at in this cell"));
        push(&mut cell, Entry::Sample(sample("live_safety", 15.0, "load_per_cpu", 0.5)));
        assert_eq!(exits(&cell, "live_safety.trips", &default_window()), 0.0);
        push(&mut cell, event(EventKind::LiveSafety, 26.0, "live"));
        assert_eq!(exits(&cell, "live_safety.trips", &default_window()), 1.0);
    }

    #[test]
    fn the_longest_subject_that_fits_is_meant() {
        let mut cell = cell();
        open_window(&mut cell, "soak", true, 10.0, 20.0);
        let names = || vec!["cpu_pct".to_owned()];
        subject(
            &mut cell,
            "a",
            Subject::Series { names: vec!["b.cpu_pct".into()], every_ms: 1000, kind: "sql".into() },
        );
        subject(&mut cell, "a.b", Subject::Series { names: names(), every_ms: 1000, kind: "sql".into() });
        let measured = measure(&run(), &cell, "a.b.cpu_pct.max", &default_window());
        assert_eq!(measured, Measured::unmeasured("the watch gave no sample in the window"));
    }

    #[test]
    fn what_does_not_exist_is_unmeasured() {
        let mut cell = cell();
        subject(&mut cell, "soak", Subject::Phase { kind: "hold".into() });
        for metric in ["nothing.n", "lag", "lag.", "lag.p97_s", "lagging.n", "soak.seconds", "readings.p95_s"] {
            assert_eq!(measure(&run(), &cell, metric, &default_window()).figure(), None, "{metric}");
        }
    }

    #[test]
    fn names_tell_windows_apart() {
        let names = [
            name_over("lag.n", &default_window()),
            name_over("lag.n", &Window { phase: None, part: Part::LastHalf }),
            name_over("lag.n", &in_phase("soak", Part::Whole)),
            name_over("lag.n", &in_phase("soak", Part::FirstThird)),
        ];
        assert_eq!(names, ["lag.n", "lag.n@/last_half", "lag.n@soak", "lag.n@soak/first_third"]);
    }

    #[test]
    fn the_engine_counts_only_what_was_looked_at() {
        let mut cell = cell();
        subject(&mut cell, "engine", Subject::Engine);
        let of = |cell: &CellRecord, name: &str| measure(&run(), cell, &format!("engine.{name}"), &default_window());
        assert!(of(&cell, "foreign_changes").figure().is_none(), "nothing was compared");
        assert_eq!(of(&cell, "oom_kills").figure().map(super::super::measured::Figure::value), Some(0.0));
        push(&mut cell, event(EventKind::OthersCompared, 9.0, "engine"));
        push(&mut cell, event(EventKind::OtherChanged, 9.0, "baler-db"));
        push(&mut cell, event(EventKind::OutOfMemory, 3.0, "postgres"));
        assert_eq!(of(&cell, "foreign_changes").figure().map(super::super::measured::Figure::value), Some(1.0));
        assert_eq!(of(&cell, "oom_kills").figure().map(super::super::measured::Figure::value), Some(1.0));
        push(&mut cell, event(EventKind::EngineLost, 4.0, "engine"));
        assert!(["oom_kills", "restarts", "foreign_changes"].iter().all(|name| of(&cell, name).figure().is_none()));
    }
}
