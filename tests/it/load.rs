//! The generator against a real Mosquitto: every packet accounted, whatever happens to the broker.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::TcpListener,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use scaler::{
    load::{
        self, MqttLoad, RunClock, Running,
        courier::{Delivery, SinglePublisher, publish_all},
        expected::Expected,
        message::Outgoing,
        subscription::Subscription,
    },
    plan::{
        connection::Mqtt,
        fleet::Fleet,
        load::{MqttPublish, Reconnect, TimestampFormat},
        quantity::{Count, Length, Share},
    },
    record::entry::{Entry, EventKind, Reading, Schedule, Second, Slice},
};
use serde_json::json;

/// How long a test waits for something that must come; no test says how fast it comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Mosquitto of the test's own; killed and reaped when it is dropped.
struct Broker {
    folder: PathBuf,
    port: u16,
    process: Child,
}

impl Broker {
    /// Starts one with these lines after its `listener`.
    fn start(folder: &Path, settings: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "listener {port} 127.0.0.1\n{settings}\nmax_inflight_messages 0\nmax_queued_messages 1000000\nuser root\nsys_interval 1\n"
        );
        fs::write(folder.join("mosquitto.conf"), config).unwrap();
        let mut broker = Self { folder: folder.to_owned(), port, process: spawn(folder) };
        broker.wait_until_it_listens();
        broker
    }

    fn wait_until_it_listens(&mut self) {
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(began.elapsed() < PATIENCE, "mosquitto does not listen");
            assert_eq!(
                self.process.try_wait().unwrap(),
                None,
                "{}",
                fs::read_to_string(self.folder.join("log")).unwrap()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        assert_eq!(self.process.wait().unwrap().signal(), Some(9));
    }

    fn start_again(&mut self) {
        self.process = spawn(&self.folder);
        self.wait_until_it_listens();
    }

    fn mqtt(&self, scheme: &str) -> Mqtt {
        Mqtt {
            url: format!("{scheme}://127.0.0.1:{}", self.port),
            user: None,
            password: None,
            client_id: "scaler".to_owned(),
            clean_session: true,
            keep_alive: Length::seconds(30),
            ca_file: None,
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(folder: &Path) -> Child {
    let log = fs::File::create(folder.join("log")).unwrap();
    let mut command = Command::new("/usr/sbin/mosquitto");
    command.arg("-c").arg(folder.join("mosquitto.conf")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().expect("mosquitto is installed by tests/run")
}

/// A load of 2000 readings a second over two connections.
fn spec(mqtt: Mqtt) -> MqttLoad {
    let plan = MqttPublish {
        connection: "broker".to_owned(),
        interval: Length::millis(500),
        topic: "t/s{{ site }}/e{{ equip }}/{{ label }}".to_owned(),
        payload: json!({"point": "{{ topic }}", "value": "{{ value }}", "ts": "{{ ts }}"}),
        ts: TimestampFormat::UnixMs,
        qos: 1,
        retain: false,
        connections: 2,
        inflight: 500,
        ack_timeout: Length::seconds(10),
        catch_up: Share(4.0),
        reconnect: Reconnect { first: Length::millis(20), max: Length::millis(100), ..Reconnect::default() },
        preflight: None,
    };
    let fleet = Fleet { points: Count(1000), points_per_equip: 10, equips_per_site: 50, labels: Vec::new() };
    MqttLoad { name: "readings".to_owned(), plan, fleet, mqtt, ca_pem: None }
}

fn start(spec: &MqttLoad) -> (Running, Receiver<load::LoadEvent>) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let wall_unix_ms_at_start = u64::try_from(since.as_millis()).unwrap();
    let clock = RunClock { start: Instant::now(), wall_unix_ms_at_start };
    let (out, entries) = mpsc::channel();
    (load::start(spec, clock, out).unwrap(), entries)
}

/// Everything that a load said.
#[derive(Default)]
struct Story {
    slices: Vec<Slice>,
    seconds: BTreeMap<i64, Second>,
    in_doubt: Vec<Reading>,
    schedule: Option<Schedule>,
    events: Vec<(EventKind, String)>,
}

impl Story {
    fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Slice(slice) => self.slices.push(slice),
            Entry::Ledger(ledger) => {
                self.seconds.extend(ledger.seconds.into_iter().map(|second| (second.second, second)))
            }
            Entry::InDoubt(in_doubt) => self.in_doubt.extend(in_doubt.readings),
            Entry::Schedule(schedule) => self.schedule = Some(schedule),
            Entry::Event(event) => self.events.push((event.kind, event.detail)),
            other => panic!("a load does not say {other:?}"),
        }
    }

    /// Listens until a condition holds.
    fn until(&mut self, entries: &Receiver<load::LoadEvent>, what: &str, holds: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            assert!(began.elapsed() < PATIENCE, "never: {what}; events: {:?}", self.events);
            if let Ok(event) = entries.recv_timeout(Duration::from_millis(100)) {
                self.take(event.0);
            }
        }
    }

    fn sum(&self, part: fn(&Slice) -> u64) -> u64 {
        self.slices.iter().map(part).sum()
    }

    fn kinds(&self, kind: EventKind) -> Vec<&str> {
        self.events.iter().filter(|(other, _)| *other == kind).map(|(_, detail)| detail.as_str()).collect()
    }

    /// What holds for every load, whatever happened to it.
    fn check(&self) -> Vec<Reading> {
        let total = |part: fn(&Second) -> u64| self.seconds.values().map(part).sum::<u64>();
        assert_eq!(total(|second| second.due), self.sum(|slice| slice.due), "the ledger and the slices agree on due");
        assert_eq!(total(|second| second.offered), self.sum(|slice| slice.offered), "on offered");
        assert_eq!(total(|second| second.acked), self.sum(|slice| slice.acked), "on acknowledged");
        assert_eq!(total(|second| second.resent), self.sum(|slice| slice.resent), "on resent");
        let offered = total(|second| second.offered);
        assert_eq!(
            offered,
            total(|second| second.acked) + self.in_doubt.len() as u64,
            "each one is acknowledged or in doubt"
        );
        for pair in self.slices.windows(2) {
            assert!((pair[0].to - pair[1].from).abs() < f64::EPSILON, "slices leave no gap");
        }
        let expected = Expected::new(self.schedule.clone().unwrap()).unwrap();
        let doubt: BTreeSet<&Reading> = self.in_doubt.iter().collect();
        let mut readings = Vec::new();
        for (second, counts) in &self.seconds {
            let of_second: Vec<Reading> = expected.readings(*second).collect();
            assert_eq!(of_second.len() as u64, counts.offered, "the schedule names what was offered in {second}");
            let sure = of_second.iter().filter(|reading| !doubt.contains(reading));
            let sum: i64 = sure.map(|reading| reading.value).sum();
            assert_eq!(sum, counts.acked_sum, "the sum of the acknowledged values of {second}");
            readings.extend(of_second);
        }
        assert_eq!(readings.len() as u64, offered);
        readings
    }
}

fn finish(running: Running, entries: &Receiver<load::LoadEvent>, mut story: Story) -> Story {
    running.stop().unwrap();
    entries.iter().for_each(|event| story.take(event.0));
    story
}

/// A subscriber of another make, which keeps its session over a restart of the broker.
struct Subscriber {
    process: Child,
    file: PathBuf,
}

impl Subscriber {
    fn start(port: u16, folder: &Path) -> Self {
        let file = folder.join("received");
        let mut command = Command::new("/usr/bin/mosquitto_sub");
        command.args([
            "-h",
            "127.0.0.1",
            "-p",
            &port.to_string(),
            "-t",
            "t/#",
            "-t",
            "ready",
            "-q",
            "1",
            "-i",
            "subscriber",
            "-c",
        ]);
        let process = command
            .args(["-F", "%p"])
            .stdin(Stdio::null())
            .stdout(fs::File::create(&file).unwrap())
            .stderr(Stdio::null());
        Self { process: process.spawn().expect("mosquitto-clients is installed by tests/run"), file }
    }

    fn received(&self) -> Vec<Reading> {
        let text = fs::read_to_string(&self.file).unwrap();
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let readings = whole.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        readings
            .filter(|reading| reading["point"].is_string())
            .map(|reading| {
                let value = reading["value"].as_f64().unwrap() * 1024.0;
                assert!(value.fract().abs() < f64::EPSILON, "exact in binary");
                #[expect(clippy::cast_possible_truncation, reason = "a whole number of 20 bits")]
                let value = value as i64;
                Reading {
                    second: reading["ts"].as_i64().unwrap().div_euclid(1000),
                    topic: reading["point"].as_str().unwrap().to_owned(),
                    value,
                }
            })
            .collect()
    }

    fn wait_for(&self, enough: impl Fn(&BTreeSet<Reading>) -> bool, what: &str) -> BTreeSet<Reading> {
        let began = Instant::now();
        loop {
            let received: BTreeSet<Reading> = self.received().into_iter().collect();
            if enough(&received) {
                return received;
            }
            assert!(began.elapsed() < PATIENCE, "never: {what}; {} received", received.len());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

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
    let pid = broker.process.id().to_string();
    assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
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
