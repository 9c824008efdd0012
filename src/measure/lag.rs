//! Canary metrics: publish to visible in the store, on one clock.
//!
//! A reading that was never seen counts as longer than any that was: it can make a percentile unmeasured, never shorter.

use std::collections::BTreeSet;

use super::{
    asked::Asked,
    measured::Measured,
    percentile::{Durations, quantile_of},
    scope::Scope,
    stats::{count_u64, median, sorted},
};
use crate::{
    plan::{
        checked::{Part, Window},
        gate::Unit,
    },
    record::entry::CutShort,
};

/// A third of a window needs this many readings; the median of fewer shows no trend.
const LEAST_IN_A_THIRD: usize = 3;

/// The readings of a canary in a window.
struct Readings {
    scope: Scope,
    /// Lags of those seen, rising.
    seen: Vec<f64>,
    lost: u64,
}

/// A metric of a canary that publishes every `every_ms` and asks the store every `poll_ms`.
///
/// A reading that the broker never took has no fate, so a canary that fell silent would leave only the good ones: with fewer than half of
/// the readings that its period promises, nothing is measured.
pub(super) fn measure(asked: &Asked, poll_ms: u64, every_ms: u64) -> Measured {
    let readings = match Readings::of(asked, asked.window) {
        Ok(readings) => readings,
        Err(why) => return Measured::unmeasured(why),
    };
    let (n, extent) = (readings.n(), &readings.scope.extent);
    if n == 0 {
        return Measured::unmeasured("no canary reading was published in the window");
    }
    if let Err(why) = readings.suffice(every_ms) {
        return Measured::unmeasured(why);
    }
    match asked.name {
        "n" => Measured::value(count_u64(n), Unit::Count, n, extent),
        "lost" if readings.lost > 0 && was_stopped(asked) => Measured::unmeasured(format!(
            "{} canary readings had not been seen when the cell was cut short: late or lost, nobody knows",
            readings.lost
        )),
        "lost" => Measured::value(count_u64(readings.lost), Unit::Count, n, extent),
        "first_third_median_s" => third(asked, Part::FirstThird),
        "last_third_median_s" => third(asked, Part::LastThird),
        "growth_s" => growth(asked, &readings),
        "max_s" => with_resolution(readings.durations(&|rank| at(&readings.seen, rank)).max(extent), poll_ms),
        name => match quantile_of(name) {
            Some(quantile) => {
                let percentile = readings.durations(&|rank| at(&readings.seen, rank)).percentile(quantile, extent);
                with_resolution(percentile, poll_ms)
            }
            None => asked.unknown(),
        },
    }
}

/// Whether the cell ended for a reason that is not the system's, before its canaries had the time that they were promised.
fn was_stopped(asked: &Asked) -> bool {
    let cut_short = asked.cell.finished.as_ref().and_then(|finished| finished.cut_short.as_ref());
    matches!(cut_short, Some(CutShort::LiveSafety(_) | CutShort::DiskLow(_) | CutShort::Interrupted))
}

impl Readings {
    fn of(asked: &Asked, window: &Window) -> Result<Self, String> {
        let scope = Scope::of(asked.cell, window)?;
        let readings = asked.cell.canaries.iter();
        let within = readings.filter(|reading| reading.canary == asked.subject && scope.holds(reading.published));
        let (mut fates, mut known) = (Vec::new(), BTreeSet::new());
        for reading in within {
            if !known.insert((reading.number, reading.published.to_bits())) {
                return Err(format!("the record has the canary reading {} twice", reading.number));
            }
            if reading.seen.is_some_and(|seen| seen < reading.published) {
                return Err(format!("the canary reading {} was seen before it was published", reading.number));
            }
            fates.push(reading.seen.map(|seen| seen - reading.published));
        }
        let seen: Vec<f64> = fates.iter().flatten().copied().collect();
        let lost = (fates.len() - seen.len()) as u64;
        Ok(Self { scope, seen: sorted(&seen), lost })
    }

    /// Whether at least half of the readings are there that the period promises: a canary that fell silent has lost nothing. A canary
    /// may run for a part of the cell only.
    fn suffice(&self, every_ms: u64) -> Result<(), String> {
        if every_ms == 0 || self.scope.is_cell {
            return Ok(());
        }
        let promised = (self.scope.seconds() * 1e3 / count_u64(every_ms)).floor();
        if count_u64(self.n()) < promised / 2.0 {
            return Err(format!("only {} of {promised} canary readings were published in the window", self.n()));
        }
        Ok(())
    }

    fn n(&self) -> u64 {
        self.seen.len() as u64 + self.lost
    }

    fn durations<'a>(&self, at_rank: &'a dyn Fn(u64) -> Option<f64>) -> Durations<'a> {
        Durations { seen: self.seen.len() as u64, at_rank, lost: self.lost, fate: "canary readings were never seen" }
    }
}

/// The lag of a rank from 1.
fn at(seen: &[f64], rank: u64) -> Option<f64> {
    seen.get(usize::try_from(rank).ok()?.checked_sub(1)?).copied()
}

/// The same figure with the resolution of its polling, which bounds every lag.
fn with_resolution(measured: Measured, poll_ms: u64) -> Measured {
    let resolution = format!("resolution {poll_ms} ms");
    let note = measured.figure().and_then(|figure| figure.note.clone());
    measured.note(note.map_or(resolution.clone(), |note| format!("{note}; {resolution}")))
}

/// The median lag in a third of the window; the lost count as longer than any.
fn third(asked: &Asked, part: Part) -> Measured {
    if asked.window.part != Part::Whole {
        return Measured::unmeasured("a part of a window has no thirds of its own");
    }
    let readings = match Readings::of(asked, &Window { phase: asked.window.phase.clone(), part }) {
        Ok(readings) => readings,
        Err(why) => return Measured::unmeasured(why),
    };
    let mut lags = readings.seen.clone();
    lags.extend((0..readings.lost).map(|_| f64::INFINITY));
    if lags.len() < LEAST_IN_A_THIRD {
        let why = format!("a third of the window needs {LEAST_IN_A_THIRD} canary readings, has {}", lags.len());
        return Measured::unmeasured(why);
    }
    match median(&lags).filter(|middle| middle.is_finite()) {
        Some(middle) => Measured::value(middle, Unit::Seconds, readings.n(), &readings.scope.extent),
        None => Measured::unmeasured(format!(
            "{} of the {} canary readings of this third were never seen",
            readings.lost,
            lags.len()
        )),
    }
}

/// The last third's median less the first third's.
fn growth(asked: &Asked, readings: &Readings) -> Measured {
    match (third(asked, Part::FirstThird), third(asked, Part::LastThird)) {
        (Measured::Value(first), Measured::Value(last)) => {
            let growth = last.value() - first.value();
            Measured::value(growth, Unit::Seconds, first.n + last.n, &readings.scope.extent)
        }
        (unmeasured @ Measured::Unmeasured { .. }, _) | (_, unmeasured) => unmeasured,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            measured::Exactness,
            metric::measure,
            sample_cell::{canary, cell, cut_short, default_window, open_window, push, run},
        },
        *,
    };
    use crate::record::{
        cell::CellRecord,
        entry::{Entry, Subject},
    };

    /// A soak of 30 s with a canary every half second; `lag` says how long each took.
    fn soak(lag: impl Fn(u64) -> Option<f64>) -> CellRecord {
        let mut cell = cell();
        open_window(&mut cell, "soak", true, 10.0, 40.0);
        for number in 1..=60 {
            let published = 10.0 + 0.5 * count_u64(number - 1);
            push(&mut cell, Entry::Canary(canary(number, published, lag(number))));
        }
        cell
    }

    #[test]
    fn a_cell_that_was_stopped_calls_no_reading_lost() {
        let mut cell = soak(|number| (number < 60).then_some(0.1));
        assert_eq!(asked(&cell, "lost").figure().unwrap().value(), 1.0);
        cut_short(&mut cell, CutShort::LiveSafety("latency".into()));
        assert_eq!(asked(&cell, "lost").figure(), None);
        let mut whole = soak(|_| Some(0.1));
        cut_short(&mut whole, CutShort::Interrupted);
        assert_eq!(asked(&whole, "lost").figure().unwrap().value(), 0.0);
    }

    #[test]
    fn a_canary_that_fell_silent_or_a_damaged_record_is_unmeasured() {
        let mut silent = soak(|_| Some(0.2));
        silent.started.subjects.insert("lag".into(), Subject::Canary { poll_ms: 20, every_ms: 500 });
        assert!(asked(&silent, "lost").figure().is_some());
        silent.canaries.truncate(29);
        let mut twice = soak(|_| Some(0.2));
        twice.canaries.push(twice.canaries[0].clone());
        let back = soak(|number| Some(if number == 7 { -0.2 } else { 0.2 }));
        for (why, cell) in [("silent", silent), ("twice", twice), ("back", back)] {
            for name in ["n", "lost", "p95_s", "max_s", "growth_s"] {
                assert_eq!(asked(&cell, name).figure(), None, "{why}: {name}");
            }
        }
    }

    fn asked(cell: &CellRecord, name: &str) -> Measured {
        measure(&run(), cell, &format!("lag.{name}"), &default_window())
    }

    fn value(cell: &CellRecord, name: &str) -> f64 {
        let measured = asked(cell, name);
        measured.figure().unwrap_or_else(|| panic!("{name}: {measured:?}")).value()
    }

    #[test]
    fn a_healthy_canary() {
        let cell = soak(|_| Some(0.25));
        let names = ["n", "lost", "p50_s", "p95_s", "max_s", "growth_s"];
        assert_eq!(names.map(|name| value(&cell, name)), [60.0, 0.0, 0.25, 0.25, 0.25, 0.0]);
        assert_eq!(asked(&cell, "p95_s").figure().unwrap().note.as_deref(), Some("resolution 20 ms"));
    }

    #[test]
    fn a_backlog_that_grows_shows_in_the_thirds() {
        let cell = soak(|number| Some(0.1 * count_u64(number)));
        assert!((value(&cell, "first_third_median_s") - 1.05).abs() < 1e-9);
        assert!((value(&cell, "last_third_median_s") - 5.05).abs() < 1e-9);
        assert!((value(&cell, "growth_s") - 4.0).abs() < 1e-9);
    }

    #[test]
    fn lost_readings_make_the_percentile_unmeasured_and_never_shorter() {
        let cell = soak(|number| (number % 10 != 0).then_some(0.25));
        assert_eq!((value(&cell, "lost"), value(&cell, "n")), (6.0, 60.0));
        assert_eq!(asked(&cell, "p95_s").figure(), None);
        assert_eq!(asked(&cell, "max_s").figure().unwrap().exactness, Exactness::AtLeast);
        assert!((value(&cell, "p50_s") - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_last_third_that_was_lost_has_no_growth() {
        let cell = soak(|number| (number <= 40).then_some(0.25));
        assert_eq!(asked(&cell, "growth_s").figure(), None);
    }

    #[test]
    fn readings_outside_the_window_do_not_count_and_none_is_unmeasured() {
        let mut cell = soak(|_| Some(0.25));
        push(&mut cell, Entry::Canary(canary(61, 50.0, None)));
        assert_eq!(value(&cell, "lost"), 0.0);
        cell.canaries.clear();
        assert_eq!(asked(&cell, "lost").figure(), None, "no canary lost out of none is not good");
    }

    #[test]
    fn thirds_of_few_readings_are_unmeasured() {
        let mut cell = soak(|_| Some(0.25));
        cell.canaries.retain(|reading| reading.number % 10 == 0);
        assert_eq!(asked(&cell, "growth_s").figure(), None);
    }
}
