//! The read API's answers.

use super::services::{Broker, Raw, Service, free, readings, sqlite, until};

#[test]
fn it_answers_points_equips_values_history_and_status() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let broker = Broker::start(&["--queue", "200000"], &[]);
    let mut api = Service::start_unready("api", "--listen", free(), &["--store", &path], &[]);
    until("it answers", || api.get("/health").is_some_and(|(status, _)| status == 503));
    let _listener = broker.listener(&path, &[]);
    until("the store is there", || api.get("/health").unwrap().0 == 200);

    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    publisher
        .publish_all([("fbf/scale/s0/e0/equip/tags".to_owned(), r#"{"tags":"{}","points":["p0"]}"#.to_owned())], true);
    let tags =
        (0..50).map(|point| (format!("fbf/scale/s0/e0/p{point}/tags"), r#"{"tags":"{\"point\":true}"}"#.to_owned()));
    publisher.publish_all(tags, true);
    publisher.publish_all(readings(50, 200), true);
    until("all is stored", || broker.service.truth("/acked_by_session/listener") == 10_051);

    let points = api.json("/points");
    assert_eq!(points.as_array().unwrap().len(), 50);
    assert_eq!((&points[0]["topic"], &points[0]["tags"]), (&"fbf/scale/s0/e0/p0".into(), &r#"{"point":true}"#.into()));
    let equips = api.json("/equips");
    assert_eq!((&equips[0]["topic"], &equips[0]["points"]), (&"fbf/scale/s0/e0".into(), &r#"["p0"]"#.into()));
    let values = api.json("/values");
    assert_eq!(values.as_array().unwrap().len(), 50);
    assert_eq!((&values[1]["topic"], &values[1]["value"]), (&"fbf/scale/s0/e0/p1".into(), &203.25.into()));

    let history = api.json("/history?points=3");
    assert_eq!(history.as_array().unwrap().len(), 3);
    assert_eq!(history[0]["readings"].as_array().unwrap().len(), 100);
    assert_eq!(history[0]["readings"][0], serde_json::json!([1_790_000_995_000_i64, 199.25]));
    let one = api.json("/history?topic=fbf%2Fscale/s0/e0/p7&limit=2");
    assert_eq!(one[0]["readings"].as_array().unwrap().len(), 2);
    for bad in ["/history", "/history?points=x", "/history?points=1&topic=a", "/history?points=1&limit=0"] {
        assert_eq!(api.get(bad).unwrap().0, 400, "{bad}");
    }
    assert_eq!(api.get("/nowhere").unwrap().0, 404);

    let status = api.json("/status");
    assert_eq!((&status["ok"], &status["rows"], &status["points"]), (&true.into(), &10_000.into(), &50.into()));
    assert!(api.get("/metrics").unwrap().1.contains("scaler_api_requests_total 6\n"));
    assert_eq!(api.truth("/rows_slowed"), 0);
    assert!(api.terminate());
}
