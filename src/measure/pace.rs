//! Metrics of an `mqtt_publish` load, from its slices.
//!
//! A slice belongs to the window that holds its middle: slices are cut at the edges of phases, and may lie across those of
//! halves and thirds. Rates are over the seconds that the slices measured, never the nominal ones, and slices must cover the
//! window: a generator that died after a second would otherwise look as if it had kept pace for the whole of it.

use super::{
    asked::Asked,
    histogram::Latencies,
    measured::Measured,
    percentile::{Durations, quantile_of},
    scope::Scope,
    stats::count_u64,
};
use crate::{
    plan::{
        checked::{Part, Window},
        gate::Unit,
    },
    record::entry::Slice,
};

/// The share of a window that its slices may leave out.
const UNCOVERED_AT_MOST: f64 = 0.05;

/// Slices may overlap by the rounding of their ends, seconds.
const OVERLAP_AT_MOST_S: f64 = 0.001;

/// The slices of a load in a window.
struct Pace<'a> {
    scope: Scope,
    slices: Vec<&'a Slice>,
    /// The seconds that the slices measured.
    seconds: f64,
}

/// A metric of an `mqtt_publish` load of which the plan asks so many readings per second.
pub(super) fn measure(asked: &Asked, nominal_per_s: u64) -> Measured {
    match asked.name {
        "in_doubt" => return in_doubt(asked),
        "generator_ceiling_ratio" => return ceiling_ratio(asked, nominal_per_s),
        "halves_ratio" => return halves_ratio(asked),
        _ => {}
    }
    Pace::of(asked, asked.window).map_or_else(Measured::unmeasured, |pace| pace.measure(asked))
}

impl<'a> Pace<'a> {
    fn of(asked: &Asked<'a>, window: &Window) -> Result<Self, String> {
        let scope = Scope::of(asked.cell, window)?;
        in_order(asked)?;
        let all = asked.cell.slices.iter().filter(|slice| slice.load == asked.subject && slice.to > slice.from);
        let slices: Vec<&Slice> = all.filter(|slice| scope.holds(f64::midpoint(slice.from, slice.to))).collect();
        if slices.is_empty() {
            return Err("the load did not run in the window".to_owned());
        }
        let seconds = slices.iter().map(|slice| slice.to - slice.from).sum();
        let pace = Self { scope, slices, seconds };
        pace.covers()?;
        Ok(pace)
    }

    /// Whether the slices cover the window. Those of a part may miss its edges by one slice; in a whole cell a load starts and
    /// stops where the plan says, but may leave no hole.
    fn covers(&self) -> Result<(), String> {
        let longest = self.slices.iter().map(|slice| slice.to - slice.from).fold(0.0, f64::max);
        let (first, last) = (self.slices[0], self.slices[self.slices.len() - 1]);
        let wanted = if self.scope.is_cell { last.to - first.from } else { self.scope.seconds() };
        let tolerance = UNCOVERED_AT_MOST * wanted + if self.scope.is_part { longest } else { 0.0 };
        if wanted - self.seconds > tolerance.max(0.25) {
            return Err(format!("the load reported {:.1} s of the window's {wanted:.1} s", self.seconds));
        }
        Ok(())
    }

    fn sum(&self, of: impl Fn(&Slice) -> u64) -> u64 {
        self.slices.iter().map(|slice| of(slice)).fold(0, u64::saturating_add)
    }

    fn measure(&self, asked: &Asked) -> Measured {
        let n = self.slices.len() as u64;
        let count = |count: u64| Measured::value(count_u64(count), asked.unit, n, &self.scope.extent);
        let (due, offered, acknowledged) =
            (self.sum(|slice| slice.due), self.sum(|slice| slice.offered), self.sum(|slice| slice.acked));
        match asked.name {
            "offered_ratio" if due == 0 => Measured::unmeasured("no reading was due in the window"),
            "offered_ratio" => self.value(count_u64(offered) / count_u64(due), asked.unit, due),
            "offered_per_s" => self.value(count_u64(offered) / self.seconds, asked.unit, offered),
            "acked_per_s" => self.value(count_u64(acknowledged) / self.seconds, asked.unit, acknowledged),
            "due" => count(due),
            "offered" => count(offered),
            "acked" => count(acknowledged),
            "resent" => count(self.sum(|slice| slice.resent)),
            "timed_out" => count(self.sum(|slice| slice.timed_out)),
            "disconnects" => count(self.sum(|slice| slice.disconnects)),
            "reconnects" => count(self.sum(|slice| slice.reconnects)),
            "backlog_max" => count(self.greatest(|slice| slice.backlog)),
            "in_flight_max" => count(self.greatest(|slice| slice.in_flight)),
            "generator_cpu_pct" => {
                let cpu: f64 = self.slices.iter().map(|slice| slice.cpu_s).sum();
                self.value(100.0 * cpu / self.seconds, asked.unit, n)
            }
            "stall_max_s" => {
                let longest = self.slices.iter().map(|slice| slice.stall_s).fold(0.0, f64::max);
                self.value(longest, asked.unit, n)
            }
            "window_full_ratio" => {
                let full: f64 = self.slices.iter().map(|slice| slice.window_full_s).sum();
                self.value(full / self.seconds, asked.unit, n)
            }
            name => self.latency(asked, name),
        }
    }

    fn value(&self, value: f64, unit: Unit, n: u64) -> Measured {
        Measured::value(value, unit, n, &self.scope.extent)
    }

    fn greatest(&self, of: impl Fn(&Slice) -> u64) -> u64 {
        self.slices.iter().map(|slice| of(slice)).max().unwrap_or_default()
    }

    /// A percentile or the maximum of a latency. Readings that timed out, or that were due and not written when the window
    /// ended, took longer than any that is in the histogram.
    fn latency(&self, asked: &Asked, name: &str) -> Measured {
        let timed_out = self.sum(|slice| slice.timed_out);
        let backlog = self.slices.last().map_or(0, |slice| slice.backlog);
        let (field, lost, fate): (fn(&Slice) -> &str, _, _) = if name.starts_with("schedule_lag_") {
            (|slice| &slice.schedule_lag, backlog, "readings were due and not written")
        } else if name.starts_with("ack_service_") {
            (|slice| &slice.ack_service, timed_out, "publishes timed out")
        } else if name.starts_with("ack_response_") {
            (|slice| &slice.ack_response, timed_out, "publishes timed out")
        } else {
            return asked.unknown();
        };
        let mut merged = Latencies::new();
        for slice in &self.slices {
            match Latencies::decode(field(slice)) {
                Ok(latencies) => merged.merge(&latencies),
                Err(why) => return Measured::unmeasured(why),
            }
        }
        let durations = Durations { seen: merged.n(), at_rank: &|rank| merged.at_rank_s(rank), lost, fate };
        match quantile_of(name) {
            Some(quantile) => durations.percentile(quantile, &self.scope.extent),
            None if name.ends_with("_max_s") => durations.max(&self.scope.extent),
            None => asked.unknown(),
        }
    }
}

/// Slices follow each other: twice the same one would pay for a hole elsewhere, and one that ends before it begins holds counts that
/// no window has.
fn in_order(asked: &Asked) -> Result<(), String> {
    let mut end = f64::NEG_INFINITY;
    for slice in asked.cell.slices.iter().filter(|slice| slice.load == asked.subject) {
        if slice.to < slice.from || slice.from < end - OVERLAP_AT_MOST_S {
            return Err(format!("the load's slices overlap or go back in time at {:.3} s", slice.from));
        }
        end = slice.to;
    }
    Ok(())
}

/// Readings that were written and never acknowledged; known once the load has stopped, of which its schedule is the sign.
fn in_doubt(asked: &Asked) -> Measured {
    if !asked.cell.schedules.iter().any(|schedule| schedule.load == asked.subject) {
        return Measured::unmeasured("the load has not stopped, so what is in doubt is not known");
    }
    let lists = asked.cell.in_doubt.iter().filter(|list| list.load == asked.subject);
    let total = lists.map(|list| list.readings.len() as u64).sum();
    Measured::value(count_u64(total), asked.unit, 1, &Scope::cell(asked.cell).extent)
}

/// The nominal rate over what the generator reached on this host.
fn ceiling_ratio(asked: &Asked, nominal_per_s: u64) -> Measured {
    match asked.run.generator_ceiling_per_s.filter(|ceiling| *ceiling > 0.0) {
        None => Measured::unmeasured("the generator was not calibrated on this host (`scaler calibrate`)"),
        Some(ceiling) => {
            Measured::value(count_u64(nominal_per_s) / ceiling, asked.unit, 1, &Scope::cell(asked.cell).extent)
        }
    }
}

/// Acknowledged per second in the last half over the first half.
fn halves_ratio(asked: &Asked) -> Measured {
    if asked.window.part != Part::Whole {
        return Measured::unmeasured("a part of a window has no halves of its own");
    }
    let half = |part| {
        let pace = Pace::of(asked, &Window { phase: asked.window.phase.clone(), part })?;
        Ok::<_, String>((pace.sum(|slice| slice.acked), pace.seconds))
    };
    match (half(Part::FirstHalf), half(Part::LastHalf), asked.scope()) {
        (Ok((0, _)), Ok(_), Ok(_)) => Measured::unmeasured("nothing was acknowledged in the first half"),
        (Ok((first, first_s)), Ok((last, last_s)), Ok(scope)) => {
            let ratio = (count_u64(last) / last_s) / (count_u64(first) / first_s);
            Measured::value(ratio, asked.unit, first.saturating_add(last), &scope.extent)
        }
        (Err(why), _, _) | (_, Err(why), _) | (_, _, Err(why)) => Measured::unmeasured(why),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            measured::Exactness,
            metric,
            sample_cell::{cell, default_window, in_phase, latencies, open_window, push, run, schedule, slice},
        },
        *,
    };
    use crate::record::{
        cell::CellRecord,
        entry::{Entry, InDoubt, Reading},
    };

    /// A soak of ten seconds between a second of warm-up and one of drain.
    fn soak(change: impl Fn(&mut Slice)) -> CellRecord {
        let mut cell = cell();
        for second in 0..12_u32 {
            let mut slice = slice(9.0 + f64::from(second), 1_000);
            if (1..11).contains(&second) {
                change(&mut slice);
            }
            push(&mut cell, Entry::Slice(slice));
        }
        open_window(&mut cell, "soak", true, 10.0, 20.0);
        cell
    }

    fn asked(cell: &CellRecord, name: &str) -> Measured {
        metric::measure(&run(), cell, &format!("readings.{name}"), &default_window())
    }

    fn value(cell: &CellRecord, name: &str) -> f64 {
        let measured = asked(cell, name);
        measured.figure().unwrap_or_else(|| panic!("{name}: {measured:?}")).value()
    }

    #[test]
    fn a_load_that_kept_pace() {
        let cell = soak(|_| {});
        let names = ["offered_ratio", "acked_per_s", "due", "acked", "timed_out", "in_flight_max", "halves_ratio"];
        assert_eq!(names.map(|name| value(&cell, name)), [1.0, 200.0, 2000.0, 2000.0, 0.0, 10.0, 1.0]);
        assert!((value(&cell, "generator_cpu_pct") - 2.0).abs() < 1e-9);
        assert!((value(&cell, "ack_service_p99_s") - 0.001).abs() < 1e-5);
        assert!((value(&cell, "ack_response_max_s") - 0.003).abs() < 1e-5);
        assert!((value(&cell, "generator_ceiling_ratio") - 0.02).abs() < 1e-9);
    }

    #[test]
    fn a_generator_that_was_short_shows_in_the_ratio() {
        let cell = soak(|slice| slice.offered = 190);
        assert!((value(&cell, "offered_ratio") - 0.95).abs() < 1e-9);
    }

    #[test]
    fn a_generator_that_was_stopped_and_caught_up_shows_in_its_longest_stall() {
        let cell = soak(|slice| slice.stall_s = if slice.from < 15.0 { 0.002 } else { 3.0 });
        assert_eq!(value(&cell, "offered_ratio"), 1.0);
        assert_eq!(value(&cell, "stall_max_s"), 3.0);
    }

    #[test]
    fn a_generator_that_died_did_not_keep_pace() {
        let mut cell = soak(|_| {});
        cell.slices.retain(|slice| slice.from < 13.0);
        assert_eq!(
            asked(&cell, "offered_ratio"),
            Measured::unmeasured("the load reported 3.0 s of the window's 10.0 s")
        );
        cell.slices.clear();
        assert_eq!(asked(&cell, "timed_out"), Measured::unmeasured("the load did not run in the window"));
    }

    #[test]
    fn rates_are_over_the_measured_seconds() {
        let mut cell = soak(|_| {});
        // The slices of a generator that reports a little late: 10.3 s instead of 10.
        cell.slices.retain(|slice| slice.from >= 10.0 && slice.to <= 20.0);
        for (index, slice) in cell.slices.iter_mut().enumerate() {
            slice.from = 10.0 + 1.03 * count_u64(index as u64);
            slice.to = slice.from + 1.03;
        }
        assert!((value(&cell, "acked_per_s") - 2000.0 / 10.3).abs() < 1e-6);
    }

    #[test]
    fn a_slice_that_is_there_twice_does_not_pay_for_a_hole() {
        let mut cell = soak(|_| {});
        cell.slices.retain(|slice| slice.from >= 10.0 && slice.to <= 20.0);
        for index in 5..10 {
            cell.slices[index] = cell.slices[index - 5].clone();
        }
        assert_eq!(asked(&cell, "offered_ratio").figure(), None);
        let mut back = soak(|_| {});
        back.slices[3].to = back.slices[3].from - 1.0;
        assert_eq!(asked(&back, "offered_ratio").figure(), None);
    }

    #[test]
    fn percentiles_come_from_the_merged_histogram() {
        let cell = soak(|slice| {
            if slice.from >= 19.0 {
                slice.ack_service = latencies(200, 1_000_000);
            }
        });
        assert!((value(&cell, "ack_service_p50_s") - 0.001).abs() < 1e-5);
        assert!(value(&cell, "ack_service_p95_s") > 0.99, "a tenth of all took a second");
    }

    #[test]
    fn publishes_that_timed_out_never_flatter_a_latency() {
        let cell = soak(|slice| slice.timed_out = 20);
        assert_eq!(asked(&cell, "ack_response_p95_s").figure(), None);
        assert!(asked(&cell, "ack_response_p50_s").figure().is_some());
        assert_eq!(asked(&cell, "ack_response_max_s").figure().unwrap().exactness, Exactness::AtLeast);
    }

    #[test]
    fn readings_that_were_never_written_never_flatter_the_schedule_lag() {
        let cell = soak(|slice| slice.backlog = 500);
        assert_eq!(asked(&cell, "schedule_lag_p99_s").figure(), None);
        assert_eq!(value(&cell, "backlog_max"), 500.0);
    }

    #[test]
    fn without_any_puback_there_is_no_latency() {
        let cell = soak(|slice| (slice.acked, slice.ack_service) = (0, String::new()));
        assert_eq!(asked(&cell, "ack_service_p50_s").figure(), None);
        assert_eq!(asked(&cell, "halves_ratio").figure(), None);
    }

    #[test]
    fn a_damaged_histogram_is_unmeasured() {
        let cell = soak(|slice| slice.ack_service = "%".into());
        assert_eq!(asked(&cell, "ack_service_p50_s").figure(), None);
    }

    #[test]
    fn halves_that_differ_show_in_their_ratio() {
        let cell = soak(|slice| slice.acked = if slice.from < 15.0 { 200 } else { 100 });
        assert!((value(&cell, "halves_ratio") - 0.5).abs() < 1e-9);
        let part = metric::measure(&run(), &cell, "readings.halves_ratio", &in_phase("soak", Part::FirstHalf));
        assert_eq!(part.figure(), None);
    }

    #[test]
    fn what_is_in_doubt_is_known_once_the_load_has_stopped() {
        let mut cell = soak(|_| {});
        assert_eq!(asked(&cell, "in_doubt").figure(), None);
        push(&mut cell, Entry::Schedule(schedule()));
        assert_eq!(value(&cell, "in_doubt"), 0.0);
        let reading = Reading { second: 1, topic: "t".into(), value: 1 };
        push(&mut cell, Entry::InDoubt(InDoubt { load: "readings".into(), readings: vec![reading] }));
        assert_eq!(value(&cell, "in_doubt"), 1.0);
    }

    #[test]
    fn without_calibration_there_is_no_ceiling() {
        let mut run = run();
        run.generator_ceiling_per_s = None;
        let measured = metric::measure(&run, &soak(|_| {}), "readings.generator_ceiling_ratio", &default_window());
        assert_eq!(measured.figure(), None);
    }
}
