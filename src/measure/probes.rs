//! Metrics of timed reads. A latency counts only where every run gave the right answer: an error that comes back fast is not a
//! fast read. Cold is its own statistic.

use super::{
    asked::Asked,
    measured::{Extent, Measured},
    stats::{count, greatest, median},
};
use crate::{plan::gate::Unit, record::entry::ProbeRun};

/// A metric of a probe.
pub(super) fn measure(asked: &Asked) -> Measured {
    let scope = match asked.scope_of_events() {
        Ok(scope) => scope,
        Err(why) => return Measured::unmeasured(why),
    };
    let all = asked.cell.probe_runs.iter().filter(|run| run.probe == asked.subject);
    let runs: Vec<&ProbeRun> = all.filter(|run| scope.is_cell || scope.holds(run.at)).collect();
    if runs.is_empty() {
        return Measured::unmeasured("the probe was not run in the window");
    }
    let extent = named_by_phase(&runs, scope.extent);
    let n = runs.len() as u64;
    let wrong = runs.iter().filter(|run| run.wrong.is_some()).count();
    match asked.name {
        "runs" => Measured::value(count(runs.len()), asked.unit, n, &extent),
        "failures" => Measured::value(count(wrong), asked.unit, n, &extent),
        "cold_s" => latency(&runs, true, median, &extent),
        "warm_median_s" => latency(&runs, false, median, &extent),
        "warm_max_s" => latency(&runs, false, greatest, &extent),
        "bytes" => {
            let right = runs.iter().filter(|run| run.wrong.is_none());
            match right.map(|run| super::stats::count_u64(run.bytes)).max_by(f64::total_cmp) {
                Some(bytes) => Measured::value(bytes, asked.unit, n, &extent),
                None => Measured::unmeasured("no run gave the right answer"),
            }
        }
        _ => asked.unknown(),
    }
}

/// The extent of the phases that the runs belong to, when they were asked for in the whole cell.
fn named_by_phase(runs: &[&ProbeRun], extent: Extent) -> Extent {
    match (runs.first(), runs.last()) {
        (Some(first), Some(last)) if extent.window == "cell" && first.window == last.window => {
            Extent { window: first.window.clone(), from: first.at, to: last.at + last.seconds }
        }
        _ => extent,
    }
}

fn latency(runs: &[&ProbeRun], cold: bool, of: fn(&[f64]) -> Option<f64>, extent: &Extent) -> Measured {
    let kind = if cold { "cold" } else { "warm" };
    let runs: Vec<&&ProbeRun> = runs.iter().filter(|run| run.cold == cold).collect();
    let wrong: Vec<&str> = runs.iter().filter_map(|run| run.wrong.as_deref()).collect();
    if let Some(first) = wrong.first() {
        let why = format!("{} of {} {kind} runs did not give the right answer: {first}", wrong.len(), runs.len());
        return Measured::unmeasured(why);
    }
    let seconds: Vec<f64> = runs.iter().map(|run| run.seconds).collect();
    if let Some(negative) = seconds.iter().find(|seconds| **seconds < 0.0) {
        return Measured::unmeasured(format!("a run took {negative} s: the clock went back"));
    }
    match of(&seconds) {
        Some(value) => Measured::value(value, Unit::Seconds, seconds.len() as u64, extent),
        None => Measured::unmeasured(format!("there was no {kind} run")),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            metric,
            sample_cell::{cell, default_window, in_phase, open_window_of, push, run, subject},
        },
        *,
    };
    use crate::{
        plan::checked::{Part, Window},
        record::{
            cell::CellRecord,
            entry::{Entry, Subject},
        },
    };

    /// One cold run and five warm ones in the phase `reads`, which is not measured; `wrong` names those with a wrong answer.
    fn reads(wrong: &[usize]) -> CellRecord {
        let mut cell = cell();
        subject(&mut cell, "list", Subject::Probe { budget_ms: Some(60), budget_source: None });
        open_window_of(&mut cell, "soak", "hold", true, 10.0, 20.0);
        open_window_of(&mut cell, "reads", "probe", false, 20.0, 30.0);
        for index in 0..6 {
            let run = ProbeRun {
                probe: "list".into(),
                window: "reads".into(),
                at: 20.0 + count(index),
                cold: index == 0,
                seconds: if index == 0 { 0.5 } else { 0.01 * count(index) },
                wrong: wrong.contains(&index).then(|| "status 500".into()),
                bytes: 100 + index as u64,
            };
            push(&mut cell, Entry::ProbeRun(run));
        }
        cell
    }

    fn asked(cell: &CellRecord, name: &str, window: &Window) -> Measured {
        metric::measure(&run(), cell, &format!("list.{name}"), window)
    }

    fn value(cell: &CellRecord, name: &str) -> f64 {
        asked(cell, name, &default_window()).figure().unwrap().value()
    }

    #[test]
    fn cold_is_apart_and_the_default_window_is_the_phase_of_the_runs() {
        let cell = reads(&[]);
        let names = ["runs", "failures", "cold_s", "warm_median_s", "warm_max_s", "bytes"];
        assert_eq!(names.map(|name| value(&cell, name)), [6.0, 0.0, 0.5, 0.03, 0.05, 105.0]);
        let measured = asked(&cell, "warm_median_s", &default_window());
        assert_eq!((measured.figure().unwrap().n, measured.figure().unwrap().window.as_str()), (5, "reads"));
    }

    #[test]
    fn one_wrong_answer_makes_the_latency_unmeasured() {
        let cell = reads(&[3]);
        assert_eq!(value(&cell, "failures"), 1.0);
        let why = "1 of 5 warm runs did not give the right answer: status 500";
        assert_eq!(asked(&cell, "warm_median_s", &default_window()), Measured::unmeasured(why));
        assert_eq!(value(&cell, "cold_s"), 0.5);
    }

    #[test]
    fn when_every_request_failed_nothing_is_fast() {
        let cell = reads(&[0, 1, 2, 3, 4, 5]);
        for name in ["cold_s", "warm_median_s", "warm_max_s", "bytes"] {
            assert_eq!(asked(&cell, name, &default_window()).figure(), None, "{name}");
        }
    }

    #[test]
    fn a_probe_that_was_not_run_has_no_failures_either() {
        let mut cell = reads(&[]);
        assert_eq!(asked(&cell, "failures", &in_phase("soak", Part::Whole)).figure(), None);
        cell.probe_runs.clear();
        assert_eq!(asked(&cell, "failures", &default_window()).figure(), None);
    }
}
