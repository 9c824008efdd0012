//! What a load did, counted as it becomes known: a slice for the present, a ledger of payload seconds for custody. Pure.

use super::{distribution::Distribution, pace::Schedule};
use crate::record::entry::{Entry, Event, EventKind, Ledger, Second, Slice};

/// How many events of one kind a slice holds; a storm of reconnects must not fill the journal.
const EVENTS_PER_SLICE: usize = 20;

/// Turns that are no further apart than this found the generator running: ten of them.
const PROMPT_NS: u64 = 20_000_000;

/// The counters of one load.
#[derive(Debug)]
pub(super) struct Tally {
    load: String,
    schedule: Schedule,
    /// The start of the schedule, Unix nanoseconds.
    start_unix_ns: u64,
    /// The start of the schedule on the clock of the run.
    start_ns: u64,
    slice: Slice,
    schedule_lag: Distribution,
    ack_service: Distribution,
    ack_response: Distribution,
    seconds: Vec<Dated>,
    /// Readings due before this time, nanoseconds since the start of the schedule, are in `due_counted`.
    uncounted_ns: u64,
    due_counted: u64,
    offered: u64,
    /// When the generator last had a turn, nanoseconds since the start of the schedule.
    turned_ns: u64,
    /// The share of the connections that the last turn left with a full window and something due.
    full_share: f64,
    events: Vec<Event>,
}

/// A payload second, and whether it changed since it was last told.
#[derive(Clone, Copy, Debug, Default)]
struct Dated {
    second: Second,
    changed: bool,
}

impl Tally {
    /// Counters of a load whose schedule starts at `start_ns` on the clock of the run, which is `start_unix_ns` on the wall.
    pub(super) fn new(load: &str, schedule: Schedule, start_ns: u64, start_unix_ns: u64) -> Self {
        let from = seconds(start_ns);
        Self {
            load: load.to_owned(),
            schedule,
            start_unix_ns,
            start_ns,
            slice: Slice { load: load.to_owned(), from, to: from, ..Slice::default() },
            schedule_lag: Distribution::new(),
            ack_service: Distribution::new(),
            ack_response: Distribution::new(),
            seconds: Vec::new(),
            uncounted_ns: 0,
            due_counted: 0,
            offered: 0,
            turned_ns: 0,
            full_share: 0.0,
            events: Vec::new(),
        }
    }

    /// The generator has a turn. The time since the last one says whether it ran: a stop of the whole program, or a CPU that was not
    /// there, is told apart from a server that left the window full: only a time in which the generator ran counts as that.
    pub(super) fn turned(&mut self, now_ns: u64) {
        let gap_ns = now_ns.saturating_sub(std::mem::replace(&mut self.turned_ns, now_ns));
        self.slice.stall_s = self.slice.stall_s.max(seconds(gap_ns));
        let full_share = std::mem::take(&mut self.full_share);
        if gap_ns <= PROMPT_NS {
            self.slice.window_full_s += full_share * seconds(gap_ns);
        }
    }

    /// The turn left this share of the connections with a full window and something due.
    pub(super) fn left_full(&mut self, share: f64) {
        self.full_share = share;
    }

    /// A reading was written to a socket for the first time. Times are nanoseconds since the start of the schedule.
    #[inline]
    pub(super) fn offered(&mut self, due_ns: u64, written_ns: u64) {
        self.slice.offered += 1;
        self.schedule_lag.record_us(written_ns.saturating_sub(due_ns) / 1000);
        self.second_of(due_ns).offered += 1;
    }

    /// A reading's PUBACK came.
    #[inline]
    pub(super) fn acked(&mut self, due_ns: u64, sent_ns: u64, now_ns: u64, value: i64) {
        self.slice.acked += 1;
        self.ack_service.record_us(now_ns.saturating_sub(sent_ns) / 1000);
        self.ack_response.record_us(now_ns.saturating_sub(due_ns) / 1000);
        let second = self.second_of(due_ns);
        second.acked += 1;
        second.acked_sum += value;
    }

    /// A reading was written again.
    pub(super) fn resent(&mut self, due_ns: u64) {
        self.slice.resent += 1;
        self.second_of(due_ns).resent += 1;
    }

    /// Bytes were written.
    pub(super) fn wrote(&mut self, bytes: u64) {
        self.slice.bytes += bytes;
    }

    /// Something happened to a connection. Each event counts; the journal gets the first ones of each slice.
    pub(super) fn event(&mut self, now_ns: u64, kind: EventKind, detail: String) {
        let at = seconds(self.start_ns + now_ns);
        self.events.push(Event { at, kind, subject: self.load.clone(), detail });
    }

    /// Publishes whose PUBACK did not come in time.
    pub(super) fn timed_out(&mut self, count: u64) {
        self.slice.timed_out += count;
    }

    /// A connection was lost.
    pub(super) fn disconnected(&mut self) {
        self.slice.disconnects += 1;
    }

    /// A connection was made again.
    pub(super) fn reconnected(&mut self) {
        self.slice.reconnects += 1;
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "seconds since the start of the load")]
    fn second_of(&mut self, due_ns: u64) -> &mut Second {
        let index = ((self.start_unix_ns + due_ns) / 1_000_000_000 - self.start_unix_ns / 1_000_000_000) as usize;
        if index >= self.seconds.len() {
            self.open_seconds(index);
        }
        let dated = &mut self.seconds[index];
        dated.changed = true;
        &mut dated.second
    }

    fn open_seconds(&mut self, last: usize) {
        let first = self.start_unix_ns / 1_000_000_000;
        while self.seconds.len() <= last {
            let second = (first + self.seconds.len() as u64).cast_signed();
            self.seconds.push(Dated { second: Second { second, ..Second::default() }, changed: false });
        }
    }

    /// Counts what is due up to and including this time, second by second.
    fn count_due(&mut self, through_ns: u64) {
        while self.uncounted_ns <= through_ns {
            let second = (self.start_unix_ns + self.uncounted_ns) / 1_000_000_000;
            let last_of_second_ns = (second + 1) * 1_000_000_000 - 1 - self.start_unix_ns;
            let through_ns = last_of_second_ns.min(through_ns);
            let due = self.schedule.due_through(through_ns) - self.due_counted;
            if due > 0 {
                self.second_of(through_ns).due += due;
                self.due_counted += due;
                self.slice.due += due;
            }
            self.uncounted_ns = through_ns + 1;
        }
    }

    /// Ends the slice here and begins the next one. `due_ns` is the time up to which readings are due: `now_ns`, or the stop of the load.
    pub(super) fn cut(&mut self, now_ns: u64, due_ns: u64, in_flight: u64, cpu_s: f64) -> Vec<Entry> {
        self.count_due(due_ns);
        self.offered += self.slice.offered;
        self.slice.to = seconds(self.start_ns + now_ns);
        self.slice.in_flight = in_flight;
        self.slice.backlog = self.due_counted.saturating_sub(self.offered);
        self.slice.cpu_s = cpu_s;
        self.slice.schedule_lag = self.schedule_lag.take_base64();
        self.slice.ack_service = self.ack_service.take_base64();
        self.slice.ack_response = self.ack_response.take_base64();
        let next = Slice { load: self.load.clone(), from: self.slice.to, to: self.slice.to, ..Slice::default() };
        let slice = std::mem::replace(&mut self.slice, next);
        let changed =
            self.seconds.iter_mut().filter_map(|dated| std::mem::take(&mut dated.changed).then_some(dated.second));
        let ledger = Ledger { load: self.load.clone(), seconds: changed.collect() };
        let mut entries: Vec<Entry> =
            few_events(std::mem::take(&mut self.events)).into_iter().map(Entry::Event).collect();
        if !ledger.seconds.is_empty() {
            entries.push(Entry::Ledger(ledger));
        }
        entries.push(Entry::Slice(slice));
        entries
    }
}

/// The first events of each kind, and how many more there were.
fn few_events(events: Vec<Event>) -> Vec<Event> {
    let mut kept: Vec<Event> = Vec::new();
    let mut left: Vec<(Event, usize)> = Vec::new();
    for event in events {
        if kept.iter().filter(|other| other.kind == event.kind).count() < EVENTS_PER_SLICE {
            kept.push(event);
        } else if let Some((_, count)) = left.iter_mut().find(|(other, _)| other.kind == event.kind) {
            *count += 1;
        } else {
            left.push((event, 1));
        }
    }
    kept.extend(left.into_iter().map(|(event, count)| Event { detail: format!("and {count} more of these"), ..event }));
    kept
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run stay below 2^53 for a hundred days")]
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: u64 = 1_000_000;

    /// Ten points each second, from 300 ms after a full second on; the run began 5 s before.
    fn tally() -> Tally {
        let schedule = Schedule::new(10, Duration::from_secs(1)).unwrap();
        Tally::new("readings", schedule, 5_000 * MS, 1_700_000_000_300 * MS)
    }

    fn parts(entries: &[Entry]) -> (Slice, Vec<Second>, usize) {
        let slice =
            entries.iter().find_map(|entry| if let Entry::Slice(slice) = entry { Some(slice.clone()) } else { None });
        let ledger = entries
            .iter()
            .find_map(|entry| if let Entry::Ledger(ledger) = entry { Some(ledger.seconds.clone()) } else { None });
        let events = entries.iter().filter(|entry| matches!(entry, Entry::Event(_))).count();
        (slice.unwrap(), ledger.unwrap_or_default(), events)
    }

    #[test]
    fn readings_are_counted_in_the_second_of_their_due_time() {
        let mut tally = tally();
        for number in 0..9 {
            tally.offered(number * 100 * MS, number * 100 * MS + 2 * MS);
        }
        tally.acked(0, 2 * MS, 5 * MS, 100);
        tally.acked(700 * MS, 702 * MS, 705 * MS, -30);
        tally.resent(600 * MS);
        let (slice, seconds, _) = parts(&tally.cut(850 * MS, 850 * MS, 7, 0.25));
        assert_eq!(
            (slice.due, slice.offered, slice.acked, slice.resent, slice.in_flight, slice.backlog),
            (9, 9, 2, 1, 7, 0)
        );
        assert!((slice.from - 5.0).abs() < 1e-9 && (slice.to - 5.85).abs() < 1e-9 && (slice.cpu_s - 0.25).abs() < 1e-9);
        let first = Second { second: 1_700_000_000, due: 7, offered: 7, acked: 1, acked_sum: 100, resent: 1 };
        let then = Second { second: 1_700_000_001, due: 2, offered: 2, acked: 1, acked_sum: -30, resent: 0 };
        assert_eq!(seconds, [first, then]);
    }

    #[test]
    fn a_late_generator_shows_as_backlog_and_its_seconds_are_told_again_when_they_change() {
        let mut tally = tally();
        let (slice, seconds, _) = parts(&tally.cut(1_000 * MS, 1_000 * MS, 0, 0.0));
        assert_eq!((slice.due, slice.backlog, seconds.len()), (11, 11, 2));
        let (slice, seconds, _) = parts(&tally.cut(1_050 * MS, 1_050 * MS, 0, 0.0));
        assert_eq!((slice.due, slice.backlog, seconds.len()), (0, 11, 0), "nothing changed");
        tally.offered(0, 1_060 * MS);
        let (slice, seconds, _) = parts(&tally.cut(1_060 * MS, 1_000 * MS, 1, 0.0));
        assert_eq!(
            (slice.backlog, seconds[0].due, seconds[0].offered),
            (10, 7, 1),
            "the whole second, not the difference"
        );
    }

    #[test]
    fn the_longest_time_without_a_turn_is_kept_for_each_slice() {
        let mut tally = tally();
        for at in [2, 4, 3_004, 3_006] {
            tally.turned(at * MS);
        }
        let (slice, _, _) = parts(&tally.cut(3_006 * MS, 3_006 * MS, 0, 0.0));
        assert!((slice.stall_s - 3.0).abs() < 1e-9, "{}", slice.stall_s);
        tally.turned(3_008 * MS);
        let (slice, _, _) = parts(&tally.cut(3_008 * MS, 3_008 * MS, 0, 0.0));
        assert!((slice.stall_s - 0.002).abs() < 1e-9, "{}", slice.stall_s);
    }

    #[test]
    fn a_full_window_counts_while_the_generator_runs_and_not_while_it_is_stopped() {
        let mut tally = tally();
        for at in 0..500 {
            tally.turned(2 * at * MS);
            tally.left_full(if at < 250 { 0.5 } else { 0.0 });
        }
        tally.left_full(1.0);
        tally.turned(3_000 * MS);
        let (slice, _, _) = parts(&tally.cut(3_000 * MS, 3_000 * MS, 0, 0.0));
        assert!((slice.window_full_s - 0.25).abs() < 1e-9, "{}", slice.window_full_s);
        tally.turned(3_002 * MS);
        let (slice, _, _) = parts(&tally.cut(3_002 * MS, 3_002 * MS, 0, 0.0));
        assert!(slice.window_full_s.abs() < 1e-9, "each turn says it anew: {}", slice.window_full_s);
    }

    #[test]
    fn a_storm_of_events_is_cut_short_and_says_so() {
        let mut tally = tally();
        for number in 0..50 {
            tally.event(number, EventKind::Disconnected, "closed".to_owned());
        }
        tally.event(50, EventKind::Connected, "made".to_owned());
        let entries = tally.cut(51, 51, 0, 0.0);
        let (_, _, events) = parts(&entries);
        assert_eq!(events, EVENTS_PER_SLICE + 2);
        assert!(
            entries.iter().any(|entry| matches!(entry, Entry::Event(event) if event.detail == "and 30 more of these"))
        );
    }
}
