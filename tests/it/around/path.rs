//! The path between generator and broker: cut, refused, slow, stalled.

#![expect(clippy::float_cmp, clippy::cast_precision_loss, reason = "counts are whole and compared exactly")]

use super::{assert_custody_is_whole, events, stderr, total};
use crate::end_to_end::Bench;

#[test]
fn connections_that_are_cut_and_refused_are_counted_and_nothing_is_lost() {
    let bench = Bench::new();
    let run = bench.run("tests/plans/path.toml", &["path_fault=cut=1500ms+refuse=300ms"]);
    assert_eq!(run.output.status.code(), Some(0), "{}", stderr(&run));
    assert_eq!(run.broken(0), Vec::<String>::new());
    let (cut, refused) = (run.truth(0, "path_truth", "cut"), run.truth(0, "path_truth", "refused"));
    assert_eq!(cut, 4.0, "the fault was at work");
    assert_eq!(total(&run, 0, "disconnects") as f64, cut);
    assert_eq!(total(&run, 0, "reconnects") as f64, cut, "each came back by itself");
    assert_eq!(events(&run, 0, "disconnected").len() as f64, cut);
    assert_eq!(events(&run, 0, "connected").len() as f64, cut + 2.0);
    // A connection that is refused again and again is told once for each loss.
    let told = events(&run, 0, "refused").len() as f64;
    assert!(told >= 1.0 && told <= cut && told <= refused, "{told} of {refused}");
    assert_custody_is_whole(&run, 0);
}

#[test]
fn a_load_held_up_by_acknowledgements_fails_as_that_and_not_as_a_short_generator() {
    let bench = Bench::new();
    // 40 readings a second are due; two connections with 2 publishes under way for 800 ms each write 5.
    let run = bench.run("tests/plans/path.toml", &["path_fault=delay=400ms", "inflight=2"]);
    assert_eq!(run.output.status.code(), Some(1), "{}", stderr(&run));
    let cell = &run.cell(0)["verdict"];
    assert_eq!(cell["word"], "fail");
    let cause = cell["cause"].as_str().unwrap();
    assert!(cause.starts_with("readings.window_full_ratio = "), "{cause}");
    assert!(run.metric(0, "readings.window_full_ratio") > 0.5 && run.metric(0, "readings.offered_ratio") < 0.9);
    assert!(run.broken(0).contains(&"broker acknowledged in time".to_owned()), "{:?}", run.broken(0));
    for name in ["custody.missing", "custody.changed", "custody.surplus"] {
        assert_eq!(run.metric(0, name), 0.0, "{name}");
    }
}

#[test]
fn a_slow_and_stalling_path_shows_in_the_acknowledgements_and_custody_stays_exact() {
    let bench = Bench::new();
    let sets = ["path_fault=delay=50ms+stall=2500ms", "path_times=1", "ack_timeout=1s", "soak=9s"];
    let run = bench.run("tests/plans/path.toml", &sets);
    assert_eq!(run.output.status.code(), Some(0), "{}", stderr(&run));
    assert_eq!(run.truth(0, "path_truth", "stalls"), 1.0, "the fault was at work");
    assert!(run.metric(0, "readings.ack_service_p50_s") >= 0.1, "50 ms there and 50 ms back");
    let timed_out = total(&run, 0, "timed_out");
    assert!(timed_out > 0, "a stall of 2.5 s outlasts the limit of 1 s");
    let told = events(&run, 0, "ack_timeout");
    let counted: u64 = told.iter().filter_map(|detail| detail.split_whitespace().nth(2)?.parse::<u64>().ok()).sum();
    assert_eq!(counted, timed_out, "{told:?}");
    assert!(total(&run, 0, "resent") >= timed_out, "what timed out was sent again");
    assert_custody_is_whole(&run, 0);
}
