//! The generator against a real Mosquitto: every packet accounted, whatever happens to the broker.

mod broker;
mod story;

use std::{
    collections::BTreeSet,
    fs,
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use broker::{Broker, Subscriber};
use scaler::{
    load::{
        MqttLoad,
        ceiling::calibrate,
        courier::{Delivery, SinglePublisher, publish_all},
        message::Outgoing,
        subscription::Subscription,
    },
    plan::{
        connection::Mqtt,
        load::Reconnect,
        quantity::{Count, Length},
    },
    record::entry::{EventKind, Reading},
    reference::sink,
};
use story::{Story, finish, spec, start};

/// How long a test waits for something that must come; no test says how fast it comes.
const PATIENCE: Duration = Duration::from_mins(1);

fn message(topic: &str, payload: &str, retain: bool) -> Outgoing {
    Outgoing { topic: topic.to_owned(), payload: payload.as_bytes().to_vec(), qos: 1, retain }
}

/// Publishes until the subscriber has seen it, so that the subscription is known to stand.
fn wait_until_subscribed(subscriber: &Subscriber, mqtt: &Mqtt) {
    let publisher = SinglePublisher::start(&Delivery::new(mqtt, None, "ready")).unwrap();
    let began = Instant::now();
    while !fs::read_to_string(&subscriber.file).unwrap().contains("ready") {
        assert!(began.elapsed() < PATIENCE, "the subscriber is not ready");
        publisher.publish(message("ready", "ready", false)).recv_timeout(PATIENCE).unwrap();
    }
}

#[test]
fn a_healthy_broker_gets_every_reading_once() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start(folder.path(), "allow_anonymous true");
    let subscriber = Subscriber::start(broker.port, folder.path());
    wait_until_subscribed(&subscriber, &broker.mqtt("mqtt"));
    let (running, entries) = start(&spec(broker.mqtt("mqtt")));
    let mut story = Story::default();
    story.until(&entries, "1500 acknowledged", |story| story.sum(|slice| slice.acked) > 1500);
    running.cut();
    let story = finish(running, &entries, story);
    let readings = story.check();
    assert!(story.in_doubt.is_empty(), "{:?}", story.in_doubt);
    assert_eq!(story.sum(|slice| slice.due), readings.len() as u64, "everything due was offered");
    assert_eq!(story.kinds(EventKind::Connected).len(), 2);
    assert_eq!((story.sum(|slice| slice.disconnects), story.sum(|slice| slice.resent)), (0, 0));
    let all: BTreeSet<Reading> = readings.into_iter().collect();
    subscriber.wait_for(|received| received.len() >= all.len(), "all readings");
    let received = subscriber.received();
    assert_eq!(received.len(), all.len(), "each reading once");
    assert_eq!(
        received.into_iter().collect::<BTreeSet<_>>(),
        all,
        "second, topic and value as the schedule names them"
    );
}

#[test]
fn quality_of_service_0_is_offered_and_promises_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start(folder.path(), "allow_anonymous true");
    let subscriber = Subscriber::start(broker.port, folder.path());
    wait_until_subscribed(&subscriber, &broker.mqtt("mqtt"));
    let mut spec = spec(broker.mqtt("mqtt"));
    spec.plan.qos = 0;
    let (running, entries) = start(&spec);
    let mut story = Story::default();
    story.until(&entries, "1000 offered", |story| story.sum(|slice| slice.offered) > 1000);
    let story = finish(running, &entries, story);
    let offered = story.sum(|slice| slice.offered);
    assert_eq!((story.sum(|slice| slice.due), story.sum(|slice| slice.acked), story.in_doubt.len()), (offered, 0, 0));
    subscriber.wait_for(|received| received.len() as u64 == offered, "all readings of a healthy broker");
}

/// Kills the broker under load, twice, and compares what was acknowledged with what a subscriber got.
fn every_packet_is_accounted(clean_session: bool) {
    let folder = tempfile::tempdir().unwrap();
    let mut broker = Broker::start(folder.path(), "allow_anonymous true");
    let subscriber = Subscriber::start(broker.port, folder.path());
    wait_until_subscribed(&subscriber, &broker.mqtt("mqtt"));
    let mqtt = Mqtt { clean_session, ..broker.mqtt("mqtt") };
    let (running, entries) = start(&spec(mqtt));
    let mut story = Story::default();
    for outages in 1..=2_u64 {
        let acked = story.sum(|slice| slice.acked);
        story.until(&entries, "acknowledgements before the kill", |story| story.sum(|slice| slice.acked) > acked + 500);
        broker.kill();
        story.until(&entries, "the loss is noticed", |story| story.sum(|slice| slice.disconnects) == 2 * outages);
        broker.start_again();
        story.until(&entries, "both connections are back", |story| story.sum(|slice| slice.reconnects) == 2 * outages);
    }
    let acked = story.sum(|slice| slice.acked);
    story.until(&entries, "acknowledgements after the restart", |story| story.sum(|slice| slice.acked) > acked + 1000);
    let story = finish(running, &entries, story);
    let offered: BTreeSet<Reading> = story.check().into_iter().collect();
    // A killed broker takes some readings with it, so a subscriber gets fewer; but never one that was not offered.
    let received = subscriber.wait_for(|received| received.len() > 500, "readings at the subscriber");
    assert!(received.is_subset(&offered), "{:?}", received.difference(&offered).next());
    assert!(story.in_doubt.is_empty(), "the broker is back, so that everything is acknowledged in the end");
    assert_eq!(story.kinds(EventKind::Disconnected).len(), 4, "{:?}", story.events);
    assert!(story.kinds(EventKind::Disconnected).iter().all(|detail| detail.starts_with("connection ")));
    assert!(!story.kinds(EventKind::Refused).is_empty(), "attempts while the broker was down");
}

#[test]
fn every_packet_is_accounted_over_kills_of_the_broker_with_new_sessions() {
    every_packet_is_accounted(true);
}

#[test]
fn every_packet_is_accounted_over_kills_of_the_broker_with_kept_sessions() {
    every_packet_is_accounted(false);
}

#[test]
fn what_a_dead_broker_never_acknowledged_is_in_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let mut broker = Broker::start(folder.path(), "allow_anonymous true");
    let mut spec = spec(broker.mqtt("mqtt"));
    spec.plan.ack_timeout = Length::seconds(1);
    let (running, entries) = start(&spec);
    let mut story = Story::default();
    story.until(&entries, "acknowledgements", |story| story.sum(|slice| slice.acked) > 500);
    // A frozen broker takes bytes and answers nothing: the publishes time out, and new connections are not greeted.
    broker.freeze();
    story.until(&entries, "time-outs", |story| story.sum(|slice| slice.timed_out) > 0);
    broker.kill();
    let story = finish(running, &entries, story);
    story.check();
    assert!(!story.in_doubt.is_empty(), "nobody acknowledged these");
    assert!(!story.kinds(EventKind::AckTimeout).is_empty());
    assert!(story.sum(|slice| slice.due) > story.sum(|slice| slice.offered), "the window was closed, and that shows");
}

#[test]
fn a_session_that_the_broker_kept_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start(folder.path(), "allow_anonymous true");
    for (clean_session, words) in [(false, "kept the session"), (true, "a new session")] {
        let mqtt = Mqtt { clean_session, client_id: format!("keeper-{clean_session}"), ..broker.mqtt("mqtt") };
        for round in 0..2 {
            let (running, entries) = start(&spec(mqtt.clone()));
            let mut story = Story::default();
            story.until(&entries, "connections", |story| story.kinds(EventKind::Connected).len() == 2);
            let story = finish(running, &entries, story);
            let connected = story.kinds(EventKind::Connected);
            let expected = if round == 0 { "a new session" } else { words };
            assert!(connected.iter().all(|detail| detail.contains(expected)), "round {round}: {connected:?}");
        }
    }
}

#[test]
fn a_wrong_password_is_an_event_and_nothing_is_offered() {
    let folder = tempfile::tempdir().unwrap();
    let passwords = folder.path().join("passwords");
    let made = Command::new("/usr/bin/mosquitto_passwd")
        .args(["-c", "-b"])
        .arg(&passwords)
        .args(["gen", "tr0ubador"])
        .status()
        .unwrap();
    assert!(made.success());
    let broker = Broker::start(folder.path(), &format!("allow_anonymous false\npassword_file {}", passwords.display()));
    let login = |password: &str| Mqtt {
        user: Some("gen".to_owned()),
        password: Some(password.to_owned()),
        ..broker.mqtt("mqtt")
    };

    let (running, entries) = start(&spec(login("st4ple")));
    let mut story = Story::default();
    story.until(&entries, "a refusal of each connection", |story| story.kinds(EventKind::Refused).len() == 2);
    let story = finish(running, &entries, story);
    assert!(
        story.kinds(EventKind::Refused).iter().all(|detail| detail.contains("not authorized")),
        "{:?}",
        story.events
    );
    assert_eq!((story.sum(|slice| slice.offered), story.kinds(EventKind::Connected).len()), (0, 0));
    assert!(story.sum(|slice| slice.due) > 0, "what was due is on the record");
    assert!(!story.events.iter().any(|(_, detail)| detail.contains("st4ple")), "no password anywhere");

    let (running, entries) = start(&spec(login("tr0ubador")));
    let mut story = Story::default();
    story.until(&entries, "acknowledgements", |story| story.sum(|slice| slice.acked) > 0);
    finish(running, &entries, story).check();
}

fn openssl(folder: &Path, arguments: &str) {
    let done =
        Command::new("openssl").current_dir(folder).args(arguments.split(' ')).stderr(Stdio::null()).status().unwrap();
    assert!(done.success(), "openssl {arguments}");
}

#[test]
fn tls_with_an_authority_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("san"), "subjectAltName=IP:127.0.0.1").unwrap();
    openssl(path, "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority");
    openssl(path, "req -newkey rsa:2048 -nodes -keyout broker.key -out broker.csr -subj /CN=127.0.0.1");
    openssl(
        path,
        "x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out broker.pem -days 2 -extfile san",
    );
    openssl(path, "req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -days 2 -subj /CN=other");
    let in_folder = |name: &str| path.join(name).display().to_string();
    let settings =
        format!("allow_anonymous true\ncertfile {}\nkeyfile {}", in_folder("broker.pem"), in_folder("broker.key"));
    let broker = Broker::start(path, &settings);

    let trusting =
        |ca: &str| MqttLoad { ca_pem: Some(fs::read_to_string(path.join(ca)).unwrap()), ..spec(broker.mqtt("mqtts")) };
    let (running, entries) = start(&trusting("ca.pem"));
    let mut story = Story::default();
    story.until(&entries, "acknowledgements", |story| story.sum(|slice| slice.acked) > 2000);
    let story = finish(running, &entries, story);
    story.check();
    assert!(story.in_doubt.is_empty() && story.sum(|slice| slice.resent) == 0);

    let (running, entries) = start(&trusting("other.pem"));
    let mut story = Story::default();
    story.until(&entries, "a refusal", |story| !story.kinds(EventKind::Refused).is_empty());
    let story = finish(running, &entries, story);
    assert!(story.kinds(EventKind::Refused)[0].contains("TLS"), "{:?}", story.events);
    assert_eq!(story.sum(|slice| slice.offered), 0, "nothing is told to a stranger");
}

#[test]
fn finite_messages_survive_a_restart_of_the_broker() {
    let folder = tempfile::tempdir().unwrap();
    let mut broker = Broker::start(folder.path(), "allow_anonymous true");
    let mut delivery = Delivery::new(&broker.mqtt("mqtt"), None, "tags");
    delivery.inflight = 50;
    delivery.reconnect = Reconnect { first: Length::millis(20), max: Length::millis(100), ..Reconnect::default() };
    let total = 3_000;
    let messages = (0..total).map(|number| Ok(message(&format!("m/{number}"), &number.to_string(), true)));
    let mut restarted = false;
    let progress = |acked| {
        if acked > 500 && !restarted {
            restarted = true;
            broker.kill();
            broker.start_again();
        }
    };
    let published = publish_all(&delivery, messages, progress, &AtomicBool::new(false)).unwrap();
    assert!(restarted);
    assert_eq!((published.messages, published.acked), (total, total));
    // The broker lost what it kept; the last message came after the restart, so it is there.
    let last = format!("m/{}", total - 1);
    let subscription = Subscription::start(&broker.mqtt("mqtt"), None, "look", vec![last.clone()]).unwrap();
    let began = Instant::now();
    while subscription.latest(&last).is_none() {
        assert!(began.elapsed() < PATIENCE, "{:?}", subscription.trouble());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(subscription.latest(&last).unwrap().payload, (total - 1).to_string().as_bytes());
}

#[test]
fn finite_messages_can_be_interrupted_and_give_up_with_the_reason() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start(folder.path(), "allow_anonymous true");
    let nowhere = Mqtt { url: format!("mqtt://127.0.0.1:{port}"), ..broker.mqtt("mqtt") };
    let mut delivery = Delivery::new(&nowhere, None, "tags");
    delivery.patience = Duration::from_millis(300);
    let error = publish_all(&delivery, std::iter::once(Ok(message("m", "1", false))), |_| {}, &AtomicBool::new(false))
        .unwrap_err();
    assert!(error.contains("refused"), "{error}");

    let delivery = Delivery::new(&broker.mqtt("mqtt"), None, "endless");
    let interrupt = AtomicBool::new(false);
    let endless = std::iter::repeat_with(|| Ok(message("m", "1", false)));
    let published =
        publish_all(&delivery, endless, |acked| interrupt.store(acked > 100, Ordering::Relaxed), &interrupt).unwrap();
    assert!(published.acked > 100 && published.messages >= published.acked, "{published:?}");
}

#[test]
fn the_brokers_own_counters_are_kept_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut broker = Broker::start(folder.path(), "allow_anonymous true");
    let topic = "$SYS/broker/clients/connected";
    let filters = vec![topic.to_owned(), "$SYS/no/such/topic".to_owned()];
    let subscription = Subscription::start(&broker.mqtt("mqtt"), None, "sys", filters).unwrap();
    let first = wait_for_latest(&subscription, topic, None);
    broker.kill();
    broker.start_again();
    wait_for_latest(&subscription, topic, Some(first));
    assert_eq!(subscription.latest("$SYS/no/such/topic"), None);
}

fn wait_for_latest(subscription: &Subscription, topic: &str, after: Option<Instant>) -> Instant {
    let began = Instant::now();
    loop {
        if let Some(latest) = subscription.latest(topic).filter(|latest| after.is_none_or(|after| latest.at > after)) {
            assert!(String::from_utf8(latest.payload).unwrap().parse::<u64>().is_ok());
            return latest.at;
        }
        assert!(began.elapsed() < PATIENCE, "{:?}", subscription.trouble());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_quiet_connection_is_kept_alive_and_a_frozen_broker_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start(folder.path(), "allow_anonymous true\nlog_type all");
    let mqtt = Mqtt { keep_alive: Length::seconds(1), ..broker.mqtt("mqtt") };
    let mut spec = spec(mqtt);
    spec.plan.interval = Length::seconds(3600);
    spec.fleet.points = Count(1);
    let (running, entries) = start(&spec);
    let began = Instant::now();
    while broker.log().matches("Received PINGREQ from scaler-readings-0").count() < 3 {
        assert!(began.elapsed() < PATIENCE, "no pings");
        std::thread::sleep(Duration::from_millis(20));
    }
    broker.freeze();
    let mut story = Story::default();
    story.until(&entries, "the loss is noticed", |story| story.sum(|slice| slice.disconnects) == 1);
    drop(broker);
    let story = finish(running, &entries, story);
    story.check();
    assert!(story.kinds(EventKind::Disconnected)[0].contains("nothing heard"), "{:?}", story.events);
    assert_eq!((story.sum(|slice| slice.due), story.sum(|slice| slice.acked)), (1, 1));
}

#[test]
fn a_calibration_measures_both_ways_of_running() {
    let sink = sink::spawn().unwrap();
    let calibration = calibrate(&format!("mqtt://{}", sink.addr()), Duration::from_millis(300)).unwrap();
    for reached in [calibration.unbounded, calibration.paced] {
        assert!(reached.acked_per_s > 0.0 && reached.cpu_s_per_million > 0.0 && reached.cpu_pct > 0.0, "{reached:?}");
        assert!(reached.schedule_lag_p50_ms <= reached.schedule_lag_p99_ms, "{reached:?}");
    }
    assert!(calibration.unbounded.offered_ratio < 1.0, "its rate is out of reach");
    assert!(sink.acknowledged() > 0);
    let nobody = calibrate("mqtt://127.0.0.1:1", Duration::from_millis(1));
    assert!(nobody.unwrap_err().contains("acknowledged nothing"));
}
