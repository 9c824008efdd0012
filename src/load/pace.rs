//! When each reading is due: absolute times, so that nothing drifts and lateness stays on the record. Pure.
//!
//! Point `i` of `N` is due at `tick · interval + ⌊i · interval / N⌋` nanoseconds after the start of the load. The points are shared by the
//! connections as `point % connections`; a *lane* is what one connection has to send, in the order of its due times. A lane
//! always sends a prefix of that order, so one number says which readings were offered.

use std::time::Duration;

/// A late generator may send at most what this time is worth in one go, however long it slept.
const BURST_NS: u64 = 20_000_000;

/// The due times of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    points: u64,
    interval_ns: u64,
}

impl Schedule {
    /// A schedule of points that are each due once per interval.
    ///
    /// # Errors
    /// When there is no point, the interval is zero, or it is too long to be counted in nanoseconds.
    pub fn new(points: u64, interval: Duration) -> Result<Self, String> {
        let interval_ns = u64::try_from(interval.as_nanos()).map_err(|_| "the interval is too long".to_owned())?;
        if points == 0 || interval_ns == 0 {
            return Err("a load needs at least one point and an interval above zero".to_owned());
        }
        Ok(Self { points, interval_ns })
    }

    /// The interval in nanoseconds.
    #[must_use]
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// When a point's reading is due, nanoseconds after the start.
    #[must_use]
    #[inline]
    pub fn due_ns(&self, point: u64, tick: u64) -> u64 {
        tick * self.interval_ns + self.offset_ns(point)
    }

    fn offset_ns(&self, point: u64) -> u64 {
        if let Some(product) = point.checked_mul(self.interval_ns) {
            return product / self.points;
        }
        narrow(u128::from(point) * u128::from(self.interval_ns) / u128::from(self.points))
    }

    /// How many readings are due at this time or before it.
    #[must_use]
    pub fn due_through(&self, ns: u64) -> u64 {
        (ns / self.interval_ns) * self.points + self.points_due_in_tick(ns)
    }

    /// How many points of the present tick are due: `⌊i·I/N⌋ ≤ r` holds for the points below `⌈(r + 1)·N / I⌉`.
    fn points_due_in_tick(&self, ns: u64) -> u64 {
        let rest = u128::from(ns % self.interval_ns) + 1;
        narrow((rest * u128::from(self.points)).div_ceil(u128::from(self.interval_ns))).min(self.points)
    }

    /// What one of the connections has to send.
    #[must_use]
    pub fn lane(self, number: u64, connections: u64) -> Lane {
        let points = self.points.saturating_sub(number).div_ceil(connections);
        Lane { schedule: self, number, connections, points }
    }
}

fn narrow(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// What one connection has to send: every `connections`-th point, in the order of the due times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    schedule: Schedule,
    number: u64,
    connections: u64,
    points: u64,
}

impl Lane {
    /// The point and the tick of the lane's reading with this number.
    ///
    /// # Panics
    /// When the lane has no point; a load has no more lanes than points.
    #[must_use]
    #[inline]
    pub fn reading(&self, number: u64) -> (u64, u64) {
        (self.number + number % self.points * self.connections, number / self.points)
    }

    /// When the lane's reading with this number is due, nanoseconds after the start.
    #[must_use]
    #[inline]
    pub fn due_ns(&self, number: u64) -> u64 {
        let (point, tick) = self.reading(number);
        self.schedule.due_ns(point, tick)
    }

    /// How many of the lane's readings are due at this time or before it.
    #[must_use]
    pub fn due_through(&self, ns: u64) -> u64 {
        let points = self.schedule.points_due_in_tick(ns);
        (ns / self.schedule.interval_ns) * self.points + points.saturating_sub(self.number).div_ceil(self.connections)
    }
}

/// How far along its schedule a late lane may go, in nanoseconds after the start.
///
/// `previous` is the last answer, `next_due` the due time of the first reading not yet offered, `elapsed` the time since the last answer.
/// Whoever is on time gets `now`. Whoever is late moves along the schedule at most `catch_up` (thousandths of the nominal rate) times
/// as fast as the clock, from the first reading that waits; a long sleep or a closed window saves nothing up.
#[must_use]
pub fn horizon_ns(previous: u64, next_due: u64, now: u64, elapsed: u64, catch_up_permille: u64) -> u64 {
    let stride = u128::from(elapsed.min(BURST_NS)) * u128::from(catch_up_permille) / 1000;
    previous.min(next_due).saturating_add(narrow(stride)).min(now)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn due_times_are_spread_over_the_interval() {
        let schedule = Schedule::new(3, Duration::from_nanos(10)).unwrap();
        // (point, tick) → due
        let rows = [((0, 0), 0), ((1, 0), 3), ((2, 0), 6), ((0, 1), 10), ((2, 7), 76)];
        for ((point, tick), due) in rows {
            assert_eq!(schedule.due_ns(point, tick), due);
        }
        // time → readings due
        let rows = [(0, 1), (2, 1), (3, 2), (5, 2), (6, 3), (9, 3), (10, 4), (76, 24)];
        for (now, due) in rows {
            assert_eq!(schedule.due_through(now), due, "at {now}");
        }
    }

    #[test]
    fn nothing_drifts_over_a_year_of_a_million_points() {
        let schedule = Schedule::new(1_000_000, Duration::from_secs(5)).unwrap();
        let year = 365 * 86_400 * 1_000_000_000;
        assert_eq!(schedule.due_through(year - 1), 365 * 86_400 * 200_000);
        assert_eq!(schedule.due_ns(999_999, 0), 4_999_995_000);
    }

    #[test]
    fn an_empty_schedule_is_refused() {
        assert!(Schedule::new(0, Duration::from_secs(1)).is_err());
        assert!(Schedule::new(1, Duration::ZERO).is_err());
    }

    #[test]
    fn catching_up_is_bounded() {
        let ms = 1_000_000;
        // (previous, next due, now, elapsed, permille) → horizon, in milliseconds
        let rows = [
            ((100, 101, 102, 2, 2000), 102, "on time: up to now"),
            ((100, 5000, 102, 2, 2000), 102, "a rare reading: up to now"),
            ((100, 100, 150, 50, 2000), 140, "slept 50 ms: at most 20 ms count, twice"),
            ((140, 140, 152, 2, 2000), 144, "then twice the clock"),
            ((900, 100, 1000, 2, 2000), 104, "the window was closed: from the first that waits"),
            ((900, 100, 1000, 2, 1000), 102, "no catching up at 100%"),
        ];
        for ((previous, next, now, elapsed, permille), want, why) in rows {
            let got = horizon_ns(previous * ms, next * ms, now * ms, elapsed * ms, permille);
            assert_eq!(got, want * ms, "{why}");
        }
    }

    proptest! {
        #[test]
        fn counts_and_due_times_agree(points in 1..5000_u64, interval in 1..20_000_000_000_u64, reading in 0..1_000_000_u64) {
            let schedule = Schedule::new(points, Duration::from_nanos(interval)).unwrap();
            let due = schedule.due_ns(reading % points, reading / points);
            prop_assert!(schedule.due_through(due) > reading, "the reading itself is due");
            if due > 0 {
                prop_assert!(schedule.due_through(due - 1) <= reading, "and not before");
            }
        }

        #[test]
        fn lanes_share_the_readings_without_gap_or_overlap(points in 1..200_u64, wanted in 1..20_u64, ticks in 1..4_u64, at in 0..40_000_u64) {
            let connections = wanted.min(points);
            let schedule = Schedule::new(points, Duration::from_micros(10)).unwrap();
            let mut seen = std::collections::BTreeSet::new();
            let mut due_by_lane = 0;
            for number in 0..connections {
                let lane = schedule.lane(number, connections);
                due_by_lane += lane.due_through(at);
                let mut before = 0;
                for reading in 0..lane.points * ticks {
                    let due = lane.due_ns(reading);
                    prop_assert!(due >= before, "in the order of the due times");
                    before = due;
                    prop_assert_eq!(lane.due_through(at) > reading, due <= at);
                    prop_assert!(seen.insert(lane.reading(reading)), "twice");
                }
            }
            prop_assert_eq!(seen.len() as u64, points * ticks);
            prop_assert_eq!(due_by_lane, schedule.due_through(at));
        }

        #[test]
        fn readings_are_evenly_spread(points in 1..5000_u64, point in 0..5000_u64) {
            let schedule = Schedule::new(points, Duration::from_secs(5)).unwrap();
            let point = point % points;
            let step = schedule.due_ns((point + 1) % points, (point + 1) / points) - schedule.due_ns(point, 0);
            let even = 5_000_000_000 / points;
            prop_assert!(step == even || step == even + 1, "{} instead of {}", step, even);
        }

        #[test]
        fn a_late_lane_never_exceeds_the_limit(elapsed in prop::collection::vec((1..80_u64, any::<bool>()), 1..50), permille in 1000..4000_u64) {
            let (mut now, mut horizon, mut next) = (0, 0, 0);
            for (ms, open) in elapsed {
                now += ms * 1_000_000;
                let before = next;
                horizon = horizon_ns(horizon, next, now, ms * 1_000_000, permille);
                prop_assert!(horizon <= now);
                prop_assert!(horizon.saturating_sub(before) <= ms.min(20) * permille * 1000, "{} ms", ms);
                if open {
                    next = next.max(horizon);
                }
            }
        }
    }
}
