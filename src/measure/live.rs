//! The live URL's latency before, during and after the cells: whether the live system noticed the experiment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    measured::{Extent, Measured},
    stats::{greatest, median},
};
use crate::{
    plan::gate::Unit,
    record::{
        cell::Record,
        entry::{Entry, Sample},
    },
};

/// The watch of live-safety, and its series with the live URL's latency.
const WATCH: &str = "live_safety";
const SERIES: &str = "latency_s";

/// The latency of a stretch of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The median, with the number of looks as its n.
    pub median_s: Measured,
    /// The longest.
    pub max_s: Measured,
}

/// Before the first cell, during the cells, and after the last one, when the target was stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveLatency {
    /// Before any load: what is usual.
    pub before: Latency,
    /// In the soaks.
    pub during: Latency,
    /// After the target was stopped.
    pub after: Latency,
}

impl Latency {
    fn unmeasured(why: &str) -> Self {
        Self { median_s: Measured::unmeasured(why), max_s: Measured::unmeasured(why) }
    }

    /// Of some looks, at their times.
    fn of(looks: &[(f64, f64)], window: &str, why_not: &str) -> Self {
        let values: Vec<f64> = looks.iter().map(|(_, latency)| *latency).collect();
        let ends = looks.first().zip(looks.last());
        let (Some(median), Some(max), Some((first, last))) = (median(&values), greatest(&values), ends) else {
            return Self::unmeasured(why_not);
        };
        let extent = Extent { window: window.to_owned(), from: first.0, to: last.0 };
        let value = |value| Measured::value(value, Unit::Seconds, values.len() as u64, &extent);
        Self { median_s: value(median), max_s: value(max) }
    }
}

impl Default for LiveLatency {
    fn default() -> Self {
        let none = || Latency::unmeasured("the result does not say");
        Self { before: none(), during: none(), after: none() }
    }
}

/// The live URL's latency in a record.
#[must_use]
pub fn latency(record: &Record) -> LiveLatency {
    let around = |wanted: &dyn Fn(f64) -> bool| -> Vec<&Sample> {
        let samples = record.around.iter().filter_map(|entry| match entry {
            Entry::Sample(sample) if sample.watch == WATCH && wanted(sample.at) => Some(sample),
            _ => None,
        });
        samples.collect()
    };
    let first = record.cells.first().map_or(f64::INFINITY, |cell| cell.started.at);
    let last = record.cells.last().map_or(f64::INFINITY, |cell| cell.until);
    let in_cells = record.cells.iter().flat_map(|cell| &cell.samples).filter(|sample| sample.watch == WATCH);
    let stretch = |samples: Vec<&Sample>, window: &str| {
        let why = why_not(record, &samples);
        let looks = samples.iter().filter_map(|sample| Some((sample.at, *sample.values.get(SERIES)?)));
        Latency::of(&looks.collect::<Vec<_>>(), window, &why)
    };
    LiveLatency {
        before: stretch(around(&|at| at <= first), "before"),
        during: stretch(in_cells.collect(), "cells"),
        after: stretch(around(&|at| at > first && at >= last), "after"),
    }
}

/// Why no latency is known of a stretch.
fn why_not(record: &Record, samples: &[&Sample]) -> String {
    if !record.started.live_check {
        return "--no-live-check: the live URL was not asked".to_owned();
    }
    match samples.iter().find_map(|sample| sample.gaps.get(SERIES)) {
        Some(gap) => gap.clone(),
        None if samples.is_empty() => "the live system was not looked at".to_owned(),
        None => "the plan names no live URL".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::record::{fixture, fold::fold};

    fn look(at: f64, latency: Result<f64, &str>) -> Entry {
        let mut sample = Sample {
            at,
            watch: WATCH.into(),
            values: IndexMap::from([("load_per_cpu".into(), 0.5)]),
            gaps: IndexMap::new(),
        };
        match latency {
            Ok(latency) => drop(sample.values.insert(SERIES.into(), latency)),
            Err(why) => drop(sample.gaps.insert(SERIES.into(), why.into())),
        }
        Entry::Sample(sample)
    }

    /// The made-up run with looks before, in and after its cells.
    fn looked_at() -> Record {
        let mut record = fold(fixture::run()).unwrap();
        record.around.extend([look(0.1, Ok(0.1)), look(0.2, Ok(0.3)), look(0.3, Ok(0.2)), look(100.0, Ok(0.25))]);
        for (cell, latency) in record.cells.iter_mut().zip([0.2, 0.4, 0.9]) {
            cell.push(look(cell.started.at + 1.0, Ok(latency))).unwrap();
        }
        record
    }

    fn said(measured: &Measured) -> Option<(f64, u64)> {
        measured.figure().map(|figure| (figure.value(), figure.n))
    }

    #[test]
    fn before_during_and_after_are_told_apart() {
        let LiveLatency { before, during, after } = latency(&looked_at());
        assert_eq!((said(&before.median_s), said(&before.max_s)), (Some((0.2, 3)), Some((0.3, 3))));
        assert_eq!((said(&during.median_s), said(&during.max_s)), (Some((0.4, 3)), Some((0.9, 3))));
        assert_eq!((said(&after.median_s), said(&after.max_s)), (Some((0.25, 1)), Some((0.25, 1))));
    }

    #[test]
    fn what_was_not_seen_says_why() {
        let why = |record: &Record| match latency(record).after.max_s {
            Measured::Unmeasured { why } => why,
            Measured::Value(figure) => panic!("{figure:?}"),
        };
        let mut record = fold(fixture::run()).unwrap();
        assert_eq!(why(&record), "the live system was not looked at");
        record.around.push(look(100.0, Err("refused")));
        assert_eq!(why(&record), "refused");
        record.started.live_check = false;
        assert_eq!(why(&record), "--no-live-check: the live URL was not asked");
    }
}
