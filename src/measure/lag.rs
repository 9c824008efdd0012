//! Canary metrics: publish to visible in the store, on one clock.
//!
//! A reading that was never seen counts as longer than any that was: it can make a percentile unmeasured, never shorter.

use super::{
    asked::Asked,
    measured::Measured,
    percentile::{Durations, quantile_of},
    scope::Scope,
    stats::{count_u64, median, sorted},
};
use crate::plan::{
    checked::{Part, Window},
    gate::Unit,
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

/// A metric of a canary that asks the store every `poll_ms`.
pub(super) fn measure(asked: &Asked, poll_ms: u64) -> Measured {
    let readings = match Readings::of(asked, asked.window) {
        Ok(readings) => readings,
        Err(why) => return Measured::unmeasured(why),
    };
    let (n, extent) = (readings.n(), &readings.scope.extent);
    if n == 0 {
        return Measured::unmeasured("no canary reading was published in the window");
    }
    match asked.name {
        "n" => Measured::value(count_u64(n), Unit::Count, n, extent),
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

impl Readings {
    fn of(asked: &Asked, window: &Window) -> Result<Self, String> {
        let scope = Scope::of(asked.cell, window)?;
        let readings = asked.cell.canaries.iter();
        let within = readings.filter(|reading| reading.canary == asked.subject && scope.holds(reading.published));
        let fates: Vec<Option<f64>> =
            within.map(|reading| reading.seen.map(|seen| (seen - reading.published).max(0.0))).collect();
        let seen: Vec<f64> = fates.iter().flatten().copied().collect();
        let lost = (fates.len() - seen.len()) as u64;
        Ok(Self { scope, seen: sorted(&seen), lost })
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
            sample_cell::{canary, cell, default_window, open_window, push, run},
        },
        *,
    };
    use crate::record::{cell::CellRecord, entry::Entry};

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
