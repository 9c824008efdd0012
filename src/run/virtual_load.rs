//! The load and the store of the virtual world: every reading is the one that the real generator would send, so that sums are exact.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "virtual seconds and counts are small"
)]

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use crate::{
    load::{
        expected::Expected,
        pace::{Lane, Schedule},
        value,
    },
    plan::{fleet::Fleet, load::MqttPublish},
    record::entry::{self, Second, Slice},
};

/// Sums of the first readings of each lane, by points, lanes and seed: a thousand runs of one plan send the same values.
type Sums = Arc<Vec<Vec<i64>>>;
type Known = HashMap<(u64, u64, u64), Sums>;
static SUMS: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// How many intervals the sums reach.
const TICKS: u64 = 12;

/// A load that runs, or ran.
pub(super) struct Publishing {
    name: String,
    entry: entry::Schedule,
    lanes: Vec<Lane>,
    sums: Sums,
    /// When it was started, and when it was stopped.
    pub(super) began: f64,
    pub(super) ended: Option<f64>,
    /// The end of its last slice.
    pub(super) cut: f64,
    /// The share of the due readings that it manages.
    share: f64,
    /// What was due at the end of the last slice.
    due: u64,
    /// Readings per second.
    pub(super) rate: f64,
    /// The ledger.
    pub(super) seconds: BTreeMap<i64, Second>,
}

impl Publishing {
    pub(super) fn new(name: &str, plan: &MqttPublish, fleet: &Fleet, now: f64, wall_ns: u64, share: f64) -> Self {
        let points = fleet.points.0;
        let interval = Duration::from_secs_f64(plan.interval.as_secs_f64());
        let schedule = Schedule::new(points, interval).expect("a checked plan has points and an interval");
        let count = u64::from(plan.connections).min(points);
        let lanes: Vec<Lane> = (0..count).map(|number| schedule.lane(number, count)).collect();
        let seed = value::seed_of(name);
        let entry = entry::Schedule {
            load: name.to_owned(),
            start_unix_ns: wall_ns,
            interval_ns: schedule.interval_ns(),
            seed,
            topic: plan.topic.clone(),
            fleet: fleet.clone(),
            offered: vec![0; lanes.len()],
        };
        let rate = points as f64 / interval.as_secs_f64();
        let sums = sums(points, &lanes, seed);
        Self {
            name: name.to_owned(),
            entry,
            lanes,
            sums,
            began: now,
            ended: None,
            cut: now,
            share,
            due: 0,
            rate,
            seconds: BTreeMap::new(),
        }
    }

    /// Sends and has acknowledged what is due by now; the slice since the last one, and the seconds that changed.
    pub(super) fn advance(&mut self, now: f64) -> (Slice, Vec<Second>) {
        let elapsed_ns = ((now - self.began) * 1e9) as u64;
        let mut changed = BTreeMap::new();
        let (mut due, mut offered, mut sent) = (0, 0, 0);
        for index in 0..self.lanes.len() {
            let lane = self.lanes[index];
            let lane_due = lane.due_through(elapsed_ns);
            let lane_offered = (lane_due as f64 * self.share) as u64;
            let before = self.entry.offered[index];
            self.post(index, before, lane_offered, &mut changed);
            self.entry.offered[index] = lane_offered;
            due += lane_due;
            offered += lane_offered - before;
            sent += lane_offered;
        }
        let slice = Slice {
            load: self.name.clone(),
            from: self.cut,
            to: now,
            due: due - self.due,
            offered,
            acked: offered,
            backlog: due - sent,
            cpu_s: 0.01 * (now - self.cut),
            ..Slice::default()
        };
        (self.cut, self.due) = (now, due);
        self.seconds.extend(changed.iter());
        (slice, changed.into_values().collect())
    }

    /// Enters a lane's readings `from..to` in the seconds of their due times.
    fn post(&self, index: usize, from: u64, to: u64, changed: &mut BTreeMap<i64, Second>) {
        let mut at = from;
        while at < to {
            let due_unix_ns = self.entry.start_unix_ns + self.lanes[index].due_ns(at);
            let second = (due_unix_ns / 1_000_000_000) as i64;
            let end_ns = (second as u64 + 1) * 1_000_000_000 - self.entry.start_unix_ns;
            let end = self.lanes[index].due_through(end_ns - 1).min(to);
            let known = self.seconds.get(&second).copied().unwrap_or(Second { second, ..Second::default() });
            let entry = changed.entry(second).or_insert(known);
            entry.due += end - at;
            entry.offered += end - at;
            entry.acked += end - at;
            entry.acked_sum += self.sums[index][end as usize] - self.sums[index][at as usize];
            at = end;
        }
    }

    pub(super) fn acked(&self) -> u64 {
        self.entry.offered.iter().sum()
    }

    pub(super) fn schedule(&self) -> entry::Schedule {
        self.entry.clone()
    }

    /// The readings of a payload second: topic and value in 1/1024.
    pub(super) fn readings(&self, second: i64) -> Vec<(String, i64)> {
        let known = Expected::new(self.entry.clone()).expect("its own schedule can be read");
        known.readings(second).map(|reading| (reading.topic, reading.value)).collect()
    }
}

fn sums(points: u64, lanes: &[Lane], seed: u64) -> Sums {
    let mut known = SUMS.lock().expect("no test panics with it");
    let key = (points, lanes.len() as u64, seed);
    let sums = known.entry(key).or_insert_with(|| {
        let per_lane = points.div_ceil(lanes.len() as u64) * TICKS;
        let of = |lane: &Lane| {
            let mut sum = 0;
            let values = (0..per_lane).map(|number| {
                let (point, tick) = lane.reading(number);
                sum += value::value(point, tick, seed);
                sum
            });
            std::iter::once(0).chain(values).collect()
        };
        Arc::new(lanes.iter().map(of).collect())
    });
    Arc::clone(sums)
}
