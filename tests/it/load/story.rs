//! A load, what it said, and what holds for every load, whatever happened to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use scaler::{
    load::{self, LoadEvent, MqttLoad, RunClock, Running, expected::Expected},
    plan::{
        connection::Mqtt,
        fleet::Fleet,
        load::{MqttPublish, Reconnect, TimestampFormat},
        quantity::{Count, Length, Share},
    },
    record::entry::{Entry, EventKind, Reading, Schedule, Second, Slice},
};

use serde_json::json;

use super::PATIENCE;

/// Everything that a load said.
#[derive(Default)]
pub(super) struct Story {
    pub(super) slices: Vec<Slice>,
    pub(super) seconds: BTreeMap<i64, Second>,
    pub(super) in_doubt: Vec<Reading>,
    pub(super) schedule: Option<Schedule>,
    pub(super) events: Vec<(EventKind, String)>,
}

impl Story {
    pub(super) fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Slice(slice) => self.slices.push(slice),
            Entry::Ledger(ledger) => {
                self.seconds.extend(ledger.seconds.into_iter().map(|second| (second.second, second)));
            }
            Entry::InDoubt(in_doubt) => self.in_doubt.extend(in_doubt.readings),
            Entry::Schedule(schedule) => self.schedule = Some(schedule),
            Entry::Event(event) => self.events.push((event.kind, event.detail)),
            other => panic!("a load does not say {other:?}"),
        }
    }

    /// Listens until a condition holds.
    pub(super) fn until(&mut self, entries: &Receiver<LoadEvent>, what: &str, holds: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            assert!(began.elapsed() < PATIENCE, "never: {what}; events: {:?}", self.events);
            if let Ok(event) = entries.recv_timeout(Duration::from_millis(100)) {
                self.take(event.0);
            }
        }
    }

    pub(super) fn sum(&self, part: fn(&Slice) -> u64) -> u64 {
        self.slices.iter().map(part).sum()
    }

    pub(super) fn kinds(&self, kind: EventKind) -> Vec<&str> {
        self.events.iter().filter(|(other, _)| *other == kind).map(|(_, detail)| detail.as_str()).collect()
    }

    /// What holds for every load, whatever happened to it.
    pub(super) fn check(&self) -> Vec<Reading> {
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

/// A load of 2000 readings a second over two connections.
pub(super) fn spec(mqtt: Mqtt) -> MqttLoad {
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

pub(super) fn start(spec: &MqttLoad) -> (Running, Receiver<LoadEvent>) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let wall_unix_ms_at_start = u64::try_from(since.as_millis()).unwrap();
    let clock = RunClock { start: Instant::now(), wall_unix_ms_at_start };
    let (out, entries) = mpsc::channel();
    (load::start(spec, clock, out).unwrap(), entries)
}

pub(super) fn finish(running: Running, entries: &Receiver<LoadEvent>, mut story: Story) -> Story {
    running.stop().unwrap();
    for event in entries {
        story.take(event.0);
    }
    story
}
