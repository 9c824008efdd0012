//! Which readings of one payload second are missing, too many or changed, when the store's rows are known one by one.
//!
//! Topics say which row belongs to which reading; within a topic equal values belong together. What is left over is read
//! in this order: an exact copy of a known reading is a duplicate, and never stands for another reading that is missing;
//! another value on the topic of a reading without a row is that reading, changed; the rest is missing or too many.

use std::collections::BTreeMap;

use crate::record::entry::Reading;

/// A row of the store: topic and value as it gave them.
pub type Row = (String, f64);

/// What became of the readings of a second.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Identified {
    /// Acknowledged readings without a row.
    pub(super) missing: u64,
    /// Their names; empty when it cannot be told which of several readings were never written at all.
    pub(super) missing_named: Vec<Reading>,
    /// Rows that no reading explains.
    pub(super) surplus: Vec<Reading>,
    /// Readings whose row holds another value, and that value.
    pub(super) changed: Vec<(Reading, String)>,
}

/// What the ledger says of a second.
pub(super) struct Ledgered<'a> {
    /// The Unix second.
    pub(super) second: i64,
    /// Of the readings that are due and not in doubt, so many were acknowledged; the rest was never written.
    pub(super) acked: u64,
    /// The sum of the acknowledged values times 1024.
    pub(super) acked_sum: i64,
    /// The readings that were written and not acknowledged.
    pub(super) in_doubt: &'a [&'a Reading],
}

/// Compares the readings that were due in a second with its rows.
///
/// None when the readings do not fit the ledger: then they identify nothing.
pub(super) fn identify(ledgered: &Ledgered, due: &[Reading], rows: Vec<Row>) -> Option<Identified> {
    let topics = by_topic(due, ledgered.in_doubt, rows)?;
    let not_in_doubt: Vec<i64> = topics.values().flat_map(|topic| topic.due.iter().copied()).collect();
    let never_written = not_in_doubt.len().checked_sub(usize::try_from(ledgered.acked).ok()?)?;
    if never_written == 0 && not_in_doubt.iter().sum::<i64>() != ledgered.acked_sum {
        return None;
    }
    let mut found = Identified::default();
    let (mut absent, mut altered) = (Vec::new(), Vec::new());
    for (name, mut topic) in topics {
        let reading = |value| Reading { second: ledgered.second, topic: name.clone(), value };
        found.surplus.extend(topic.settle().into_iter().map(|copy| reading(nearest(copy))));
        for row in topic.rows {
            if let Some(value) = topic.due.pop() {
                altered.push((reading(value), row));
            } else if let Some(value) = topic.in_doubt.pop() {
                found.changed.push((reading(value), spelt(row)));
            } else {
                found.surplus.push(reading(nearest(row)));
            }
        }
        absent.extend(topic.due.into_iter().map(reading));
    }
    // Of the readings without an equal row, as many as were never written are neither missing nor changed.
    let astray = (absent.len() + altered.len()).checked_sub(never_written)?;
    let strangers = altered.split_off(astray.min(altered.len()));
    found.surplus.extend(strangers.into_iter().map(|(reading, row)| Reading { value: nearest(row), ..reading }));
    let missing = astray - altered.len();
    found.changed.extend(altered.into_iter().map(|(reading, row)| (reading, spelt(row))));
    found.missing = missing as u64;
    found.missing_named = if missing == absent.len() { absent } else { Vec::new() };
    Some(found)
}

/// The readings of one topic in one second, and its rows.
#[derive(Default)]
struct Topic {
    /// Values that are due and not in doubt.
    due: Vec<i64>,
    in_doubt: Vec<i64>,
    rows: Vec<f64>,
}

impl Topic {
    /// Takes out readings together with their equal rows, then the rows that are further copies of a reading, which it gives back.
    fn settle(&mut self) -> Vec<f64> {
        let known: Vec<i64> = self.due.iter().chain(&self.in_doubt).copied().collect();
        for readings in [&mut self.due, &mut self.in_doubt] {
            readings.retain(|value| match self.rows.iter().position(|row| is_equal(*value, *row)) {
                Some(row) => {
                    self.rows.swap_remove(row);
                    false
                }
                None => true,
            });
        }
        let (copies, others) = self.rows.iter().partition(|row| known.iter().any(|value| is_equal(*value, **row)));
        self.rows = others;
        copies
    }
}

/// None when something is in doubt that was never due.
fn by_topic(due: &[Reading], in_doubt: &[&Reading], rows: Vec<Row>) -> Option<BTreeMap<String, Topic>> {
    let mut topics: BTreeMap<String, Topic> = BTreeMap::new();
    for reading in due {
        topics.entry(reading.topic.clone()).or_default().due.push(reading.value);
    }
    for reading in in_doubt {
        let topic = topics.get_mut(&reading.topic)?;
        let place = topic.due.iter().position(|value| *value == reading.value)?;
        topic.in_doubt.push(topic.due.swap_remove(place));
    }
    for (topic, value) in rows {
        topics.entry(topic).or_default().rows.push(value);
    }
    Some(topics)
}

/// Whether a row's value is exactly so many 1/1024.
#[expect(clippy::float_cmp, clippy::cast_precision_loss, reason = "values are exact in binary, below 2^53 / 1024")]
fn is_equal(value: i64, row: f64) -> bool {
    row * 1024.0 == value as f64
}

/// The nearest multiple of 1/1024, to name a row that belongs to no reading.
#[expect(clippy::cast_possible_truncation, reason = "saturates, and only names a row")]
fn nearest(row: f64) -> i64 {
    (row * 1024.0).round() as i64
}

/// A stored value as the store gave it.
fn spelt(row: f64) -> String {
    if row.is_finite() { row.to_string() } else { "no number".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(topic: &str, value: i64) -> Reading {
        Reading { second: 7, topic: topic.into(), value: value * 1024 }
    }

    fn identified(due: &[Reading], acked: u64, in_doubt: &[Reading], rows: &[(&str, f64)]) -> Option<Identified> {
        let rows = rows.iter().map(|(topic, value)| ((*topic).to_owned(), *value)).collect();
        let values = |readings: &[Reading]| readings.iter().map(|reading| reading.value).sum::<i64>();
        let acked_sum = values(due) - values(in_doubt);
        let in_doubt: Vec<&Reading> = in_doubt.iter().collect();
        identify(&Ledgered { second: 7, acked, acked_sum, in_doubt: &in_doubt }, due, rows)
    }

    #[test]
    fn missing_surplus_and_changed_are_named() {
        let due = [reading("a", 1), reading("b", 2), reading("c", 3)];
        let found = identified(&due, 3, &[], &[("a", 1.0), ("c", 3.5), ("x", 9.0)]).unwrap();
        assert_eq!(found.missing_named, [reading("b", 2)]);
        assert_eq!(found.surplus, [reading("x", 9)]);
        assert_eq!(found.changed, [(reading("c", 3), "3.5".to_owned())]);
    }

    #[test]
    fn a_duplicate_does_not_hide_a_loss_on_its_own_topic() {
        let due = [reading("a", 1), reading("a", 2)];
        let found = identified(&due, 2, &[], &[("a", 1.0), ("a", 1.0)]).unwrap();
        assert_eq!((found.missing_named, found.surplus), (vec![reading("a", 2)], vec![reading("a", 1)]));
        assert!(found.changed.is_empty());
    }

    #[test]
    fn what_is_in_doubt_may_be_stored_or_not() {
        let due = [reading("a", 1), reading("b", 2)];
        for rows in [vec![("a", 1.0)], vec![("a", 1.0), ("b", 2.0)]] {
            assert_eq!(identified(&due, 1, &due[1..], &rows), Some(Identified::default()));
        }
        let found = identified(&due, 1, &due[1..], &[("b", 2.0)]).unwrap();
        assert_eq!(found.missing_named, [reading("a", 1)], "a reading in doubt does not pay for an acknowledged one");
    }

    #[test]
    fn a_value_a_hair_away_or_no_number_is_changed() {
        let due = [reading("a", 1)];
        let found = identified(&due, 1, &[], &[("a", 1.000_000_1)]).unwrap();
        assert_eq!(found.changed, [(reading("a", 1), "1.0000001".to_owned())]);
        let found = identified(&due, 1, &[], &[("a", f64::NAN)]).unwrap();
        assert_eq!(found.changed, [(reading("a", 1), "no number".to_owned())]);
    }

    #[test]
    fn readings_that_were_never_written_are_not_missing() {
        let due = [reading("a", 1), reading("b", 2), reading("c", 3)];
        assert_eq!(identified(&due, 2, &[], &[("a", 1.0), ("b", 2.0)]), Some(Identified::default()));
        // One of two was never written and the other one is missing: how many is known, which is not.
        let found = identified(&due, 2, &[], &[("a", 1.0)]).unwrap();
        assert_eq!((found.missing, found.missing_named), (1, vec![]));
        // All that was acknowledged is there, so that the other value is a row from elsewhere.
        let found = identified(&due, 2, &[], &[("a", 1.0), ("b", 2.0), ("c", 9.0)]).unwrap();
        assert_eq!((found.missing, found.surplus, found.changed), (0, vec![reading("c", 9)], vec![]));
    }

    #[test]
    fn readings_that_do_not_fit_the_ledger_identify_nothing() {
        let due = [reading("a", 1)];
        assert_eq!(identified(&due, 2, &[], &[("a", 1.0)]), None, "more acknowledged than due");
        assert_eq!(identified(&due, 0, &[reading("b", 2)], &[]), None, "in doubt and never due");
        assert_eq!(identified(&due, 0, &[], &[("a", 1.0)]), None, "stored and never written");
        let other_sum = Ledgered { second: 7, acked: 1, acked_sum: 5, in_doubt: &[] };
        assert_eq!(identify(&other_sum, &due, vec![("a".into(), 1.0)]), None, "another sum was acknowledged");
    }
}
