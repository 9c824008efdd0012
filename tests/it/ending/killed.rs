//! `kill -9` of scaler at random moments.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::Signal;

use super::{Going, expect, expect_nobody, files, journal, result, scaler, wait_for};
use crate::end_to_end::Bench;

/// The moments at which scaler is killed; `SCALER_KILLS=20` is the long form.
fn kills() -> u32 {
    std::env::var("SCALER_KILLS").map_or(6, |count| count.parse().expect("SCALER_KILLS is a number"))
}

/// Seconds in which the moments lie, from before the first entry to the second cell.
const SPAN_S: f64 = 8.0;

#[test]
fn killed_at_any_moment_a_run_leaves_a_result_and_nothing_that_lives() {
    let bench = Bench::new();
    let folder = bench.results.path();
    let mut chance = ChaCha8Rng::seed_from_u64(3);
    let (mut journals, mut hit) = (0, 0);
    for number in 0..kills() {
        // One moment in each of equal stretches, so that every part of a run has its turn.
        let moment = (f64::from(number) + chance.random::<f64>()) / f64::from(kills()) * SPAN_S;
        let run = Going::of(&bench, "tests/plans/ending.toml");
        std::thread::sleep(Duration::from_secs_f64(moment));
        run.signal(Signal::KILL);
        run.end();
        expect_nobody(folder);
        let Some(entries) = journal(folder).filter(|_| files(folder, "journal").len() > journals) else { continue };
        journals = files(folder, "journal").len();
        let path = files(folder, "journal").pop().expect("a journal");
        if path.with_extension("json").exists() {
            continue; // A fast machine was at the end before the signal came.
        }
        hit += 1;
        let recovered = scaler(&["results", "recover", path.to_str().expect("UTF-8")]);
        if !entries.contains('\n') {
            expect(&recovered, 3, &["without the first line nothing can be said of a run"]);
            continue;
        }
        expect(&recovered, 0, &["inconclusive, interrupted"]);
        let result = result(&path.with_extension("json"));
        assert_eq!((&result["interrupted"], &result["verdict"]["word"]), (&true.into(), &"inconclusive".into()));
        assert!(result["caveats"].to_string().contains("scaler was killed"));
    }
    assert!(hit >= kills() / 2, "{hit} of {} kills hit a run", kills());
    nothing_stands_in_the_way(&bench);
}

/// The next run finds ports, lock and folder free, and removes what the killed ones left.
fn nothing_stands_in_the_way(bench: &Bench) {
    let journals = files(bench.results.path(), "journal").len();
    let run = Going::of(bench, "tests/plans/ending.toml");
    wait_for("a journal of its own", || (files(bench.results.path(), "journal").len() > journals).then_some(()));
    run.wait_until("\"name\":\"soak\"");
    run.signal(Signal::KILL);
    run.end();
    let left = files(bench.results.path(), "target").len();
    assert_eq!(left, 1, "each run removes what the one before it left");
    let next = bench.run("tests/plans/ending.toml", &[]);
    expect(&next.output, 0, &["which the run ", " left when it was killed"]);
    assert_eq!(next.line["highest_pass"], 200);
    assert!(files(bench.results.path(), "target").is_empty());
}
