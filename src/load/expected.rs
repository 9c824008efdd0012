//! Which readings a load offered in a payload second, from its schedule alone: missing ones can be named without a list of what was sent.
//! Pure.

use std::time::Duration;

use super::{
    fleet::Layout,
    pace::{Lane, Schedule},
    template::{Envelope, Facts},
    value,
};
use crate::{
    plan::load::TimestampFormat,
    record::entry::{self, Reading},
};

/// A load whose readings can be named.
#[derive(Debug)]
pub struct Expected {
    entry: entry::Schedule,
    schedule: Schedule,
    envelope: Envelope,
}

impl Expected {
    /// Reads the journal's entry of a stopped load.
    ///
    /// # Errors
    /// When the entry describes no load: it was not written by this program.
    pub fn new(entry: entry::Schedule) -> Result<Self, String> {
        let layout = Layout::new(&entry.fleet)?;
        let schedule = Schedule::new(layout.points(), Duration::from_nanos(entry.interval_ns))?;
        let envelope = Envelope::compile(&entry.topic, &serde_json::Value::Null, TimestampFormat::UnixMs, layout)?;
        let lanes = entry.offered.len() as u64;
        if lanes == 0 || lanes > entry.fleet.points.0 {
            return Err("a load has at least one connection, and no more than points".to_owned());
        }
        Ok(Self { entry, schedule, envelope })
    }

    /// The readings that were offered and whose due time lies in this Unix second, connection by connection.
    pub fn readings(&self, second: i64) -> impl Iterator<Item = Reading> + '_ {
        let lanes = self.entry.offered.len() as u64;
        let lanes =
            (0..).zip(&self.entry.offered).map(move |(number, offered)| (self.schedule.lane(number, lanes), *offered));
        lanes.flat_map(move |(lane, offered)| {
            let (first, end) = self.due_in(lane, second);
            (first.min(offered)..end.min(offered)).map(move |number| self.reading(lane, number, second))
        })
    }

    /// The lane's readings that are due in a second: from the first to before the end.
    fn due_in(&self, lane: Lane, second: i64) -> (u64, u64) {
        let due_before = |second: i64| {
            let unix_ns = i128::from(second) * 1_000_000_000;
            let after_start = u64::try_from(unix_ns - i128::from(self.entry.start_unix_ns)).ok();
            after_start.and_then(|ns| ns.checked_sub(1)).map_or(0, |ns| lane.due_through(ns))
        };
        (due_before(second), due_before(second + 1))
    }

    fn reading(&self, lane: Lane, number: u64, second: i64) -> Reading {
        let (point, tick) = lane.reading(number);
        let value = value::value(point, tick, self.entry.seed);
        let facts = Facts { point, tick, value, unix_ns: self.entry.start_unix_ns + lane.due_ns(number) };
        Reading { second, topic: self.envelope.topic(&facts), value }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan::{fleet::Fleet, quantity::Count};

    fn entry(offered: Vec<u64>) -> entry::Schedule {
        entry::Schedule {
            load: "readings".to_owned(),
            start_unix_ns: 1_700_000_000_300_000_000,
            interval_ns: 2_000_000_000,
            seed: 7,
            topic: "t/{{ point }}".to_owned(),
            fleet: Fleet { points: Count(10), points_per_equip: 10, equips_per_site: 1, labels: Vec::new() },
            offered,
        }
    }

    #[test]
    fn each_offered_reading_has_one_second() {
        let expected = Expected::new(entry(vec![8, 7, 6])).unwrap();
        let seconds = 1_699_999_990..1_700_000_020;
        let readings: Vec<Reading> = seconds.flat_map(|second| expected.readings(second)).collect();
        assert_eq!(readings.len(), 21);
        assert_eq!(readings.iter().collect::<BTreeSet<_>>().len(), 21);
        // Due every 200 ms from .300 on, so the first second holds the points 0 to 3.
        let first: BTreeSet<String> = expected.readings(1_700_000_000).map(|reading| reading.topic).collect();
        assert_eq!(first, ["t/0", "t/1", "t/2", "t/3"].map(str::to_owned).into());
    }

    #[test]
    fn what_was_not_offered_is_not_expected() {
        let expected = Expected::new(entry(vec![1, 0])).unwrap();
        let readings: Vec<Reading> =
            (1_699_999_999..1_700_000_009).flat_map(|second| expected.readings(second)).collect();
        assert_eq!(
            readings,
            [Reading { second: 1_700_000_000, topic: "t/0".to_owned(), value: value::value(0, 0, 7) }]
        );
    }

    #[test]
    fn a_foreign_entry_is_refused() {
        assert!(Expected::new(entry(Vec::new())).is_err());
        assert!(Expected::new(entry(vec![0; 11])).is_err());
    }
}
