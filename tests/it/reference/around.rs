//! What stands around the pipeline: the lazy daemon, the store-and-forward stage, and jobs.

use std::time::Duration;

use super::services::{Broker, Raw, Service, free, readings, until};

#[test]
fn a_daemon_that_thinks_misses_what_its_queue_does_not_hold_and_its_heart_beats_on() {
    let broker = Broker::start(&["--fault", "small_queue=daemon:20"], &[]);
    let address = broker.mqtt.to_string();
    let args = ["--broker", &address, "--subscribe", "fbf/#", "--think-ms", "5", "--beat-ms", "20"];
    let daemon = Service::start("daemon", "--http", free(), &args, &[]);
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    assert_eq!(publisher.publish_all(readings(500, 20), false), 10_000);
    let dropped = broker.service.truth("/dropped_by_session/daemon");
    assert!(dropped > 0, "a queue of 20 is full");
    until("the daemon has taken what was not dropped", || daemon.truth("/received") + dropped == 10_000);
    assert_eq!(broker.service.truth("/dropped_by_session/daemon"), dropped);
    let beats = daemon.json("/beats")["beats"].as_u64().expect("a count");
    until("the heart beats on", || daemon.truth("/beats") > beats);
}

#[test]
fn a_stage_keeps_what_it_acknowledged_while_its_upstream_is_away_and_drains_in_order() {
    let broker = Broker::start(&["--queue", "200000"], &[]);
    let (mut subscriber, _) = Raw::named(broker.mqtt, "subscriber", false);
    subscriber.subscribe("fbf/#");
    let (listen, upstream) = (free(), broker.mqtt.to_string());
    let text = listen.to_string();
    let args = ["--listen", &text, "--upstream", &upstream, "--retry-ms", "50", "--fault", "away=1000:1s"];
    let stage = Service::start("forward", "--http", free(), &args, &[]);
    let (mut publisher, _) = Raw::named(listen, "publisher", false);
    assert_eq!(publisher.publish_all(readings(100, 30), false), 3_000, "acknowledged although the upstream is away");
    assert!(stage.truth("/buffered_max") >= 1_000);
    until("all is forwarded", || stage.truth("/forwarded") == 3_000 && stage.truth("/buffered") == 0);
    let expected: Vec<(String, String)> = readings(100, 30).collect();
    let mut next = 0;
    while next < expected.len() {
        let publish = subscriber.publish();
        let payload = String::from_utf8(publish.payload.to_vec()).expect("text");
        // What was on its way when the upstream went comes again; nothing is left out and nothing overtakes.
        let known = expected[..=next].iter().rposition(|sent| *sent == (publish.topic.clone(), payload.clone()));
        next = known.expect("no reading overtakes another") + 1;
        subscriber.ack(publish.pkid);
    }
    assert_eq!(stage.json("/truth")["away_total_s"], Duration::from_secs(1).as_secs_f64());
}

#[test]
fn a_job_is_begun_and_asked_for_until_it_reports() {
    let folder = tempfile::tempdir().unwrap();
    let store = super::services::sqlite(folder.path());
    let broker = Broker::start(&[], &[]);
    let _listener = broker.listener(&store, &[]);
    let api = Service::start("api", "--listen", free(), &["--store", &store, "--job-ms", "100"], &[]);
    let (mut publisher, _) = Raw::named(broker.mqtt, "publisher", false);
    publisher.publish_all([("fbf/scale/s0/e0/p1/tags".to_owned(), r#"{"tags":"{}"}"#.to_owned())], false);
    publisher.publish_all(readings(2, 3), false);
    until("all is stored", || broker.service.truth("/acked_by_session/listener") == 7);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let begun =
        agent.post(format!("http://{}/jobs", api.http)).send_empty().unwrap().body_mut().read_to_string().unwrap();
    let begun: serde_json::Value = serde_json::from_str(&begun).unwrap();
    assert_eq!((&begun["id"], &begun["state"]), (&1.into(), &"running".into()));
    until("the job reports", || api.json("/jobs/1")["state"] == "done");
    let report = serde_json::json!({ "points": 1, "silent": 0, "rows": 3, "mean": 5.25 });
    assert_eq!(api.json("/jobs/1")["report"], report);
    assert_eq!(api.get("/jobs/2").map(|(status, _)| status), Some(404));
    assert_eq!(api.get("/jobs").map(|(status, _)| status), Some(405), "a job is begun by POST");
    assert_eq!((api.truth("/jobs_begun"), api.truth("/jobs_done")), (1, 1));
}
