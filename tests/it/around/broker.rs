//! A broker that is killed and started again under load.

#![expect(clippy::float_cmp, clippy::cast_precision_loss, reason = "counts are whole and compared exactly")]

use std::{collections::BTreeSet, fs};

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

use super::{Going, cause, events, stderr, total};
use crate::end_to_end::Bench;

/// The listener of the run's target: the one whose store is in the results folder, for there may be others on this machine.
fn listener(bench: &Bench) -> Pid {
    let results = bench.results.path().to_str().expect("UTF-8");
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let is_listener = |pid: &i32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
        words.get(1..3) == Some(&[&b"reference"[..], &b"listener"[..]])
            && words.iter().any(|word| word.starts_with(results.as_bytes()))
    };
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(is_listener).find_map(Pid::from_raw).expect("a listener")
}

#[test]
fn what_a_killed_broker_had_acknowledged_and_not_delivered_is_lost_and_each_packet_accounted_for() {
    let bench = Bench::new();
    let mut command = bench.command("tests/plans/broker-kill.toml", &[]);
    command.arg("--keep-target");
    let mut run = Going::of(bench.results.path(), command);
    run.until_phase("kill-broker");
    // The listener is held up over the kill, so that readings wait in the broker's memory.
    kill_process(listener(&bench), Signal::STOP).expect("it is stopped");
    run.until("outage", "broker");
    kill_process(listener(&bench), Signal::CONT).expect("it goes on");
    let run = run.end();
    assert_eq!(run.output.status.code(), Some(1), "{}", stderr(&run));
    assert_eq!(run.broken(0), ["nothing lost"]);
    let missing = run.metric(0, "custody.missing");
    assert!(missing >= 50.0, "a second of readings waited in the broker: {missing}");
    assert!(cause(&run, 0).starts_with("custody.missing = "), "{}", cause(&run, 0));
    assert_eq!(run.metric(0, "kill-broker.outages"), 1.0);
    assert_eq!(run.metric(0, "kill-broker.unproven"), 0.0);

    // Every packet: both connections were lost and made again, what was in flight was sent again, nothing is left in doubt.
    assert_eq!((total(&run, 0, "disconnects"), total(&run, 0, "reconnects")), (2, 2));
    assert_eq!(
        events(&run, 0, "connected").iter().filter(|detail| detail.contains("made again, a new session")).count(),
        2
    );
    let (offered, acked) = (total(&run, 0, "offered"), total(&run, 0, "acked"));
    assert_eq!(run.metric(0, "custody.in_doubt"), 0.0);
    assert_eq!(offered, acked, "each was acknowledged in the end");
    assert_eq!(run.metric(0, "custody.acked"), acked as f64);

    // The truth is in the store itself: all of it was offered, so what was acknowledged and is not there is lost.
    let stored = stored(&bench);
    assert_eq!(acked as f64 - stored.len() as f64, missing);
    let named = run.cell(0)["custody"][0]["missing_named"].as_array().expect("named readings");
    assert_eq!(named.len(), 20);
    for reading in named {
        let key =
            (reading["topic"].as_str().expect("a topic").to_owned(), reading["second"].as_i64().expect("a second"));
        assert!(!stored.contains(&key), "{key:?} is stored");
    }
}

/// Topic and payload second of every reading in the store; each point has one reading a second.
fn stored(bench: &Bench) -> BTreeSet<(String, i64)> {
    let folders = fs::read_dir(bench.results.path()).expect("results").flatten().map(|entry| entry.path());
    let folder = folders.into_iter().find(|path| path.extension().is_some_and(|end| end == "kept")).expect("kept");
    let store = Connection::open(folder.join("history.sqlite")).expect("the store");
    let mut statement = store
        .prepare("SELECT topic, ts / 1000 FROM point_history WHERE topic LIKE 'fbf/scale/s%'")
        .expect("a statement");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}
