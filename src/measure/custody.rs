//! The ledger against the store, second by second of payload time.
//!
//! For each second the ledger knows how many readings were acknowledged and the exact sum of their values (multiples of 1/1024);
//! the store is asked for rows and sum. Each second stands for itself: a surplus in one never pays for a shortage in another. Readings
//! in doubt may be stored or not. A second that does not agree for certain is looked at row by row; where that is not possible
//! the counts and sums give lower bounds, and the comparison says so (`identified = false`).
//!
//! Equal counts and equal sums agree. What that cannot see is two changes of one second whose differences cancel to the last
//! bit: with values spread over 2²⁰ steps, one such pair in about a million.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

pub use super::identity::Row;
use super::identity::{Identified, Ledgered, identify};
use crate::record::entry::{Custody, Reading, Second, SecondOutcome};

/// The largest sum, in 1/1024, that a double holds exactly (2^53).
const EXACT: f64 = 9_007_199_254_740_992.0;

/// How many readings in doubt a sum may be split over; with more, the rows are asked for.
const SPLIT_AT_MOST: usize = 12;

/// The store's answer for a payload second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSecond {
    /// The Unix second.
    pub second: i64,
    /// How many rows there are.
    pub rows: u64,
    /// The sum of their values times 1024, or why it is not known exactly.
    pub sum: Result<i64, String>,
}

impl StoredSecond {
    /// A second from what the store said. A sum that is no multiple of 1/1024 shows that some value is not what was sent.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and below 2^53")]
    pub fn new(second: i64, rows: u64, sum: Option<f64>) -> Self {
        let sum = match sum.map(|sum| sum * 1024.0) {
            None => Err("the store gave no sum".to_owned()),
            Some(units) if units.fract() != 0.0 || units.abs() >= EXACT => {
                Err(format!("the sum {} is no multiple of 1/1024", units / 1024.0))
            }
            Some(units) => Ok(units as i64),
        };
        Self { second, rows, sum }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Books<'a> {
    /// The name of the `reconcile` phase.
    pub window: &'a str,
    /// The load.
    pub load: &'a str,
    /// Its ledger.
    pub seconds: &'a BTreeMap<i64, Second>,
    /// Its readings that were written and never acknowledged.
    pub in_doubt: &'a [Reading],
    /// The store's answer over at least the ledger's seconds; a second without rows may be left out.
    pub stored: &'a [StoredSecond],
    /// How many missing, surplus and changed readings are named at most, each.
    pub name_at_most: usize,
}

/// Compares the ledger with the store. `expected` gives all readings that were due in a second; `rows_of` asks the store for the
/// rows of a second, or says why it cannot.
#[must_use]
pub fn compare(
    books: &Books,
    expected: &dyn Fn(i64) -> Vec<Reading>,
    rows_of: &mut dyn FnMut(i64) -> Result<Vec<Row>, String>,
) -> Custody {
    let mut custody = Custody {
        window: books.window.to_owned(),
        load: books.load.to_owned(),
        in_doubt: books.in_doubt.len() as u64,
        identified: true,
        ..Custody::default()
    };
    let whole = books.whole_seconds();
    custody.whole_seconds = whole.end.abs_diff(whole.start);
    for mut entry in books.by_second() {
        let outcome =
            if entry.agrees() { None } else { entry.look(&mut custody, books.name_at_most, expected, rows_of) };
        custody.seconds += 1;
        custody.acked += entry.acked;
        custody.stored += entry.rows;
        custody.stored_in_whole += if whole.contains(&entry.second) { entry.rows } else { 0 };
        if let Some(outcome) = outcome {
            custody.missing += outcome.missing;
            custody.surplus += outcome.surplus;
            custody.changed += outcome.changed;
            custody.disagreeing.push(outcome);
        }
    }
    custody
}

/// Both books of one second.
struct BothBooks<'a> {
    second: i64,
    acked: u64,
    acked_sum: i64,
    in_doubt: Vec<&'a Reading>,
    rows: u64,
    /// The stored sum, when it is exact.
    sum: Option<i64>,
}

impl Books<'_> {
    /// The seconds between the load's first and last one. It began and ended somewhere within those, so that their rows make no rate.
    fn whole_seconds(&self) -> Range<i64> {
        match (self.seconds.first_key_value(), self.seconds.last_key_value()) {
            (Some((first, _)), Some((last, _))) if *last > *first => *first + 1..*last,
            _ => 0..0,
        }
    }

    /// The seconds that either side knows, in order.
    fn by_second(&self) -> Vec<BothBooks<'_>> {
        let known = self.seconds.keys().chain(self.stored.iter().map(|stored| &stored.second));
        let known: BTreeSet<i64> = known.chain(self.in_doubt.iter().map(|reading| &reading.second)).copied().collect();
        let mut in_doubt: BTreeMap<i64, Vec<&Reading>> = BTreeMap::new();
        for reading in self.in_doubt {
            in_doubt.entry(reading.second).or_default().push(reading);
        }
        let mut stored: BTreeMap<i64, (u64, Option<i64>)> = BTreeMap::new();
        for answer in self.stored {
            let (rows, sum) = stored.entry(answer.second).or_insert((0, Some(0)));
            *rows += answer.rows;
            *sum = sum.zip(answer.sum.clone().ok()).and_then(|(sum, more)| sum.checked_add(more));
        }
        let entry = |second| {
            let ledger = self.seconds.get(&second).copied().unwrap_or_default();
            let (rows, sum) = stored.get(&second).copied().unwrap_or((0, Some(0)));
            let in_doubt = in_doubt.remove(&second).unwrap_or_default();
            BothBooks { second, acked: ledger.acked, acked_sum: ledger.acked_sum, in_doubt, rows, sum }
        };
        known.into_iter().map(entry).collect()
    }
}

impl BothBooks<'_> {
    /// What the ledger says of the second.
    fn ledgered(&self) -> Ledgered<'_> {
        Ledgered { second: self.second, acked: self.acked, acked_sum: self.acked_sum, in_doubt: &self.in_doubt }
    }

    /// Whether counts and sums agree for certain: all acknowledged readings, and some of those in doubt.
    fn agrees(&self) -> bool {
        let Some((extra, sum)) = self.extra().zip(self.sum) else { return false };
        let values: Vec<i64> = self.in_doubt.iter().map(|reading| reading.value).collect();
        let rest = sum.saturating_sub(self.acked_sum);
        if extra == values.len() {
            return rest == values.iter().sum::<i64>();
        }
        values.len() <= SPLIT_AT_MOST && some_sum_to(&values, extra, rest) || extra == 0 && rest == 0
    }

    /// How many rows there are beyond those acknowledged, when that is at most what is in doubt.
    fn extra(&self) -> Option<usize> {
        let extra = usize::try_from(self.rows.checked_sub(self.acked)?).ok()?;
        (extra <= self.in_doubt.len()).then_some(extra)
    }

    /// Looks at a second row by row, as far as the store gives its rows; none when they agree after all.
    fn look(
        &mut self,
        custody: &mut Custody,
        name_at_most: usize,
        expected: &dyn Fn(i64) -> Vec<Reading>,
        rows_of: &mut dyn FnMut(i64) -> Result<Vec<Row>, String>,
    ) -> Option<SecondOutcome> {
        let rows = rows_of(self.second).ok();
        let count = rows.as_ref().map_or(self.rows, |rows| rows.len() as u64);
        let found = rows.and_then(|rows| identify(&self.ledgered(), &expected(self.second), rows));
        let Some(found) = found else {
            custody.identified = false;
            return Some(self.bounds());
        };
        // A store that is not at rest moves between two questions: what counts are the rows that were looked at.
        self.rows = count;
        self.identified(custody, found, name_at_most)
    }

    /// The outcome when all rows are known; none when they agree after all. Names go to the custody, up to a limit.
    fn identified(&self, custody: &mut Custody, found: Identified, name_at_most: usize) -> Option<SecondOutcome> {
        let Identified { missing, missing_named, surplus, changed } = found;
        if missing == 0 && surplus.is_empty() && changed.is_empty() {
            return None;
        }
        let outcome = self.outcome(missing, surplus.len() as u64, changed.len() as u64);
        fill(&mut custody.missing_named, missing_named, name_at_most);
        fill(&mut custody.surplus_named, surplus, name_at_most);
        fill(&mut custody.changed_named, changed, name_at_most);
        Some(outcome)
    }

    /// What counts and sums prove at least. Where the counts agree and the sums cannot, one reading counts as changed: it may
    /// also be a duplicate that hides a loss, which only the rows could tell.
    fn bounds(&self) -> SecondOutcome {
        let missing = self.acked.saturating_sub(self.rows);
        let surplus = self.rows.saturating_sub(self.acked + self.in_doubt.len() as u64);
        let is_changed = self.extra().is_some_and(|extra| !self.sum_is_possible(extra));
        self.outcome(missing, surplus, u64::from(is_changed))
    }

    /// Whether the sum lies between the least and the greatest that so many readings in doubt could add.
    fn sum_is_possible(&self, extra: usize) -> bool {
        let Some(sum) = self.sum else { return false };
        let mut values: Vec<i64> = self.in_doubt.iter().map(|reading| reading.value).collect();
        values.sort_unstable();
        let least: i64 = values[..extra].iter().sum();
        let greatest: i64 = values[values.len() - extra..].iter().sum();
        (least..=greatest).contains(&sum.saturating_sub(self.acked_sum))
    }

    fn outcome(&self, missing: u64, surplus: u64, changed: u64) -> SecondOutcome {
        SecondOutcome {
            second: self.second,
            acked: self.acked,
            in_doubt: self.in_doubt.len() as u64,
            stored: self.rows,
            missing,
            surplus,
            changed,
        }
    }
}

/// Appends until the limit.
fn fill<T>(names: &mut Vec<T>, more: Vec<T>, name_at_most: usize) {
    names.extend(more.into_iter().take(name_at_most.saturating_sub(names.len())));
}

/// Whether exactly `size` of the values add up to a total.
fn some_sum_to(values: &[i64], size: usize, total: i64) -> bool {
    match (values.split_first(), size) {
        (_, 0) => total == 0,
        (None, _) => false,
        (Some((first, rest)), _) => {
            some_sum_to(rest, size - 1, total.saturating_sub(*first)) || some_sum_to(rest, size, total)
        }
    }
}
