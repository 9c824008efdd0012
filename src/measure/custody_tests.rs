//! Custody broken on purpose: whatever is done to a store, the comparison says exactly that.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{
    custody::{Books, Row, StoredSecond, compare},
    identity::{Ledgered, identify},
};
use crate::record::entry::{Custody, Reading, Second};

/// What happens to a written reading on its way into the store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Stored,
    Dropped,
    Duplicated,
    /// Stored with another value, by so many 1/1024.
    Changed(i64),
}

/// One second of a world: its readings with whether each was acknowledged and its fate, and rows from elsewhere.
#[derive(Clone, Debug)]
struct World {
    readings: Vec<(Reading, bool, Fate)>,
    foreign: Vec<Reading>,
}

impl World {
    fn rows(&self) -> Vec<Row> {
        let row = |reading: &Reading, by: i64| (reading.topic.clone(), units(reading.value + by));
        let mut rows: Vec<Row> = self.foreign.iter().map(|reading| row(reading, 0)).collect();
        for (reading, _, fate) in &self.readings {
            match fate {
                Fate::Stored => rows.push(row(reading, 0)),
                Fate::Dropped => {}
                Fate::Duplicated => rows.extend([row(reading, 0), row(reading, 0)]),
                Fate::Changed(by) => rows.push(row(reading, *by)),
            }
        }
        rows
    }

    fn of_fate(&self, wanted: impl Fn(bool, Fate) -> bool) -> Vec<Reading> {
        let all = self.readings.iter().filter(|(_, acked, fate)| wanted(*acked, *fate));
        all.map(|(reading, _, _)| reading.clone()).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
fn units(value: i64) -> f64 {
    value as f64 / 1024.0
}

/// What scaler says of these worlds, with or without the rows of single seconds.
fn said_of(worlds: &BTreeMap<i64, World>, rows_can_be_read: bool, name_at_most: usize) -> Custody {
    let mut seconds = BTreeMap::new();
    let (mut in_doubt, mut stored) = (Vec::new(), Vec::new());
    for (second, world) in worlds {
        let acked = world.of_fate(|acked, _| acked);
        let acked_sum = acked.iter().map(|reading| reading.value).sum();
        let due = world.readings.len() as u64;
        let entry = Second { second: *second, due, offered: due, acked: acked.len() as u64, acked_sum, resent: 0 };
        seconds.insert(*second, entry);
        in_doubt.extend(world.of_fate(|acked, _| !acked));
        let rows = world.rows();
        if !rows.is_empty() {
            let sum = rows.iter().map(|(_, value)| value).sum();
            stored.push(StoredSecond::new(*second, rows.len() as u64, Some(sum)));
        }
    }
    let books = Books {
        window: "custody",
        load: "readings",
        seconds: &seconds,
        in_doubt: &in_doubt,
        stored: &stored,
        name_at_most,
    };
    let expected = |second: i64| worlds[&second].of_fate(|_, _| true);
    let mut rows_of = |second: i64| {
        if rows_can_be_read { Ok(worlds[&second].rows()) } else { Err("no statement".to_owned()) }
    };
    compare(&books, &expected, &mut rows_of)
}

/// Worlds of up to four seconds. Values are spread so wide that no two sets of them have the same sum by chance.
fn worlds() -> impl Strategy<Value = BTreeMap<i64, World>> {
    let value = -(1_i64 << 40)..(1_i64 << 40);
    let fate = prop_oneof![
        6 => Just(Fate::Stored),
        1 => Just(Fate::Dropped),
        1 => Just(Fate::Duplicated),
        1 => (1_i64..(1 << 40)).prop_map(Fate::Changed),
    ];
    let reading = (value.clone(), prop::bool::weighted(0.8), fate);
    let world = (prop::collection::vec(reading, 0..20), prop::collection::vec(value, 0..3));
    prop::collection::vec(world, 1..5).prop_map(|seconds| {
        let seconds = seconds.into_iter().zip(100_i64..);
        seconds
            .map(|((readings, foreign), second)| {
                let named =
                    |prefix: &str, index: usize, value| Reading { second, topic: format!("{prefix}{index}"), value };
                let readings = readings.into_iter().enumerate();
                let readings = readings.map(|(index, (value, acked, fate))| (named("t", index, value), acked, fate));
                let foreign = foreign.into_iter().enumerate().map(|(index, value)| named("x", index, value)).collect();
                (second, World { readings: readings.collect(), foreign })
            })
            .collect()
    })
}

fn sorted(mut readings: Vec<Reading>) -> Vec<Reading> {
    readings.sort();
    readings
}

proptest! {
    #[test]
    fn the_comparison_says_exactly_what_was_done(worlds in worlds()) {
        let said = said_of(&worlds, true, 1_000);
        let all = |wanted: fn(bool, Fate) -> bool| -> Vec<Reading> {
            sorted(worlds.values().flat_map(|world| world.of_fate(wanted)).collect())
        };
        let mut surplus = all(|_, fate| fate == Fate::Duplicated);
        surplus.extend(worlds.values().flat_map(|world| world.foreign.clone()));
        let missing = all(|acked, fate| acked && fate == Fate::Dropped);
        let changed = all(|_, fate| matches!(fate, Fate::Changed(_)));

        prop_assert!(said.identified);
        prop_assert_eq!((said.missing, said.surplus), (missing.len() as u64, surplus.len() as u64));
        prop_assert_eq!(said.changed, changed.len() as u64);
        prop_assert_eq!(sorted(said.missing_named), missing);
        prop_assert_eq!(sorted(said.surplus_named), sorted(surplus));
        prop_assert_eq!(sorted(said.changed_named.into_iter().map(|(reading, _)| reading).collect()), changed);
        prop_assert_eq!(said.acked, all(|acked, _| acked).len() as u64);
        prop_assert_eq!(said.in_doubt, all(|acked, _| !acked).len() as u64);
        prop_assert_eq!(said.stored, worlds.values().map(|world| world.rows().len() as u64).sum::<u64>());
        prop_assert_eq!(said.seconds, worlds.len() as u64);
    }

    #[test]
    fn without_rows_the_comparison_never_says_more_than_was_done_and_never_that_all_is_well(worlds in worlds()) {
        let (said, truth) = (said_of(&worlds, false, 0), said_of(&worlds, true, 0));
        prop_assert!(said.missing <= truth.missing && said.surplus <= truth.surplus);
        let is_well = |custody: &Custody| (custody.missing, custody.surplus, custody.changed) == (0, 0, 0);
        prop_assert!(said.changed == 0 || !is_well(&truth));
        if !is_well(&truth) {
            prop_assert!(!said.identified && !said.disagreeing.is_empty());
        }
    }

    #[test]
    fn on_topics_with_several_readings_a_second_all_rows_are_accounted_for(
        due in prop::collection::vec((0_u8..2, 0_i64..6), 0..10),
        rows in prop::collection::vec((0_u8..3, 0_i64..7), 0..10),
    ) {
        let reading = |(topic, value): &(u8, i64)| Reading { second: 1, topic: format!("t{topic}"), value: *value };
        let (due, rows): (Vec<Reading>, Vec<Reading>) = (due.iter().map(reading).collect(), rows.iter().map(reading).collect());
        let acked_sum = due.iter().map(|reading| reading.value).sum();
        let ledgered = Ledgered { second: 1, acked: due.len() as u64, acked_sum, in_doubt: &[] };
        let stored = rows.iter().map(|row| (row.topic.clone(), units(row.value))).collect();
        let found = identify(&ledgered, &due, stored).unwrap();
        let count = |of: &[Reading], wanted: &Reading| of.iter().filter(|reading| *reading == wanted).count();
        let changed: Vec<Reading> = found.changed.iter().map(|(reading, _)| reading.clone()).collect();
        for wanted in &due {
            let short = count(&due, wanted).saturating_sub(count(&rows, wanted));
            prop_assert_eq!(count(&found.missing_named, wanted) + count(&changed, wanted), short);
        }
        let over: usize = {
            let mut kinds = sorted(rows.clone());
            kinds.dedup();
            kinds.iter().map(|row| count(&rows, row).saturating_sub(count(&due, row))).sum()
        };
        prop_assert_eq!(found.surplus.len() + found.changed.len(), over);
        for row in found.surplus.iter().filter(|row| !due.contains(row)) {
            prop_assert!(found.missing_named.iter().all(|missing| missing.topic != row.topic), "a changed row was not seen");
        }
    }
}

/// A world of one second with these fates; the values are 1, 2, 3, ….
fn world(fates: &[(bool, Fate)]) -> World {
    let readings = fates.iter().zip(1_i64..).map(|((acked, fate), value)| {
        (Reading { second: 100, topic: format!("t{value}"), value: value * 1024 }, *acked, *fate)
    });
    World { readings: readings.collect(), foreign: Vec::new() }
}

#[test]
fn a_surplus_in_one_second_does_not_pay_for_a_shortage_in_another() {
    let worlds = BTreeMap::from([(100, world(&[(true, Fate::Dropped)])), (101, world(&[(true, Fate::Duplicated)]))]);
    let mut seconds: BTreeMap<i64, World> = worlds;
    seconds.get_mut(&101).unwrap().readings[0].0.second = 101;
    for rows_can_be_read in [true, false] {
        let said = said_of(&seconds, rows_can_be_read, 5);
        assert_eq!((said.acked, said.stored, said.missing, said.surplus), (2, 2, 1, 1));
    }
}

#[test]
fn a_duplicate_that_hides_a_loss_shows() {
    let worlds = BTreeMap::from([(100, world(&[(true, Fate::Dropped), (true, Fate::Duplicated)]))]);
    let said = said_of(&worlds, true, 5);
    assert_eq!((said.missing, said.surplus, said.changed), (1, 1, 0));
    let from_sums = said_of(&worlds, false, 5);
    assert_eq!((from_sums.missing, from_sums.changed, from_sums.identified), (0, 1, false));
}

#[test]
fn an_acknowledged_loss_is_not_paid_for_by_a_reading_in_doubt() {
    let worlds = BTreeMap::from([(100, world(&[(true, Fate::Dropped), (false, Fate::Stored)]))]);
    assert_eq!(said_of(&worlds, true, 5).missing, 1);
    let from_sums = said_of(&worlds, false, 5);
    assert_eq!((from_sums.identified, from_sums.disagreeing.len()), (false, 1));
}

#[test]
fn rows_are_not_asked_for_when_all_agrees() {
    let worlds = BTreeMap::from([(100, world(&[(true, Fate::Stored), (false, Fate::Stored), (false, Fate::Dropped)]))]);
    let said = said_of(&worlds, false, 5);
    assert!(said.identified && said.disagreeing.is_empty());
}

#[test]
fn names_stop_at_their_limit_and_counts_do_not() {
    let worlds = BTreeMap::from([(100, world(&[(true, Fate::Dropped); 9]))]);
    let said = said_of(&worlds, true, 2);
    assert_eq!((said.missing, said.missing_named.len()), (9, 2));
}

#[test]
fn a_sum_that_is_not_exact_never_agrees() {
    assert_eq!(StoredSecond::new(1, 2, Some(0.5)).sum, Ok(512));
    for sum in [None, Some(0.1), Some(f64::NAN), Some(f64::INFINITY), Some(1e300)] {
        assert!(StoredSecond::new(1, 2, sum).sum.is_err(), "{sum:?}");
    }
    let seconds = BTreeMap::from([(1, Second { second: 1, due: 1, offered: 1, acked: 1, acked_sum: 1024, resent: 0 })]);
    let stored = [StoredSecond::new(1, 1, Some(1.000_1))];
    let books = Books { window: "c", load: "l", seconds: &seconds, in_doubt: &[], stored: &stored, name_at_most: 5 };
    let said = compare(&books, &|_| Vec::new(), &mut |_| Err("no statement".into()));
    assert_eq!((said.changed, said.identified), (1, false));
}

#[test]
fn a_row_that_arrives_between_two_questions_contradicts_nothing() {
    let reading = |point: usize| Reading { topic: format!("t{point}"), value: 1024, second: 7 };
    let all: Vec<Reading> = (0..3).map(reading).collect();
    let seconds = BTreeMap::from([(7, Second { second: 7, acked: 3, acked_sum: 3 * 1024, ..Second::default() })]);
    // One row when the seconds were counted, two when the rows were looked at.
    let stored = [StoredSecond::new(7, 1, Some(1.0))];
    let books = Books { window: "c", load: "l", seconds: &seconds, in_doubt: &[], stored: &stored, name_at_most: 5 };
    let said = compare(&books, &|_| all.clone(), &mut |_| Ok(vec![("t0".into(), 1.0), ("t1".into(), 1.0)]));
    assert_eq!((said.stored, said.missing, said.disagreeing[0].stored), (2, 1, 2));
    assert_eq!(said.missing_named, [reading(2)]);
}
