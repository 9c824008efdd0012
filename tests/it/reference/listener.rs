//! The listener commits before it acknowledges, so a kill loses nothing.

use std::thread;

use rusqlite::Connection;

use super::services::{Broker, Raw, free, readings, sqlite, until};

/// Every reading of a run, as the store has to hold it, in order.
pub(super) fn expected(points: u64, times: u64) -> Vec<(String, i64, f64)> {
    let parse = |(topic, payload): (String, String)| {
        let payload: serde_json::Value = serde_json::from_str(&payload).unwrap();
        (topic, payload["ts"].as_i64().unwrap(), payload["value"].as_f64().unwrap())
    };
    let mut all: Vec<_> = readings(points, times).map(parse).collect();
    all.sort_by(|left, right| left.partial_cmp(right).unwrap());
    all
}

fn number(path: &str, statement: &str) -> i64 {
    Connection::open(path).unwrap().query_row(statement, [], |row| row.get(0)).unwrap()
}

fn history(path: &str) -> Vec<(String, i64, f64)> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT topic, ts, value FROM point_history ORDER BY topic, ts").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn a_killed_listener_loses_no_acknowledged_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let broker = Broker::start(&["--queue", "200000"], &[]);
    let mut listener = broker.listener(&path, &[]);
    let mqtt = broker.mqtt;
    let publishing =
        thread::spawn(move || Raw::named(mqtt, "publisher", false).0.publish_all(readings(500, 100), true));
    let mut at = 0;
    for _ in 0..3 {
        // Each kill comes after at least some more rows, and most of the time in the middle of a batch.
        until("rows arrive", || number(&path, "SELECT count(*) FROM point_history") > at);
        listener.kill();
        at = number(&path, "SELECT count(*) FROM point_history");
        listener = broker.listener(&path, &[]);
    }
    assert_eq!(publishing.join().unwrap(), 50_000);
    until("the store is at rest", || broker.service.truth("/acked_by_session/listener") >= 50_000);
    assert_eq!(history(&path), expected(500, 100));
    assert_eq!(broker.service.truth("/dropped_queue_full"), 0);
    assert_eq!(broker.service.truth("/acked_by_session/listener"), 50_000, "each delivery is acknowledged once");
    assert_eq!(
        number(&path, "SELECT coalesce(max(rowid), 0) FROM point_history"),
        50_000,
        "the last rowid is the number of rows"
    );
    assert_eq!(listener.truth("/conflicts"), 0);
    assert!(listener.terminate());
}

#[test]
fn a_listener_told_to_end_acknowledges_or_leaves_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let mut broker = Broker::start(&["--queue", "200000"], &[]);
    let mut listener = broker.listener(&path, &[]);
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    publisher.publish_all(readings(500, 20), false);
    assert!(listener.terminate());
    publisher.publish_all(readings(500, 40).skip(10_000), false);
    let mut listener = broker.listener(&path, &[]);
    until("all is acknowledged", || broker.service.truth("/acked_by_session/listener") == 20_000);
    assert_eq!(history(&path), expected(500, 40));
    assert!(listener.terminate());
    assert!(broker.service.terminate());
}

#[test]
fn copies_are_absorbed_conflicts_are_counted_and_nonsense_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let broker = Broker::start(&[], &[]);
    let listener = broker.listener(&path, &[]);
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    let message = |topic: &str, payload: &str| (topic.to_owned(), payload.to_owned());
    let messages = [
        message("fbf/s/e/equip/tags", r#"{"tags":"{\"equip\":true}","points":["flow"]}"#),
        message("fbf/s/e/flow/tags", r#"{"tags":"{\"point\":true}"}"#),
        message("fbf/s/e/flow", r#"{"value":1.5,"ts":1000}"#),
        message("fbf/s/e/flow", r#"{"value":1.5,"ts":1.0}"#),
        message("fbf/s/e/flow", r#"{"value":2.5,"ts":"1970-01-01T00:00:01Z"}"#),
        message("fbf/s/e/flow", "nonsense"),
        message("fbf/s/e/flow/tags", "[]"),
        message("fbf/s/e/flow", r#"{"value":3.5,"ts":2000}"#),
    ];
    publisher.publish_all(messages, false);
    until("all is acknowledged", || broker.service.truth("/acked_by_session/listener") == 8);
    let truth = listener.json("/truth");
    for (name, count) in
        [("received", 8), ("acknowledged", 8), ("rows", 2), ("duplicates", 2), ("conflicts", 1), ("unparsable", 2)]
    {
        assert_eq!(truth[name], count, "{name}");
    }
    assert_eq!(history(&path), [("fbf/s/e/flow".to_owned(), 1000, 1.5), ("fbf/s/e/flow".to_owned(), 2000, 3.5)]);
    assert_eq!(
        number(&path, "SELECT count(*) FROM point_tags WHERE topic = 'fbf/s/e/flow' AND tags = '{\"point\":true}'"),
        1
    );
    assert_eq!(number(&path, "SELECT count(*) FROM equip_tags WHERE topic = 'fbf/s/e' AND points = '[\"flow\"]'"), 1);
    assert!(listener.get("/metrics").unwrap().1.contains("\nscaler_listener_rows_committed_total 2\n"));
}

#[test]
fn it_finds_a_broker_that_was_replaced_and_refuses_wrong_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let (mqtt, http) = (free().to_string(), free());
    let env = [("SCALER_BROKER_ACCOUNTS", "a:b")];
    let start = || super::services::Service::start("broker", "--http", http, &["--listen", &mqtt], &env);
    let mut broker = start();
    let args = ["--broker", &mqtt, "--store", &path, "--subscribe", "#"];
    let login = [("SCALER_BROKER_USER", "a"), ("SCALER_BROKER_PASSWORD", "b")];
    let listener = super::services::Service::start("listener", "--http", free(), &args, &login);
    broker.kill();
    until("it notices", || listener.get("/health").unwrap().0 == 503);
    let broker = start();
    until("it subscribes again", || listener.get("/health").unwrap().0 == 200);
    assert_eq!(listener.truth("/connects"), 2);
    let mut connect = rumqttc::mqttbytes::v4::Connect::new("publisher");
    connect.set_login("a", "b");
    let (mut publisher, _) = Raw::connect(mqtt.parse().unwrap(), &connect);
    publisher.publish_all(readings(10, 10), false);
    until("all is acknowledged", || broker.truth("/acked_by_session/listener") == 100);
    assert_eq!(history(&path), expected(10, 10));

    let mut refused = std::process::Command::new(env!("CARGO_BIN_EXE_scaler"));
    refused.args(["reference", "listener", "--http", "127.0.0.1:0"]).args(args);
    let output = refused.env("SCALER_BROKER_USER", "a").env("SCALER_BROKER_PASSWORD", "planted").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(message.contains("refuses the listener: CONNACK code 4"), "{message}");
    assert!(!message.contains("planted"));
}
