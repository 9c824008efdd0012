//! What the faults do to readings on their way into a batch. Without a fault a reading goes in as it came.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::{ListenerArgs, counts::Counts};
use crate::reference::{fault::ListenerFault, spare::Spare, store::Batch};

/// One step of the values that the generator sends.
const STEP: f64 = 1.0 / 1024.0;

/// A reading.
#[derive(Clone, Debug)]
struct Reading {
    topic: String,
    ts: i64,
    value: f64,
}

/// The faults of readings, and what they have in hand.
pub(super) struct Tamper {
    faults: Vec<ListenerFault>,
    spare: Spare,
    seen: u64,
    /// Readings that are held back, with the time until then; every one is held equally long, so they are in order.
    late: VecDeque<(Instant, Reading)>,
    /// The next reading takes the place of one that was dropped.
    owed: bool,
}

impl Tamper {
    /// Nothing seen yet.
    pub(super) fn new(args: &ListenerArgs) -> Self {
        let (faults, spare) = (args.fault.0.clone(), args.spare.clone());
        Self { faults, spare, seen: 0, late: VecDeque::new(), owed: false }
    }

    /// Puts a reading into the batch: once as it is, or as the faults have it.
    pub(super) fn put(&mut self, batch: &mut Batch, counts: &Counts, topic: &str, ts: i64, value: f64) {
        if self.faults.is_empty() || self.spare.covers(topic) {
            batch.push(topic, ts, value);
            return;
        }
        self.seen += 1;
        let (mut ts, mut value, mut copies, mut held) = (ts, value, 1, None);
        for fault in &self.faults {
            match *fault {
                ListenerFault::Duplicate { one_in } if self.seen.is_multiple_of(one_in.get()) => {
                    copies += 1;
                    counts.duplicated();
                }
                ListenerFault::Corrupt { one_in } if self.seen.is_multiple_of(one_in.get()) => {
                    value += STEP;
                    counts.corrupted();
                }
                ListenerFault::DropAndDuplicate { .. } if self.owed => {
                    self.owed = false;
                    copies += 1;
                    counts.duplicated();
                }
                ListenerFault::DropAndDuplicate { one_in } if self.seen.is_multiple_of(one_in.get()) => {
                    self.owed = true;
                    copies -= 1;
                    counts.dropped();
                }
                ListenerFault::Late { one_in, by } if self.seen.is_multiple_of(one_in.get()) => {
                    held = Some(by);
                    counts.late();
                }
                ListenerFault::ClockApart { by } => {
                    ts = ts.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
                    counts.shifted();
                }
                _ => {}
            }
        }
        match held {
            Some(by) => self.hold(by, copies, &Reading { topic: topic.to_owned(), ts, value }),
            None => (0..copies).for_each(|_| batch.push(topic, ts, value)),
        }
    }

    /// When the next reading that is held back is to be committed.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.late.front().map(|(due, _)| *due)
    }

    /// Puts what has been held back for long enough into the batch.
    pub(super) fn release(&mut self, batch: &mut Batch) {
        let now = Instant::now();
        while let Some((_, reading)) = self.late.pop_front_if(|(due, _)| *due <= now) {
            batch.push(&reading.topic, reading.ts, reading.value);
        }
    }

    fn hold(&mut self, by: Duration, copies: u32, reading: &Reading) {
        let due = Instant::now() + by;
        self.late.extend((0..copies).map(|_| (due, reading.clone())));
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ListenerArgs,
    }

    /// What becomes of so many readings of one point, the n-th at time n with value n.
    fn stored(fault: &str, topic: &str, count: i32) -> (Vec<(i64, f64)>, serde_json::Value) {
        let args = Line::parse_from(["listener", "--store", "s", "--fault", fault]).args;
        let (mut tamper, mut batch, counts) = (Tamper::new(&args), Batch::default(), Counts::default());
        (1..=count).for_each(|n| tamper.put(&mut batch, &counts, topic, n.into(), n.into()));
        tamper.release(&mut batch);
        let rows = batch.readings().map(|(_, ts, value)| (ts, value)).collect();
        (rows, serde_json::to_value(counts.truth()).unwrap())
    }

    #[test]
    fn each_fault_does_what_it_says_and_counts_it() {
        let as_sent = [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)];
        for (fault, expected, count) in [
            ("none", &as_sent[..], None),
            ("duplicate=3", &[(1, 1.0), (2, 2.0), (3, 3.0), (3, 3.0), (4, 4.0)], Some(("duplicated", 1))),
            ("corrupt=3", &[(1, 1.0), (2, 2.0), (3, 3.0 + STEP), (4, 4.0)], Some(("corrupted", 1))),
            ("drop_and_duplicate=3", &[(1, 1.0), (2, 2.0), (4, 4.0), (4, 4.0)], Some(("dropped", 1))),
            ("late=2:1s", &[(1, 1.0), (3, 3.0)], Some(("late", 2))),
            ("late=2:0s", &[(1, 1.0), (3, 3.0), (2, 2.0), (4, 4.0)], Some(("late", 2))),
            ("clock_apart=5ms", &[(6, 1.0), (7, 2.0), (8, 3.0), (9, 4.0)], Some(("shifted", 4))),
        ] {
            let (rows, truth) = stored(fault, "fbf/scale/s0/e0/flow", 4);
            assert_eq!(rows, expected, "{fault}");
            if let Some((name, number)) = count {
                assert_eq!(truth[name], number, "{fault}");
            }
            assert_eq!(stored(fault, "fbf/canary/lag", 4).0, as_sent, "{fault} spares the canary");
        }
    }
}
