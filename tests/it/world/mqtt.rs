//! Loads, canaries and the broker's own counters against a real Mosquitto, with the reference listener behind it.

use std::{path::Path, time::Duration};

use scaler::{
    plan::phase::Signal,
    record::entry::{CanaryReading, Entry, EventKind},
    run::world::{Answer, Call, TakeDown},
};
use serde_json::{Value, json};

use super::bench::{Bench, LIMIT, eventually, free_port, kill_9, services};

/// Mosquitto, the reference listener, and what a plan says of both.
fn pipeline(home: &Path) -> Value {
    let (port, http) = (free_port(), free_port());
    let conf = home.join("mosquitto.conf");
    let settings = format!("listener {port} 127.0.0.1\nallow_anonymous true\nsys_interval 1\nuser root\n");
    std::fs::write(&conf, settings).unwrap();
    let store = super::bench::target_folder(home).join("history.sqlite");
    let store = store.to_str().unwrap();
    let broker = format!("127.0.0.1:{port}");
    let listener = [
        env!("CARGO_BIN_EXE_scaler"),
        "reference",
        "listener",
        "--broker",
        &broker,
        "--store",
        store,
        "--subscribe",
        "fbf/#",
        "--http",
        &format!("127.0.0.1:{http}"),
    ];
    let payload = json!({ "point": "{{ topic }}", "value": "{{ value }}", "ts": "{{ ts }}" });
    let sql = |statement: &str| json!({ "sql": { "connection": "history", "statement": statement } });
    let canary = json!({
        "connection": "broker", "topic": "fbf/canary", "payload": payload, "seen": "canary_seen", "poll": "20ms", "lost_after": "1s",
    });
    let counters = json!({ "connection": "broker", "series": {
        "clients": "$SYS/broker/clients/connected", "gone": "$SYS/broker/no/such/counter",
    } });
    let mut plan = services(&json!({
        "broker": { "command": ["mosquitto", "-c", conf], "ports": [port], "ready": { "tcp": broker } },
        "listener": { "command": listener, "after": ["broker"], "ready": { "http": format!("http://127.0.0.1:{http}/health") } },
    }));
    plan["connections"] = json!({
        "broker": { "mqtt": { "url": format!("mqtt://{broker}") } },
        "history": { "sqlite": { "path": store } },
    });
    plan["fleet"] = json!({ "points": 20 });
    plan["messages"] =
        json!({ "tags": { "each": "equip", "topic": "other/{{ equip }}/tags", "payload": "{{ sequence }}" } });
    plan["loads"] = json!({
        "readings": { "mqtt_publish": {
            "connection": "broker", "interval": "200ms", "topic": "fbf/scale/{{ point }}", "payload": payload, "connections": 2,
        } },
        "command": { "exec": { "command": ["sleep", "1000"] } },
    });
    plan["queries"] = json!({
        "canary_seen": sql("SELECT coalesce(max(value), 0) FROM point_history WHERE topic = 'fbf/canary'"),
        "preflight": sql("SELECT count(*) FROM point_history WHERE topic = 'fbf/preflight' AND value = 1"),
        "stored": sql("SELECT count(*) FROM point_history WHERE topic LIKE 'fbf/scale/%'"),
    });
    plan["watches"] = json!({
        "lag": { "every": "100ms", "canary": canary },
        "sys": { "every": "100ms", "mqtt_sys": counters },
    });
    plan
}

fn started() -> Bench {
    let home = tempfile::tempdir().unwrap();
    let plan = pipeline(home.path());
    let mut bench = Bench::in_home(home, &plan);
    bench.done(Call::StartTarget { fresh: false });
    bench
}

fn canary(bench: &mut Bench, mut fits: impl FnMut(&CanaryReading) -> bool) -> CanaryReading {
    bench.until(|entry| match entry {
        Entry::Canary(reading) if fits(reading) => Some(reading.clone()),
        _ => None,
    })
}

#[test]
fn a_canary_is_seen_and_lost_when_nobody_listens() {
    let mut bench = started();
    bench.done(Call::StartWatch("lag".to_owned()));
    let seen = canary(&mut bench, |reading| reading.seen.is_some());
    assert!(seen.seen.unwrap() >= seen.published && seen.number >= 1);
    bench.call(Call::TakeDown { service: "listener".to_owned(), how: TakeDown::Kill(Signal::SigKill) }).unwrap();
    let lost = canary(&mut bench, |reading| reading.seen.is_none());
    assert!(lost.number >= seen.number);
    let unseen = bench.call(Call::CanaryUnseen("lag".to_owned())).unwrap();
    assert!(matches!(unseen, Answer::Number(unseen) if unseen >= 1.0), "{unseen:?}");
    bench.done(Call::StopWatch("lag".to_owned()));
    // Each reading has one fate, and all of them are known once the canary has stopped.
    let mut numbers: Vec<u64> = bench
        .entries
        .iter()
        .filter_map(|entry| if let Entry::Canary(reading) = entry { Some(reading.number) } else { None })
        .collect();
    numbers.sort_unstable();
    let highest = *numbers.last().unwrap();
    assert_eq!(numbers, (1..=highest).collect::<Vec<u64>>());
}

#[test]
fn a_canary_goes_on_behind_the_numbers_of_the_one_before() {
    let mut bench = started();
    bench.done(Call::StartWatch("lag".to_owned()));
    let first = canary(&mut bench, |reading| reading.seen.is_some() && reading.number >= 3);
    bench.done(Call::StopWatch("lag".to_owned()));
    bench.done(Call::StartWatch("lag".to_owned()));
    let next = canary(&mut bench, |_| true);
    assert!(next.number > first.number, "{next:?} after {first:?}");
    bench.done(Call::StopWatch("lag".to_owned()));
}

#[test]
fn a_canary_that_the_broker_does_not_take_is_told_and_is_not_lost() {
    let mut bench = started();
    bench.call(Call::TakeDown { service: "broker".to_owned(), how: TakeDown::Stop }).unwrap();
    bench.done(Call::StartWatch("lag".to_owned()));
    let note = bench.event(EventKind::Note);
    assert!(
        note.subject == "lag" && note.detail.starts_with("reading 1 was not acknowledged by the broker: "),
        "{note:?}"
    );
    bench.done(Call::StopWatch("lag".to_owned()));
    let count = &bench.events(EventKind::Note).last().unwrap().detail;
    assert!(count.ends_with("readings were never acknowledged by the broker"), "{count}");
    assert!(!bench.entries.iter().any(|entry| matches!(entry, Entry::Canary(_))));
}

#[test]
fn counters_of_a_broker_that_is_down_are_gaps() {
    let mut bench = started();
    bench.done(Call::StartWatch("sys".to_owned()));
    let sample = bench.sample(|sample| sample.values.contains_key("clients"));
    assert_eq!(sample.gaps["gone"], "no message on $SYS/broker/no/such/counter so far");
    bench.call(Call::TakeDown { service: "broker".to_owned(), how: TakeDown::Kill(Signal::SigKill) }).unwrap();
    let gap = bench.sample(|sample| sample.gaps.get("*").is_some_and(|why| !why.starts_with("no answer for")));
    assert!(gap.values.is_empty(), "{gap:?}");
    bench.call(Call::BringBack { service: "broker".to_owned(), within: LIMIT }).unwrap();
    bench.sample(|sample| sample.values.contains_key("clients"));
    bench.done(Call::StopWatch("sys".to_owned()));
}

#[test]
fn a_load_is_cut_and_stopped_with_its_entries_before_the_answers() {
    let mut bench = started();
    bench.done(Call::Preflight { load: "readings".to_owned(), topic: "fbf/preflight".to_owned() });
    eventually("the preflight reading", || bench.number("preflight") == 1.0);
    bench.done(Call::StartLoad("readings".to_owned()));
    assert!(bench.failed(Call::StartLoad("readings".to_owned())).contains("runs already"));
    let slices = |bench: &Bench| bench.entries.iter().filter(|entry| matches!(entry, Entry::Slice(_))).count();
    eventually("rows", || bench.number("stored") >= 40.0);
    let before = slices(&bench);
    bench.done(Call::CutSlices);
    assert!(slices(&bench) > before);
    bench.done(Call::StopLoad("readings".to_owned()));
    let (mut due, mut acked) = (0, 0);
    for entry in &bench.entries {
        if let Entry::Slice(slice) = entry {
            (due, acked) = (due + slice.due, acked + slice.acked);
        }
    }
    assert!(acked >= 40 && acked == due, "{acked} of {due}");
    assert!(bench.entries.iter().any(|entry| matches!(entry, Entry::Ledger(_))));
    assert!(bench.failed(Call::StopLoad("readings".to_owned())).contains("does not run"));
}

#[test]
fn messages_of_the_fleet_are_acknowledged() {
    let mut bench = started();
    let publish = Call::Publish { connection: "broker".to_owned(), messages: vec!["tags".to_owned()] };
    let Ok(Answer::Published { messages, acked, .. }) = bench.call(publish) else { panic!("not published") };
    assert_eq!((messages, acked), (2, 2));
    let mut retained = |wanted, within| {
        let (connection, topics) = ("broker".to_owned(), "other/#".to_owned());
        match bench.call(Call::Retained { connection, topics, wanted, within }) {
            Ok(Answer::Retained { messages, .. }) => messages,
            other => panic!("{other:?}"),
        }
    };
    let counted = [(None, 20), (Some(2), 20), (Some(3), 1)];
    let counted = counted.map(|(wanted, seconds)| retained(wanted, Duration::from_secs(seconds)));
    assert_eq!(counted, [2, 2, 2], "as many as there are, whether so many, fewer or more are waited for");
}

#[test]
fn a_command_that_is_a_load_is_missed_when_it_ends() {
    let mut bench = started();
    bench.done(Call::StartLoad("command".to_owned()));
    bench.done(Call::StopLoad("command".to_owned()));
    assert!(bench.events(EventKind::UnexpectedExit).is_empty());
    bench.done(Call::StartLoad("command".to_owned()));
    let mut load = None;
    eventually("the command", || {
        load = sleep_started_in(bench.home.path());
        load.is_some()
    });
    kill_9(load.unwrap());
    let event = bench.event(EventKind::UnexpectedExit);
    assert_eq!(event.subject, "command");
    assert!(event.detail.starts_with("signal 9"));
}

/// The process `sleep` whose working folder is this one.
fn sleep_started_in(folder: &Path) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let fits = |process: &std::fs::DirEntry| {
        let is = |name: &str, wanted: &Path| std::fs::read_link(process.path().join(name)).is_ok_and(|is| is == wanted);
        let sleeps = std::fs::read(process.path().join("cmdline")).is_ok_and(|line| line.starts_with(b"sleep\0"));
        sleeps && is("cwd", folder)
    };
    processes.filter(fits).find_map(|process| process.file_name().to_str()?.parse().ok())
}

#[test]
fn a_target_outlives_a_quick_succession_of_calls() {
    let mut bench = started();
    bench.done(Call::StopTarget);
    bench.done(Call::StartTarget { fresh: true });
    bench.call(Call::TakeDown { service: "broker".to_owned(), how: TakeDown::Stop }).unwrap();
    let up = bench.call(Call::BringBack { service: "broker".to_owned(), within: Duration::from_secs(20) }).unwrap();
    assert!(matches!(up, Answer::Up { ready_at: Some(_), .. }), "{up:?}");
    assert!(bench.events(EventKind::UnexpectedExit).is_empty());
}
