//! The columns that a cell of the ladder is shown in: one table for the screen at the end, for Markdown, and for comparing runs. A plan may
//! say under which name its readers know a metric (`[known_as]`).

use indexmap::IndexMap;

use super::number;
use crate::{
    judge::{
        result::{CellResult, RunResult},
        verdict::GateOutcome,
    },
    measure::measured::{Measured, in_words},
    record::entry::Subject,
};

/// A figure of a cell: its heading and its metric.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    heading: String,
    metric: String,
}

/// The figures that matter at a glance, in their order, for all cells of some results. Results of different plans share the columns
/// that they have in common and leave the others empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns(Vec<Column>);

impl Columns {
    /// The columns of these results.
    pub(super) fn of(results: &[&RunResult]) -> Self {
        let mut subjects = IndexMap::<&str, &Subject>::new();
        let cells = || results.iter().flat_map(|result| &result.cells);
        for cell in cells() {
            subjects.extend(cell.subjects.iter().map(|(name, subject)| (name.as_str(), subject)));
        }
        let named = |wanted: &dyn Fn(&Subject) -> bool| -> Vec<&str> {
            subjects.iter().filter(|(_, subject)| wanted(subject)).map(|(name, _)| *name).collect()
        };
        let kind_is = |subject: &Subject, wanted: &str| matches!(subject, Subject::Phase { kind } if kind == wanted);
        let loads = named(&|subject| matches!(subject, Subject::MqttPublish { .. }));
        let stores = named(&|subject| kind_is(subject, "reconcile"));
        let workflows = named(&|subject| kind_is(subject, "workflow"));
        let canaries = named(&|subject| matches!(subject, Subject::Canary { .. }));
        let probes = named(&|subject| matches!(subject, Subject::Probe { .. }));
        let mut columns = Self(Vec::new());
        columns.extend(&loads, "Offered/s", "offered_per_s");
        if loads.len() > 1 {
            // A load that runs in no measured window, such as one that a kill is made under, has no pace to show.
            let measured = |column: &Column| cells().any(|cell| cell.metrics.get(&column.metric).is_some_and(is_value));
            columns.0.retain(measured);
        }
        if let [first, _, ..] = stores[..] {
            columns.extend(&stores, "missing", "missing");
            columns.extend(&[first], "Stored/s", "stored_per_s");
            columns.extend(&[first], "Stored/s per CPU", "stored_per_s_per_cpu");
        } else {
            columns.extend(&stores, "Stored/s", "stored_per_s");
            columns.extend(&stores, "Stored/s per CPU", "stored_per_s_per_cpu");
        }
        columns.extend(&canaries, "p95 lag", "p95_s");
        let known = |name: &str, metric: &str| {
            let metric = format!("{name}.{metric}");
            Column { heading: known_as(results, &metric).unwrap_or(name).to_owned(), metric }
        };
        columns.0.extend(probes.iter().map(|probe| known(probe, "warm_median_s")));
        columns.0.extend(workflows.iter().map(|workflow| known(workflow, "seconds")));
        columns
    }

    /// The same with a column for each of these metrics as well.
    pub(super) fn with(mut self, results: &[&RunResult], metrics: &[String]) -> Self {
        let column = |metric: &String| Column {
            heading: known_as(results, metric).unwrap_or(metric).to_owned(),
            metric: metric.clone(),
        };
        self.0.extend(metrics.iter().map(column));
        self
    }

    /// The columns whose metrics, without their subjects, are not among these.
    pub(super) fn without(mut self, metrics: &[&str]) -> Self {
        self.0.retain(|column| column.metric.rsplit_once('.').is_none_or(|(_, metric)| !metrics.contains(&metric)));
        self
    }

    /// One column for each subject; its name is in the heading only when there are several.
    fn extend(&mut self, subjects: &[&str], heading: &str, metric: &str) {
        for subject in subjects {
            let heading = if subjects.len() == 1 { heading.to_owned() } else { format!("{subject} {heading}") };
            self.0.push(Column { heading, metric: format!("{subject}.{metric}") });
        }
    }

    /// The headings.
    pub(super) fn headings(&self) -> Vec<String> {
        self.0.iter().map(|column| column.heading.clone()).collect()
    }

    /// The figures of a cell.
    pub(super) fn figures(&self, cell: &CellResult) -> Vec<String> {
        self.0.iter().map(|column| number::cell(cell.metrics.get(&column.metric))).collect()
    }
}

fn is_value(measured: &Measured) -> bool {
    matches!(measured, Measured::Value(_))
}

/// The name under which readers know a metric, if a plan says one.
fn known_as<'a>(results: &[&'a RunResult], metric: &str) -> Option<&'a str> {
    results.iter().find_map(|result| result.plan.known_as.get(metric)).map(String::as_str)
}

/// The name of a step in a table: its number, and which of its runs it is when it was run again.
pub(super) fn step(cell: &CellResult) -> String {
    let step = cell.step.map_or_else(|| cell.name.clone(), |step| step.to_string());
    if cell.repeat > 1 { format!("{step} ({})", cell.repeat) } else { step }
}

/// What decided a cell first, in short: the gate with its value and bar, or the cause.
pub(super) fn first_failure(cell: &CellResult) -> String {
    let first = cell.verdict.decided_by.first();
    match first.and_then(|name| cell.gates.iter().find(|gate| gate.name == *name)) {
        Some(gate) => missed_bar(gate),
        None => cell.verdict.cause.clone().unwrap_or_default(),
    }
}

/// `lag.p95_s 7.31 s, not < 5s`.
fn missed_bar(gate: &GateOutcome) -> String {
    let bar = format!("{} {}", gate.comparison.sign(), gate.bound_text);
    match gate.value {
        Some(value) => format!("{} {}, not {bar}", gate.metric, in_words(value, gate.unit)),
        None => format!("{} unmeasured", gate.metric),
    }
}
