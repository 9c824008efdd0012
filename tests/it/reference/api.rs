//! The read API's answers.

use serde_json::{Value, json};

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

/// Two equipments of a site, two points each, and one of another site; each point has the readings 1 and 2 of this moment.
pub(super) fn folds_what_was_published_just_now(broker: &Broker, api: &Service) {
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    let points = ["s0/e0/a", "s0/e0/b", "s0/e1/a", "s0/e1/b", "s1/e9/a"].map(|point| format!("fbf/scale/{point}"));
    let tags = |topic: String, tags: &str| (topic, json!({ "tags": tags, "points": ["a"] }).to_string());
    let equips = ["s0/e0", "s0/e1", "s1/e9"].map(|equip| format!("fbf/scale/{equip}/equip/tags"));
    publisher.publish_all(equips.map(|topic| tags(topic, r#"{"equip":true}"#)), true);
    publisher.publish_all(points.clone().map(|topic| tags(format!("{topic}/tags"), r#"{"point":true}"#)), true);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    for value in [1_u32, 2] {
        let reading =
            |topic: &String| (topic.clone(), json!({ "value": value, "ts": now + u128::from(value) }).to_string());
        publisher.publish_all(points.iter().map(reading), true);
    }
    until("all is stored", || broker.service.truth("/acked_by_session/listener") == 18);

    let rows = |path: &str| api.json(path)["rows"].as_array().unwrap_or_else(|| panic!("{path}")).clone();
    let read = rows("/api/scale/read?filter=point&limit=all");
    assert_eq!((read.len(), &read[0]), (5, &json!({ "id": "fbf/scale/s0/e0/a", "point": true })));
    assert_eq!(rows("/api/scale/read?filter=point&limit=2").len(), 2);
    assert_eq!(rows("/api/scale/read?filter=equip").len(), 3);
    for bad in ["read?filter=site", "read?filter=point&limit=x", "eval?expr=1", "hisRead?filter=point"] {
        assert_eq!(api.get(&format!("/api/scale/{bad}")).unwrap().0, 400, "{bad}");
    }
    assert_eq!(api.json("/ops/status")["ok"], true);

    // At midnight, UTC, a reading may be yesterday's already and a stretch may end between the two.
    let expected = |row: &Value| (row["rows"].as_i64(), row["mean"].as_f64());
    let today = rows("/api/scale/eval?expr=readAll(equip).hisRead(today)");
    assert_eq!(
        (today.len(), expected(&today[0]), expected(&today[2])),
        (3, (Some(4), Some(1.5)), (Some(2), Some(1.5)))
    );
    let history = rows("/api/scale/hisRead?filter=point&limit=3&range=today");
    assert_eq!((history.len(), &history[0]["id"]), (3, &json!("fbf/scale/s0/e0/a")));
    assert_eq!(history[0]["his"][0][1], 1.5);
}

#[test]
fn it_answers_the_paths_of_the_organisation_keeps_rules_and_reports_on_a_site() {
    let folder = tempfile::tempdir().unwrap();
    let path = sqlite(folder.path());
    let broker = Broker::start(&[], &[]);
    let _listener = broker.listener(&path, &[]);
    let api = Service::start("api", "--listen", free(), &["--store", &path], &[]);
    folds_what_was_published_just_now(&broker, &api);

    let rule = |low: i32| json!({ "name": "range", "low": low });
    assert_eq!(api.post("/api/scale/rules", &rule(1), None), (201, rule(1)));
    assert_eq!(api.post("/api/scale/rules", &rule(2), None).0, 201);
    assert_eq!(api.json("/api/scale/rules")["rows"], json!([rule(2)]));
    assert_eq!(api.post("/api/scale/rules", &json!({ "low": 1 }), None).0, 400);

    assert_eq!(api.post("/api/scale/cx/runs", &json!({ "hours": 1 }), None).0, 400);
    assert_eq!(api.get("/api/scale/cx/runs").unwrap().0, 405);
    let (status, run) = api.post("/api/scale/cx/runs", &json!({ "site": "s0", "hours": 1 }), None);
    assert_eq!((status, &run["state"]), (201, &json!("running")));
    let run = format!("/api/scale/cx/runs/{}", run["id"]);
    until("it reports", || api.json(&run)["state"] == "done");
    let report = api.json(&format!("{run}/report"));
    assert_eq!((&report["points"], &report["silent"], &report["readings"]), (&json!(4), &json!(0), &json!(8)));
    assert_eq!(api.get("/api/scale/cx/runs/99").unwrap().0, 404);
    assert_eq!(api.get("/api/scale/cx/runs/99/report").unwrap().0, 404);
}
