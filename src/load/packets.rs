//! Which PUBACK belongs to which publish: the packet identifiers of one connection. Pure; knows no socket and no clock.
//!
//! A reading is *held* from the moment it is first encoded until its PUBACK. A lost connection loses no reading: what is
//! held keeps its identifier and is sent again with DUP after the reconnect, whether the broker kept the session or not
//! (at least once is what QoS 1 promises). Each reading ends as acknowledged or in doubt, and never as both.

use std::collections::VecDeque;

/// How many other identifiers are used before one is used again, so that a repeated PUBACK meets no new reading.
const REST: usize = 64;

/// The readings of one connection that wait for their PUBACK.
#[derive(Debug)]
pub struct Packets {
    window: usize,
    /// One for each identifier that was ever used, and an unused one for 0, which MQTT does not allow.
    slots: Vec<Slot>,
    free: VecDeque<u16>,
    again: VecDeque<u16>,
    unexpected_acks: u64,
}

/// What is known of one packet identifier. 32 bytes for each publish in flight; nothing for a point.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    held: bool,
    reading: u64,
    first_sent_ns: u64,
    last_sent_ns: u64,
}

/// A reading whose PUBACK came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// The reading's number in its lane.
    pub reading: u64,
    /// When it was first sent.
    pub first_sent_ns: u64,
}

/// A reading to be sent again, under the identifier that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// The packet identifier.
    pub id: u16,
    /// The reading's number in its lane.
    pub reading: u64,
}

impl Packets {
    /// An empty window for this many publishes, from 1 to 65 535.
    #[must_use]
    pub fn new(window: u16) -> Self {
        Self {
            window: usize::from(window.max(1)),
            slots: vec![Slot::default()],
            free: VecDeque::new(),
            again: VecDeque::new(),
            unexpected_acks: 0,
        }
    }

    /// Whether a new reading may be sent: the window has room and nothing older waits to be sent again.
    #[must_use]
    #[inline]
    pub fn admits(&self) -> bool {
        self.in_flight() < self.window && self.again.is_empty()
    }

    /// Takes an identifier for a new reading, or none when the window is closed.
    #[inline]
    pub fn send(&mut self, reading: u64, now_ns: u64) -> Option<u16> {
        if !self.admits() {
            return None;
        }
        let id = self.identifier()?;
        self.slots[usize::from(id)] = Slot { held: true, reading, first_sent_ns: now_ns, last_sent_ns: now_ns };
        Some(id)
    }

    /// An identifier that rested for a while, or else one that was never used: memory follows what is really in flight, not the window.
    #[inline]
    fn identifier(&mut self) -> Option<u16> {
        if self.free.len() < REST && self.slots.len() <= self.window {
            self.slots.push(Slot::default());
            return u16::try_from(self.slots.len() - 1).ok();
        }
        self.free.pop_front()
    }

    /// Takes a PUBACK in. None when nothing waits for it: it is counted and otherwise ignored.
    #[inline]
    pub fn acknowledge(&mut self, id: u16) -> Option<Acked> {
        let Some(slot) = self.slots.get_mut(usize::from(id)).filter(|slot| slot.held) else {
            self.unexpected_acks += 1;
            return None;
        };
        slot.held = false;
        self.free.push_back(id);
        Some(Acked { reading: slot.reading, first_sent_ns: slot.first_sent_ns })
    }

    /// The connection was lost: everything held will be sent again, oldest first.
    pub fn connection_lost(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.held) {
            slot.last_sent_ns = u64::MAX; // not sent on the next connection yet, so it cannot time out
        }
        let mut held: Vec<Again> = self.held().collect();
        held.sort_unstable_by_key(|again| again.reading);
        self.again = held.into_iter().map(|again| again.id).collect();
    }

    /// The next reading to be sent again, if any.
    pub fn next_again(&mut self, now_ns: u64) -> Option<Again> {
        while let Some(id) = self.again.pop_front() {
            let slot = &mut self.slots[usize::from(id)];
            if slot.held {
                slot.last_sent_ns = now_ns;
                return Some(Again { id, reading: slot.reading });
            }
        }
        None
    }

    /// How many readings were last sent before this time and still wait.
    #[must_use]
    pub fn sent_before(&self, ns: u64) -> usize {
        self.slots.iter().filter(|slot| slot.held && slot.last_sent_ns < ns).count()
    }

    /// How many readings wait for their PUBACK.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.slots.len() - 1 - self.free.len()
    }

    /// PUBACKs that nothing waited for.
    #[must_use]
    pub fn unexpected_acks(&self) -> u64 {
        self.unexpected_acks
    }

    /// The readings that wait, in the order of their identifiers. At the end of a load they are in doubt.
    pub fn held(&self) -> impl Iterator<Item = Again> + '_ {
        let numbered = self.slots.iter().zip(0..=u16::MAX);
        numbered.filter(|(slot, _)| slot.held).map(|(slot, id)| Again { id, reading: slot.reading })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_window_closes_and_opens() {
        let mut packets = Packets::new(2);
        assert_eq!((packets.send(10, 1), packets.send(11, 2), packets.send(12, 3)), (Some(1), Some(2), None));
        assert_eq!(packets.in_flight(), 2);
        assert_eq!(packets.acknowledge(2), Some(Acked { reading: 11, first_sent_ns: 2 }));
        assert_eq!(packets.send(12, 4), Some(2));
    }

    #[test]
    fn acks_that_nobody_waits_for_are_counted_not_trusted() {
        let mut packets = Packets::new(10);
        packets.send(0, 0);
        assert!(packets.acknowledge(1).is_some());
        for id in [1, 2, 0, 11, u16::MAX] {
            assert_eq!(packets.acknowledge(id), None, "{id}");
        }
        assert_eq!((packets.unexpected_acks(), packets.in_flight()), (5, 0));
    }

    #[test]
    fn a_lost_connection_sends_again_in_the_first_order() {
        let mut packets = Packets::new(3);
        for reading in 0..3 {
            packets.send(reading, 0);
        }
        packets.acknowledge(1);
        packets.send(3, 5);
        packets.connection_lost();
        assert!(!packets.admits(), "nothing new before what is old");
        assert_eq!(
            packets.acknowledge(3),
            Some(Acked { reading: 2, first_sent_ns: 0 }),
            "a PUBACK read late still counts"
        );
        assert_eq!(packets.next_again(9), Some(Again { id: 2, reading: 1 }));
        assert_eq!(packets.next_again(9), Some(Again { id: 1, reading: 3 }));
        assert_eq!(packets.next_again(9), None);
        assert_eq!((packets.sent_before(9), packets.sent_before(10)), (0, 2));
        assert_eq!(packets.acknowledge(2), Some(Acked { reading: 1, first_sent_ns: 0 }), "the first sending counts");
    }

    #[test]
    fn the_largest_window_uses_every_identifier() {
        let mut packets = Packets::new(u16::MAX);
        let ids: BTreeSet<u16> = (0..65_535).filter_map(|reading| packets.send(reading, 0)).collect();
        assert_eq!((ids.len(), ids.first(), ids.last()), (65_535, Some(&1), Some(&u16::MAX)));
        assert_eq!(packets.send(65_535, 0), None);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Send,
        Deliver(prop::sample::Index),
        AckTwice(prop::sample::Index),
        Hostile(u16),
        Lose,
        SendAgain,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            5 => Just(Step::Send),
            4 => any::<prop::sample::Index>().prop_map(Step::Deliver),
            1 => any::<prop::sample::Index>().prop_map(Step::AckTwice),
            1 => (7_u16..).prop_map(Step::Hostile),
            1 => Just(Step::Lose),
            3 => Just(Step::SendAgain),
        ];
        prop::collection::vec(step, 1..200)
    }

    proptest! {
        /// A broker that acknowledges, repeats itself, invents acknowledgements and breaks connections.
        #[test]
        fn every_offered_reading_is_acknowledged_or_in_doubt_and_never_both(steps in steps()) {
            let mut packets = Packets::new(6);
            let mut at_broker: Vec<u16> = Vec::new();
            let mut expected: BTreeMap<u16, u64> = BTreeMap::new();
            let mut acked = BTreeSet::new();
            let mut offered = 0;
            for step in steps {
                match step {
                    Step::Send => {
                        if let Some(id) = packets.send(offered, 0) {
                            prop_assert!(expected.insert(id, offered).is_none(), "identifier {} is in use", id);
                            at_broker.push(id);
                            offered += 1;
                        }
                    }
                    Step::Deliver(index) if !at_broker.is_empty() => {
                        let id = at_broker.swap_remove(index.index(at_broker.len()));
                        let reading = packets.acknowledge(id).map(|acked| acked.reading);
                        prop_assert_eq!(reading, expected.remove(&id));
                        acked.extend(reading);
                    }
                    Step::AckTwice(index) if !at_broker.is_empty() => {
                        let id = at_broker.swap_remove(index.index(at_broker.len()));
                        let first = packets.acknowledge(id).map(|acked| acked.reading);
                        prop_assert_eq!(first, expected.remove(&id));
                        acked.extend(first);
                        prop_assert_eq!(packets.acknowledge(id), None, "the second one is not trusted");
                    }
                    Step::Hostile(id) => prop_assert_eq!(packets.acknowledge(id), None),
                    Step::Lose => {
                        at_broker.clear();
                        packets.connection_lost();
                    }
                    Step::SendAgain => {
                        if let Some(again) = packets.next_again(0) {
                            prop_assert_eq!(expected.get(&again.id), Some(&again.reading), "identifier and reading stay together");
                            at_broker.push(again.id);
                        }
                    }
                    Step::Deliver(_) | Step::AckTwice(_) => {}
                }
            }
            let in_doubt: BTreeSet<u64> = packets.held().map(|again| again.reading).collect();
            prop_assert_eq!(in_doubt.len(), packets.in_flight());
            prop_assert!(acked.is_disjoint(&in_doubt));
            prop_assert_eq!(acked.len() + in_doubt.len(), usize::try_from(offered).unwrap());
        }
    }
}
