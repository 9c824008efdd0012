//! A connection and the readings that it has to send: what is due goes out as one write a turn, each PUBACK finds its reading.

use super::{
    RunClock, encode,
    link::{Change, Heard, Link},
    pace::{Lane, horizon_ns},
    packets::Packets,
    tally::Tally,
    template::{Envelope, Facts},
    value,
};
use crate::record::entry::{EventKind, Reading};

/// What is encoded at most before it is written. A turn of 2 ms then carries 4 million readings a second of each connection.
const WRITE_CAP: usize = 1 << 20;

/// How often overdue acknowledgements are looked for.
const OVERDUE_EVERY_NS: u64 = 100_000_000;

/// How often a connection that waits for nothing is looked at.
const IDLE_EVERY_NS: u64 = 50_000_000;

/// What all outlets of a load use.
pub(super) struct Common {
    pub(super) clock: RunClock,
    pub(super) envelope: Envelope,
    pub(super) tally: Tally,
    pub(super) seed: u64,
    /// The start of the schedule on the clock of the run.
    pub(super) start_ns: u64,
    pub(super) acknowledged: bool,
    pub(super) retain: bool,
    pub(super) catch_up_permille: u64,
    pub(super) ack_timeout_ns: u64,
    pub(super) scratch: Vec<u8>,
    pub(super) heard: Heard,
}

impl Common {
    /// Nanoseconds since the start of the schedule.
    fn now_ns(&self) -> u64 {
        self.clock.now_ns().saturating_sub(self.start_ns)
    }

    fn facts(&self, lane: &Lane, number: u64) -> (Facts, u64) {
        let (point, tick) = lane.reading(number);
        let due_ns = lane.due_ns(number);
        let value = value::value(point, tick, self.seed);
        (Facts { point, tick, value, unix_ns: self.clock.unix_ns(self.start_ns + due_ns) }, due_ns)
    }

    fn encode(&mut self, out: &mut Vec<u8>, id: Option<u16>, dup: bool, facts: &Facts) {
        let head = encode::Head { id, retain: self.retain, dup };
        let envelope = self.envelope.at(facts.unix_ns);
        let topic = |out: &mut Vec<u8>| envelope.write_topic(facts, out);
        encode::publish(out, head, topic, |out, place| envelope.write_payload(facts, place, out));
    }
}

/// One connection of a load.
pub(super) struct Outlet {
    number: u64,
    link: Link,
    packets: Packets,
    lane: Lane,
    /// Readings below this number are encoded; they are a prefix of the lane.
    offered: u64,
    /// Readings below this number are counted as written.
    written: u64,
    horizon_ns: u64,
    turned_ns: u64,
    heard_ns: u64,
    looked_ns: u64,
    /// Whether the last turn left a due reading because the window was full.
    left_full: bool,
}

impl Outlet {
    pub(super) fn new(number: u64, link: Link, window: u16, lane: Lane) -> Self {
        let packets = Packets::new(window);
        Self {
            number,
            link,
            packets,
            lane,
            offered: 0,
            written: 0,
            horizon_ns: 0,
            turned_ns: 0,
            heard_ns: 0,
            looked_ns: 0,
            left_full: false,
        }
    }

    /// How many readings wait for their PUBACK.
    pub(super) fn in_flight(&self) -> u64 {
        self.packets.in_flight() as u64
    }

    /// How many readings were offered.
    pub(super) fn offered(&self) -> u64 {
        self.offered
    }

    /// Whether the last turn left a due reading because all publishes that may be in flight were.
    pub(super) fn left_full(&self) -> bool {
        self.left_full
    }

    /// Whether everything that was encoded is written and, for quality of service 1, acknowledged.
    pub(super) fn is_settled(&self) -> bool {
        self.packets.in_flight() == 0 && (self.written == self.offered || !self.link.is_up())
    }

    /// One turn at `now_ns` of the schedule. New readings are offered when they are due at `offer_until_ns` or before; none means that the load
    /// is stopping.
    pub(super) fn turn(&mut self, now_ns: u64, offer_until_ns: Option<u64>, common: &mut Common) {
        let run_ns = common.start_ns + now_ns;
        let idle = self.link.is_up() && self.packets.in_flight() == 0;
        if !idle || now_ns.saturating_sub(self.heard_ns) >= IDLE_EVERY_NS {
            self.heard_ns = now_ns;
            self.link.receive(run_ns, &mut common.scratch, &mut common.heard);
            self.take_in(now_ns, common);
            self.look_for_overdue(now_ns, common);
        }
        self.horizon_ns = horizon_ns(
            self.horizon_ns,
            self.lane.due_ns(self.offered),
            now_ns,
            now_ns.saturating_sub(self.turned_ns),
            common.catch_up_permille,
        );
        self.turned_ns = now_ns;
        self.fill(now_ns, offer_until_ns.map(|until_ns| until_ns.min(self.horizon_ns)), common);
        let is_due = offer_until_ns.is_some_and(|until_ns| self.lane.due_ns(self.offered) <= until_ns);
        self.left_full = is_due && common.acknowledged && self.link.is_up() && !self.packets.admits();
        if self.link.flush(run_ns, &mut common.heard) {
            self.count_written(self.offered, common);
        }
        self.take_in(now_ns, common);
    }

    /// Encodes what has to be sent again, then what is due.
    fn fill(&mut self, now_ns: u64, offer_until_ns: Option<u64>, common: &mut Common) {
        let Some(out) = self.link.out() else { return };
        let start = out.len();
        while out.len() < WRITE_CAP
            && let Some(again) = self.packets.next_again(now_ns)
        {
            let (facts, due_ns) = common.facts(&self.lane, again.reading);
            common.encode(out, Some(again.id), true, &facts);
            common.tally.resent(due_ns);
        }
        let due = offer_until_ns.map_or(0, |until_ns| self.lane.due_through(until_ns));
        while self.offered < due && out.len() < WRITE_CAP {
            let id = if common.acknowledged { self.packets.send(self.offered, now_ns) } else { None };
            if id.is_none() && common.acknowledged {
                break; // the window is closed
            }
            let (facts, _) = common.facts(&self.lane, self.offered);
            common.encode(out, id, false, &facts);
            self.offered += 1;
        }
        common.tally.wrote((out.len() - start) as u64);
    }

    fn count_written(&mut self, end: u64, common: &mut Common) {
        if self.written < end {
            let now_ns = common.now_ns();
            for number in self.written..end {
                common.tally.offered(self.lane.due_ns(number), now_ns);
            }
            self.written = end;
        }
    }

    fn take_in(&mut self, now_ns: u64, common: &mut Common) {
        let mut heard = std::mem::take(&mut common.heard);
        for id in heard.acks.drain(..) {
            if let Some(acked) = self.packets.acknowledge(id) {
                // A reading of a write that the socket took in part.
                self.count_written((acked.reading + 1).max(self.written), common);
                let (point, tick) = self.lane.reading(acked.reading);
                let value = value::value(point, tick, common.seed);
                common.tally.acked(self.lane.due_ns(acked.reading), acked.first_sent_ns, now_ns, value);
            }
        }
        for change in heard.changes.drain(..) {
            self.note(now_ns, &change, common);
        }
        heard.messages.clear(); // nothing was subscribed to
        common.heard = heard;
    }

    fn note(&mut self, now_ns: u64, change: &Change, common: &mut Common) {
        match change {
            Change::Lost(_) => {
                // What was handed to the socket in part may have arrived or not: it is offered, and sent again.
                self.count_written(self.offered, common);
                self.packets.connection_lost();
                common.tally.disconnected();
            }
            Change::Up { again: true, .. } => common.tally.reconnected(),
            _ => {}
        }
        if let Some((kind, detail)) = in_words(self.number, change) {
            common.tally.event(now_ns, kind, detail);
        }
    }

    fn look_for_overdue(&mut self, now_ns: u64, common: &mut Common) {
        if !self.link.is_up() || now_ns.saturating_sub(self.looked_ns) < OVERDUE_EVERY_NS {
            return;
        }
        self.looked_ns = now_ns;
        let overdue = self.packets.sent_before(now_ns.saturating_sub(common.ack_timeout_ns));
        if overdue > 0 {
            common.tally.timed_out(overdue as u64);
            let detail = format!("connection {}: {overdue} publishes without PUBACK in time", self.number);
            common.tally.event(now_ns, EventKind::AckTimeout, detail);
            self.link.lose(common.start_ns + now_ns, "no PUBACK in time".to_owned(), &mut common.heard);
            self.take_in(now_ns, common);
        }
    }

    /// The readings that were offered and not acknowledged.
    pub(super) fn in_doubt<'a>(&'a self, common: &'a Common) -> impl Iterator<Item = Reading> + 'a {
        self.packets.held().map(|held| {
            let (facts, _) = common.facts(&self.lane, held.reading);
            let second = (facts.unix_ns / 1_000_000_000).cast_signed();
            Reading { second, topic: common.envelope.topic(&facts), value: facts.value }
        })
    }

    /// PUBACKs that nothing waited for.
    pub(super) fn unexpected_acks(&self) -> u64 {
        self.packets.unexpected_acks()
    }

    /// Counts what is left as it is, says good-bye and closes.
    pub(super) fn close(&mut self, common: &mut Common) {
        self.count_written(self.offered, common);
        self.link.close();
    }
}

/// A change of a connection as an event; a connection that is refused again and again is told once.
pub(super) fn in_words(number: u64, change: &Change) -> Option<(EventKind, String)> {
    Some(match change {
        Change::Up { session_present, again } => {
            let made = if *again { "made again" } else { "made" };
            let session = if *session_present { "the broker kept the session" } else { "a new session" };
            (EventKind::Connected, format!("connection {number} {made}, {session}"))
        }
        Change::Lost(reason) => (EventKind::Disconnected, format!("connection {number}: {reason}")),
        Change::Refused { reason, first: true } => (EventKind::Refused, format!("connection {number}: {reason}")),
        Change::Refused { first: false, .. } | Change::NotSubscribed => return None,
    })
}
