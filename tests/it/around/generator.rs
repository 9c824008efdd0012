//! A generator that is held up: whatever the target did, its figures say nothing of it.

use std::{thread, time::Duration};

use rustix::process::Signal;

use super::{Going, assert_custody_is_whole, assert_no_ceiling, cause, total};
use crate::end_to_end::Bench;

#[test]
fn a_generator_without_cpu_is_no_ceiling() {
    let bench = Bench::new();
    let mut run = Going::start(&bench, "tests/plans/around.toml", &[]);
    run.until_phase("soak");
    // The CPU of the whole program is limited to a thirtieth, as `cpulimit` does; the target's processes go on.
    while !run.journal().lines().any(|line| line.starts_with("{\"window_closed\"") && line.contains("\"soak\"")) {
        run.signal(Signal::STOP);
        thread::sleep(Duration::from_millis(290));
        run.signal(Signal::CONT);
        thread::sleep(Duration::from_millis(10));
    }
    let run = run.end();
    assert_no_ceiling(&run);
    // On a busy machine a stop may last longer than a second, which the other gate of the generator then says as well.
    let mut broken = run.broken(0);
    broken.retain(|gate| gate != "generator ran throughout");
    assert_eq!(broken, ["generator kept pace"]);
    let ratio = run.metric(0, "readings.offered_ratio");
    assert!(ratio < 0.8, "{ratio}");
    let words = format!("generator: readings.offered_ratio = {}", (ratio * 100.0).floor());
    assert!(cause(&run, 0).starts_with(&words[..words.len() - 1]), "{} for {ratio}", cause(&run, 0));
    assert!(cause(&run, 0).contains("must be ≥ 90%"), "{}", cause(&run, 0));
    assert_custody_is_whole(&run, 0);
}

#[test]
fn a_generator_that_was_stopped_and_caught_up_is_not_called_on_time() {
    let bench = Bench::new();
    let mut run = Going::start(&bench, "tests/plans/around.toml", &["soak=9s"]);
    run.until_phase("soak");
    thread::sleep(Duration::from_millis(500));
    run.signal(Signal::STOP);
    thread::sleep(Duration::from_millis(2500));
    run.signal(Signal::CONT);
    let run = run.end();
    assert_no_ceiling(&run);
    // It wrote everything in the end, so the ratio alone would have let it pass.
    assert_eq!(run.broken(0), ["generator ran throughout"]);
    assert!(cause(&run, 0).starts_with("generator: readings.stall_max_s = 2."), "{}", cause(&run, 0));
    assert!(run.metric(0, "readings.stall_max_s") >= 2.4);
    assert!(run.metric(0, "readings.schedule_lag_max_s") >= 2.4, "late readings stay late on the record");
    assert!(run.metric(0, "readings.backlog_max") >= 100.0);
    assert_custody_is_whole(&run, 0);
    let slices = run.cell(0)["slices"].as_array().expect("slices");
    for slice in slices {
        let (from, to) = (slice["from"].as_f64().expect("from"), slice["to"].as_f64().expect("to"));
        let offered = slice["offered"].as_f64().expect("offered");
        // 200 readings a second, at most twice as fast, and 20 ms of it at once.
        let most = 2.0 * 200.0 * (to - from + 0.02) + 1.0;
        assert!(offered <= most, "{offered} readings in {:.3} s: a burst above the limit", to - from);
    }
    assert_eq!(total(&run, 0, "disconnects"), 0);
}
