//! Each fault, and its count of the truth against what a client or the store can see.

use std::{collections::BTreeSet, thread, time::Duration};

use rusqlite::Connection;
use serde_json::Value;

use super::{
    listener::expected,
    services::{Broker, Raw, Service, free, readings, sqlite, until},
};

fn stored(path: &str) -> BTreeSet<(String, i64)> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT topic, ts FROM point_history").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

fn published(points: u64, times: u64) -> BTreeSet<(String, i64)> {
    expected(points, times).into_iter().map(|(topic, ts, _)| (topic, ts)).collect()
}

#[test]
fn drop_after_ack_loses_exactly_the_readings_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let broker = Broker::start(&["--queue", "200000", "--fault", "drop_after_ack=1000"], &[]);
    let _listener = broker.listener(&path, &[]);
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    let tags = (0..3_000).map(|point| (format!("fbf/scale/s0/e0/p{point}/tags"), r#"{"tags":"{}"}"#.to_owned()));
    assert_eq!(publisher.publish_all(tags, true), 3_000);
    let canaries = (0..3_000).map(|ts| ("fbf/canary/lag".to_owned(), format!(r#"{{"value":{ts},"ts":{ts}}}"#)));
    assert_eq!(publisher.publish_all(canaries, false), 3_000);
    assert_eq!(publisher.publish_all(readings(500, 50), true), 25_000);
    until("all else is stored", || broker.service.truth("/acked_by_session/listener") == 31_000 - 25);

    let truth = broker.service.json("/truth?names=1");
    assert_eq!(truth["dropped_after_ack"], 25);
    assert_eq!(truth["acknowledged"], 31_000);
    let name = |named: &Value| {
        let payload: Value = serde_json::from_str(named["payload"].as_str().unwrap()).unwrap();
        (named["topic"].as_str().unwrap().to_owned(), payload["ts"].as_i64().unwrap())
    };
    let named: BTreeSet<_> = truth["names"]["dropped_after_ack"].as_array().unwrap().iter().map(name).collect();
    let stored = stored(&path);
    let missing: BTreeSet<_> = published(500, 50).difference(&stored).cloned().collect();
    assert_eq!(missing, named);
    assert_eq!(missing.len(), 25);
    assert_eq!(stored.iter().filter(|(topic, _)| topic == "fbf/canary/lag").count(), 3_000, "canaries are spared");
    let (_, metrics) = broker.service.get("/metrics").unwrap();
    assert!(metrics.contains("scaler_broker_messages_dropped_total 0\n"), "the broker's own metrics hide it");
}

#[test]
fn ack_before_commit_loses_by_a_kill_exactly_what_was_acknowledged_and_not_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let broker = Broker::start(&["--queue", "200000"], &[]);
    let mut listener = broker.listener(&path, &["--fault", "ack_before_commit"]);
    let mqtt = broker.mqtt;
    let publishing = thread::spawn(move || {
        let (mut publisher, _) = Raw::named(mqtt, "publisher", false);
        // Slow enough that the kill comes in the middle.
        let slowly = readings(100, 40).collect::<Vec<_>>();
        slowly
            .chunks(100)
            .map(|chunk| {
                thread::sleep(Duration::from_millis(20));
                publisher.publish_all(chunk.to_vec(), false)
            })
            .sum::<u64>()
    });
    until("readings are acknowledged and not committed", || {
        listener.truth("/rows") > 0 && listener.truth("/acknowledged_uncommitted") >= 100
    });
    listener.kill();
    assert_eq!(publishing.join().unwrap(), 4_000);
    let acknowledged = settled(|| broker.service.truth("/acked_by_session/listener"));
    let committed = stored(&path).len() as u64;
    let lost = acknowledged - committed;
    assert!(lost >= 100, "{acknowledged} acknowledged, {committed} committed");

    // A healthy listener takes over: what was not acknowledged arrives, what was is gone.
    let healthy = broker.listener(&path, &[]);
    until("the rest is acknowledged", || broker.service.truth("/acked_by_session/listener") == 4_000);
    let missing: BTreeSet<_> = published(100, 40).difference(&stored(&path)).cloned().collect();
    assert_eq!(missing.len() as u64, lost);
    assert_eq!(healthy.truth("/acknowledged_uncommitted"), 0);
}

#[test]
fn ack_before_commit_loses_nothing_when_told_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let broker = Broker::start(&["--queue", "200000"], &[]);
    let mut listener = broker.listener(&path, &["--fault", "ack_before_commit"]);
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    publisher.publish_all(readings(100, 50), false);
    until("all is acknowledged", || broker.service.truth("/acked_by_session/listener") == 5_000);
    assert!(listener.terminate());
    assert_eq!(stored(&path), published(100, 50));
}

/// A count once it has not moved for a while.
fn settled(count: impl Fn() -> u64) -> u64 {
    let mut last = count();
    loop {
        thread::sleep(Duration::from_millis(200));
        let now = count();
        if now == last {
            return now;
        }
        last = now;
    }
}

#[test]
fn slow_reads_count_the_rows_and_the_delay() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let broker = Broker::start(&[], &[]);
    let _listener = broker.listener(&path, &[]);
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    let tags = (0..200).map(|point| (format!("fbf/scale/s0/e0/p{point}/tags"), r#"{"tags":"{}"}"#.to_owned()));
    publisher.publish_all(tags, true);
    until("the tags are stored", || broker.service.truth("/acked_by_session/listener") == 200);
    let api = Service::start("api", "--listen", free(), &["--store", &path, "--fault", "slow_reads=50us"], &[]);
    assert_eq!(api.json("/points").as_array().unwrap().len(), 200);
    assert_eq!(api.json("/history?points=10").as_array().unwrap().len(), 10);
    let truth = api.json("/truth");
    assert_eq!((truth["rows_slowed"].as_u64(), truth["delay_total_s"].as_f64()), (Some(200), Some(0.01)));
}

#[test]
fn without_a_fault_nothing_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let broker = Broker::start(&["--queue", "200000", "--fault", "none"], &[]);
    let listener = broker.listener(&path, &["--fault", "none"]);
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    publisher.publish_all(readings(500, 20), true);
    until("all is stored", || broker.service.truth("/acked_by_session/listener") == 10_000);
    assert_eq!(stored(&path), published(500, 20));
    for name in
        ["dropped_after_ack", "denied_by_acl", "dropped_queue_full", "not_retained", "malformed", "keep_alive_lost"]
    {
        assert_eq!(broker.service.truth(&format!("/{name}")), 0, "{name}");
    }
    for name in ["duplicates", "conflicts", "unparsable", "acknowledged_uncommitted", "store_failures", "redelivered"] {
        assert_eq!(listener.truth(&format!("/{name}")), 0, "{name}");
    }
}
