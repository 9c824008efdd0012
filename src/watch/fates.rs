//! What became of a canary's readings. Pure but for the news of PUBACKs, which comes through channels.

use std::{
    collections::BTreeMap,
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

/// The readings whose fate is open.
pub(super) struct Fates {
    next: u64,
    last: u64,
    lost_after_s: f64,
    open: BTreeMap<u64, Open>,
}

struct Open {
    published: f64,
    acked: bool,
    ack: Receiver<Instant>,
}

impl Fates {
    pub(super) fn new(first: u64, lost_after: Duration) -> Self {
        Self {
            next: first,
            last: first.saturating_sub(1),
            lost_after_s: lost_after.as_secs_f64(),
            open: BTreeMap::new(),
        }
    }

    /// The number of the next reading.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// A reading was handed over; `ack` tells of its PUBACK.
    pub(super) fn published(&mut self, number: u64, published: f64, ack: Receiver<Instant>) {
        self.last = number;
        self.next = number + 1;
        self.open.insert(number, Open { published, acked: false, ack });
    }

    pub(super) fn look_for_acks(&mut self) {
        for open in self.open.values_mut().filter(|open| !open.acked) {
            open.acked = open.ack.try_recv().is_ok();
        }
    }

    /// How many readings are open.
    pub(super) fn outstanding(&self) -> u64 {
        self.open.len() as u64
    }

    /// The store shows readings up to this number: those that it settles, with the times when they were published. One that was
    /// overtaken counts as seen with its successor, because the query tells the highest number alone.
    ///
    /// # Errors
    /// The last number that was published, when the store shows a higher one.
    pub(super) fn shown(&mut self, shown: u64) -> Result<Vec<(u64, f64)>, u64> {
        if shown > self.last {
            return Err(self.last);
        }
        let later = self.open.split_off(&(shown + 1));
        let seen = std::mem::replace(&mut self.open, later);
        Ok(seen.into_iter().map(|(number, open)| (number, open.published)).collect())
    }

    /// Gives up what is too old: the lost readings, and the numbers of those that the broker never acknowledged.
    pub(super) fn give_up(&mut self, now: f64) -> (Vec<(u64, f64)>, Vec<u64>) {
        let limit = self.lost_after_s;
        let old = self.open.iter().find(|(_, open)| now - open.published < limit).map(|(number, _)| *number);
        let young = old.map_or_else(BTreeMap::new, |number| self.open.split_off(&number));
        let old = std::mem::replace(&mut self.open, young);
        Self::part(old)
    }

    /// Gives up all that is open.
    pub(super) fn give_up_all(&mut self) -> (Vec<(u64, f64)>, Vec<u64>) {
        Self::part(std::mem::take(&mut self.open))
    }

    fn part(given_up: BTreeMap<u64, Open>) -> (Vec<(u64, f64)>, Vec<u64>) {
        let (acked, unacked): (Vec<_>, Vec<_>) = given_up.into_iter().partition(|(_, open)| open.acked);
        let lost = acked.into_iter().map(|(number, open)| (number, open.published)).collect();
        (lost, unacked.into_iter().map(|(number, _)| number).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Readings at 0, 1, 2, … seconds that are lost after 10.
    fn fates(first: u64, count: u64) -> (Fates, Vec<Sender<Instant>>) {
        let mut fates = Fates::new(first, Duration::from_secs(10));
        let mut acks = Vec::new();
        for index in 0_u32..u32::try_from(count).unwrap() {
            let (ack, news) = channel();
            fates.published(fates.next(), f64::from(index), news);
            acks.push(ack);
        }
        (fates, acks)
    }

    #[test]
    fn the_highest_number_settles_all_below() {
        let (mut fates, _acks) = fates(1, 4);
        assert_eq!(fates.shown(0), Ok(vec![]));
        assert_eq!(fates.shown(3), Ok(vec![(1, 0.0), (2, 1.0), (3, 2.0)]));
        assert_eq!(fates.shown(3), Ok(vec![]));
        assert_eq!((fates.outstanding(), fates.shown(5)), (1, Err(4)));
    }

    #[test]
    fn numbers_of_an_earlier_cell_settle_nothing() {
        let (mut fates, _acks) = fates(301, 2);
        assert_eq!(fates.shown(300), Ok(vec![]));
        assert_eq!(fates.shown(301), Ok(vec![(301, 0.0)]));
    }

    #[test]
    fn what_is_too_old_is_lost_or_was_never_published() {
        let (mut fates, acks) = fates(1, 4);
        acks[0].send(Instant::now()).unwrap();
        acks[2].send(Instant::now()).unwrap();
        fates.look_for_acks();
        assert_eq!(fates.give_up(9.9), (vec![], vec![]));
        assert_eq!(fates.give_up(11.5), (vec![(1, 0.0)], vec![2]));
        assert_eq!(fates.outstanding(), 2);
        assert_eq!(fates.give_up_all(), (vec![(3, 2.0)], vec![4]));
    }
}
