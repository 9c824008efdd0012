//! Aggregates of a watch's series over a window.
//!
//! A sample that failed is a gap, never a zero. When fewer than half of the samples that the window should hold are there, the
//! series is unmeasured; when some are missing, n and the note say so.

use super::{
    asked::Asked,
    measured::Measured,
    scope::Scope,
    stats::{count, greatest, least, mean, median, slope, standard_deviation},
};
use crate::plan::{
    gate::Unit,
    metric::{CONTAINER_SERIES, HOST_SERIES, PROCESS_SERIES},
    subject::aggregate_unit,
};

/// The end of the reason why a series has no `delta` and no rate: a gauge is none, and a counter that was replaced is none any more.
pub const NO_COUNTER: &str = "what counts was replaced or is no counter";

/// A series in a window: the samples of each of its stretches of time.
struct Samples {
    scope: Scope,
    spans: Vec<Vec<(f64, f64)>>,
    /// When the watch gave any sign of life in each stretch: a sample or a gap.
    signs: Vec<Vec<f64>>,
    /// How many readings failed, and the reason of the first.
    gaps: (u64, Option<String>),
}

/// A watch that gives no sign for longer than this share of a stretch, and than so many of its periods, was not watching.
const SILENT_SHARE: f64 = 0.25;
const SILENT_PERIODS: f64 = 5.0;

/// `SERIES.AGGREGATE` of a watch that is sampled every `every_ms`.
pub(super) fn measure(asked: &Asked, names: &[String], every_ms: u64) -> Measured {
    let Some((series, aggregate)) = asked.name.rsplit_once('.') else { return asked.unknown() };
    if !names.iter().any(|name| name == series) {
        return Measured::unmeasured(format!("`{}` has no series `{series}`", asked.subject));
    }
    let samples = match Samples::of(asked, series, every_ms) {
        Ok(samples) => samples,
        Err(why) => return Measured::unmeasured(why),
    };
    let measured = samples.aggregate(aggregate, series_unit(series)).unwrap_or_else(|| asked.unknown());
    match samples.gaps {
        (0, _) => measured,
        (gaps, why) => measured.note(format!("{gaps} gaps: {}", why.unwrap_or_else(|| "no reason".to_owned()))),
    }
}

impl Samples {
    fn of(asked: &Asked, series: &str, every_ms: u64) -> Result<Self, String> {
        let scope = asked.scope()?;
        let mut spans = vec![Vec::new(); scope.spans.len()];
        let mut signs = vec![Vec::new(); scope.spans.len()];
        let mut gaps = (0, None);
        for sample in asked.cell.samples.iter().filter(|sample| sample.watch == asked.subject) {
            let span = scope.spans.iter().position(|(from, to)| *from <= sample.at && sample.at < *to);
            let Some(span) = span else { continue };
            signs[span].push(sample.at);
            if let Some(value) = sample.values.get(series) {
                if spans[span].last().is_some_and(|(before, _): &(f64, f64)| *before > sample.at) {
                    return Err(format!("the samples go back in time at {:.3} s", sample.at));
                }
                spans[span].push((sample.at, *value));
            } else {
                gaps.0 += 1;
                gaps.1 = gaps.1.or_else(|| sample.gaps.get(series).or_else(|| sample.gaps.get("*")).cloned());
            }
        }
        let samples = Self { scope, spans, signs, gaps };
        samples.suffice(every_ms)?;
        samples.never_fell_silent(every_ms)?;
        Ok(samples)
    }

    /// Whether at least half of the samples are there that the period promises. A watch may run for a part of the cell only.
    fn suffice(&self, every_ms: u64) -> Result<(), String> {
        let n = self.n();
        let reason = self.gaps.1.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        if n == 0 {
            return Err(format!("the watch gave no sample in the window{reason}"));
        }
        #[expect(clippy::cast_precision_loss, reason = "milliseconds")]
        let promised = (self.scope.seconds() * 1e3 / every_ms.max(1) as f64).floor();
        let promised = if self.scope.is_cell { count(n) + super::stats::count_u64(self.gaps.0) } else { promised };
        if count(n) < promised / 2.0 {
            return Err(format!("only {n} of {promised} samples{reason}"));
        }
        Ok(())
    }

    /// Whether the watch gave signs throughout. One that dies halfway leaves no gaps, and half of the samples would stand for all.
    fn never_fell_silent(&self, every_ms: u64) -> Result<(), String> {
        if self.scope.is_cell {
            return Ok(());
        }
        #[expect(clippy::cast_precision_loss, reason = "milliseconds")]
        let periods_s = SILENT_PERIODS * every_ms as f64 / 1e3;
        for ((from, to), signs) in self.scope.spans.iter().zip(&self.signs) {
            let edges = std::iter::once(*from).chain(signs.iter().copied()).chain(std::iter::once(*to));
            let edges: Vec<f64> = edges.collect();
            let silent_s = edges.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
            if silent_s > periods_s.max(SILENT_SHARE * (to - from)) {
                return Err(format!("the watch gave no sign for {silent_s:.1} s of the window's {:.1} s", to - from));
            }
        }
        Ok(())
    }

    fn n(&self) -> usize {
        self.spans.iter().map(Vec::len).sum()
    }

    /// One aggregate; none when there is none of that name.
    fn aggregate(&self, aggregate: &str, unit: Unit) -> Option<Measured> {
        let points: Vec<(f64, f64)> = self.spans.concat();
        let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
        let value = |value: Option<f64>, unit, needed: u64| {
            let few = || Measured::unmeasured(format!("it needs {needed} samples, has {}", values.len()));
            value.map_or_else(few, |value| Measured::value(value, unit, values.len() as u64, &self.scope.extent))
        };
        Some(match aggregate {
            "mean" => value(mean(&values), unit, 1),
            "stdev" => value(standard_deviation(&values), unit, 3),
            "median" => value(median(&values), unit, 1),
            "min" => value(least(&values), unit, 1),
            "max" => value(greatest(&values), unit, 1),
            "first" => value(values.first().copied(), unit, 1),
            "last" => value(values.last().copied(), unit, 1),
            "delta" => match self.change() {
                Ok((delta, _)) => value(Some(delta), unit, 2),
                Err(why) => Measured::unmeasured(why),
            },
            "per_s" => match self.change() {
                Ok((delta, seconds)) => value(Some(delta / seconds), aggregate_unit(unit, aggregate), 2),
                Err(why) => Measured::unmeasured(why),
            },
            "slope_per_min" => {
                let minutes: Vec<(f64, f64)> = points.iter().map(|(at, value)| (at / 60.0, *value)).collect();
                let slope = slope(&minutes);
                let measured = value(slope.map(|slope| slope.value), aggregate_unit(unit, aggregate), 3);
                slope.map_or(measured.clone(), |slope| measured.between(slope.low, slope.high))
            }
            "peak_over_first" => {
                value(greatest(&values).zip(values.first()).map(|(peak, first)| peak - first), unit, 1)
            }
            _ => return None,
        })
    }

    /// What a counter rose by, and the seconds between the samples that say so, summed over the stretches.
    fn change(&self) -> Result<(f64, f64), String> {
        let (mut delta, mut seconds) = (0.0, 0.0);
        for span in &self.spans {
            if let Some(back) = span.windows(2).find(|pair| pair[1].1 < pair[0].1) {
                return Err(format!("it went back from {} to {}: {NO_COUNTER}", back[0].1, back[1].1));
            }
            if let (Some(first), Some(last)) = (span.first(), span.last()) {
                delta += last.1 - first.1;
                seconds += last.0 - first.0;
            }
        }
        if seconds > 0.0 { Ok((delta, seconds)) } else { Err("it needs 2 samples in a window, has 1".to_owned()) }
    }
}

/// The unit of a series, known for those of `process`, `containers` and `host` watches.
fn series_unit(series: &str) -> Unit {
    let tables = if series.contains('.') { [PROCESS_SERIES, CONTAINER_SERIES] } else { [HOST_SERIES, &[]] };
    let name = series.rsplit('.').next().unwrap_or(series);
    tables.concat().into_iter().find(|(known, _)| *known == name).map_or(Unit::Number, |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            metric,
            sample_cell::{cell, default_window, gap, open_window, push, run, sample, subject},
        },
        *,
    };
    use crate::record::{
        cell::CellRecord,
        entry::{Entry, Subject},
    };

    /// A soak of ten seconds with a sample of `queue.depth` each second; none is a gap.
    fn soak(values: &[Option<f64>]) -> CellRecord {
        let mut cell = cell();
        let names = vec!["depth".to_owned()];
        subject(&mut cell, "queue", Subject::Series { names, every_ms: 1000, kind: "sql".into() });
        open_window(&mut cell, "soak", true, 10.0, 20.0);
        for (index, value) in values.iter().enumerate() {
            let at = 10.5 + count(index);
            let entry = value.map_or_else(|| gap("queue", at, "refused"), |value| sample("queue", at, "depth", value));
            push(&mut cell, Entry::Sample(entry));
        }
        cell
    }

    fn counted(values: [f64; 10]) -> CellRecord {
        soak(&values.map(Some))
    }

    fn asked(cell: &CellRecord, aggregate: &str) -> Measured {
        metric::measure(&run(), cell, &format!("queue.depth.{aggregate}"), &default_window())
    }

    fn value(cell: &CellRecord, aggregate: &str) -> f64 {
        let measured = asked(cell, aggregate);
        measured.figure().unwrap_or_else(|| panic!("{aggregate}: {measured:?}")).value()
    }

    #[test]
    fn aggregates_of_a_counter() {
        let cell = counted([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        let names = ["mean", "median", "min", "max", "first", "last", "delta", "per_s", "peak_over_first"];
        assert_eq!(names.map(|name| value(&cell, name)), [4.5, 4.5, 0.0, 9.0, 0.0, 9.0, 9.0, 1.0, 9.0]);
        let slope = asked(&cell, "slope_per_min");
        let figure = slope.figure().unwrap();
        assert!(
            (figure.value() - 60.0).abs() < 1e-6 && figure.low.unwrap() <= 60.0001 && figure.high.unwrap() >= 59.9999
        );
    }

    #[test]
    fn a_watch_that_dies_halfway_does_not_speak_for_the_rest() {
        let mut cell = counted([0.0; 10]);
        assert_eq!(value(&cell, "delta"), 0.0);
        let dies = |cell: &mut CellRecord, at: f64| cell.samples.retain(|sample| sample.at < at);
        dies(&mut cell, 16.0);
        assert_eq!(value(&cell, "delta"), 0.0, "five periods may pass");
        dies(&mut cell, 15.0);
        let why = "the watch gave no sign for 5.5 s of the window's 10.0 s";
        assert_eq!(asked(&cell, "max"), Measured::unmeasured(why));
    }

    #[test]
    fn a_counter_that_went_back_has_no_rate() {
        let cell = counted([5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 8.0, 9.0]);
        assert_eq!(asked(&cell, "delta").figure(), None);
        assert_eq!(asked(&cell, "per_s").figure(), None);
        assert_eq!(value(&cell, "max"), 9.0, "a gauge may go down");
    }

    #[test]
    fn rates_are_over_the_measured_interval() {
        let mut cell = counted([0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]);
        cell.samples.iter_mut().for_each(|sample| sample.at = 10.0 + (sample.at - 10.5) * 0.9);
        assert!((value(&cell, "per_s") - 90.0 / 8.1).abs() < 1e-9);
    }

    #[test]
    fn gaps_are_counted_and_too_many_are_unmeasured() {
        let mut values = [Some(1.0); 10];
        values[3..7].fill(None);
        let measured = asked(&soak(&values), "mean");
        let figure = measured.figure().unwrap();
        assert_eq!((figure.n, figure.note.as_deref()), (6, Some("4 gaps: refused")));
        values[1..7].fill(None);
        assert_eq!(asked(&soak(&values), "mean"), Measured::unmeasured("only 4 of 10 samples: refused"));
        assert_eq!(
            asked(&soak(&[None; 10]), "max"),
            Measured::unmeasured("the watch gave no sample in the window: refused"),
        );
    }

    #[test]
    fn a_watch_that_fell_silent_is_unmeasured_although_it_named_no_gap() {
        assert_eq!(asked(&soak(&[Some(1.0); 4]), "max"), Measured::unmeasured("only 4 of 10 samples"));
    }

    #[test]
    fn a_second_sample_is_needed_for_a_difference_and_a_third_for_spread() {
        let mut cell = counted([1.0; 10]);
        cell.windows[0].to = 11.0;
        assert_eq!(asked(&cell, "delta").figure(), None);
        assert_eq!(asked(&cell, "stdev"), Measured::unmeasured("it needs 3 samples, has 1"));
    }

    #[test]
    fn a_counter_is_not_counted_between_two_measured_phases() {
        let mut cell = counted([0.0, 1.0, 2.0, 50.0, 51.0, 52.0, 53.0, 54.0, 55.0, 56.0]);
        cell.windows.clear();
        open_window(&mut cell, "first", true, 10.0, 13.0);
        open_window(&mut cell, "second", true, 13.0, 20.0);
        assert_eq!(value(&cell, "delta"), 8.0);
    }

    #[test]
    fn unknown_series_and_aggregates_are_unmeasured() {
        let cell = counted([1.0; 10]);
        assert_eq!(asked(&cell, "average").figure(), None);
        assert_eq!(metric::measure(&run(), &cell, "queue.length.max", &default_window()).figure(), None);
    }

    #[test]
    fn series_of_processes_and_hosts_have_units() {
        let names = ["listener.rss_bytes", "listener.cpu_pct", "listener.throttled_pct", "cpu_pct", "load1", "depth"];
        let units = names.map(series_unit);
        assert_eq!(units, [Unit::Bytes, Unit::Percent, Unit::Percent, Unit::Percent, Unit::Number, Unit::Number]);
    }
}
