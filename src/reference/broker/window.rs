//! The messages in flight to one session: sent at QoS 1 and not yet acknowledged.
//!
//! Packet identifiers are given in order, so the place of one follows from the oldest: acknowledging takes constant time in any order.

use std::collections::VecDeque;

use super::message::Message;

/// One message in flight; none once it is acknowledged before an older one.
type Slot = Option<(Message, bool)>;

/// The window of one session.
#[derive(Debug)]
pub(super) struct Window {
    slots: VecDeque<Slot>,
    first_id: u16,
    unacked: usize,
    limit: usize,
    /// How many of the slots were sent on the present connection; the rest are to be sent again.
    sent: usize,
}

impl Window {
    /// An empty window of at most `limit` identifiers.
    pub(super) fn new(limit: u16) -> Self {
        Self { slots: VecDeque::new(), first_id: 1, unacked: 0, limit: usize::from(limit), sent: 0 }
    }

    /// How many more messages may be sent.
    pub(super) fn room(&self) -> usize {
        self.limit - self.slots.len()
    }

    /// How many messages wait for their acknowledgement.
    pub(super) fn unacked(&self) -> usize {
        self.unacked
    }

    /// Takes a message in and gives its packet identifier; the caller has seen that there is room, and sends it.
    pub(super) fn push(&mut self, message: Message, retain: bool) -> u16 {
        let id = self.id_at(self.slots.len());
        self.slots.push_back(Some((message, retain)));
        self.unacked += 1;
        self.sent += 1;
        id
    }

    /// Notes an acknowledgement; false when that identifier is not in flight.
    pub(super) fn ack(&mut self, id: u16) -> bool {
        if id == 0 {
            return false;
        }
        let distance = if id >= self.first_id { id - self.first_id } else { id + (u16::MAX - self.first_id) };
        let known = self.slots.get_mut(usize::from(distance)).is_some_and(|slot| slot.take().is_some());
        self.unacked -= usize::from(known);
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.first_id = self.id_at(1);
            self.sent = self.sent.saturating_sub(1);
        }
        known
    }

    /// Notes that a new connection has taken the session: what is in flight is to be sent again.
    pub(super) fn rewind(&mut self) {
        self.sent = 0;
    }

    /// The next message to send again, with its identifier and whether it was retained.
    pub(super) fn resend(&mut self) -> Option<(u16, &Message, bool)> {
        while self.sent < self.slots.len() {
            let at = self.sent;
            self.sent += 1;
            if self.slots[at].is_some() {
                let id = self.id_at(at);
                return self.slots[at].as_ref().map(|(message, retain)| (id, message, *retain));
            }
        }
        None
    }

    /// The identifier of a slot: they run from 1 to 65,535 and begin again.
    fn id_at(&self, slot: usize) -> u16 {
        let zero_based = (usize::from(self.first_id) - 1 + slot) % usize::from(u16::MAX);
        u16::try_from(zero_based + 1).unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push,
        Ack(prop::sample::Index),
        Foreign(u16),
        Reconnect,
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_map(
            start in 1_u16..,
            steps in prop::collection::vec(prop_oneof![
                4 => Just(Step::Push),
                4 => any::<prop::sample::Index>().prop_map(Step::Ack),
                1 => any::<u16>().prop_map(Step::Foreign),
                1 => Just(Step::Reconnect),
            ], 0..200),
        ) {
            let mut window = Window { first_id: start, ..Window::new(20) };
            let mut model: BTreeMap<u64, u16> = BTreeMap::new();
            let mut count = 0_u64;
            for step in steps {
                match step {
                    Step::Push if window.room() > 0 => {
                        let id = window.push(Message::new("t", &count.to_be_bytes(), &mut Vec::new()), false);
                        prop_assert!(id > 0 && !model.values().any(|other| *other == id));
                        model.insert(count, id);
                        count += 1;
                    }
                    Step::Push => {}
                    Step::Ack(index) => {
                        if !model.is_empty() {
                            let key = *index.get(&model.keys().copied().collect::<Vec<_>>());
                            prop_assert!(window.ack(model[&key]));
                            prop_assert!(!window.ack(model[&key]));
                            model.remove(&key);
                        }
                    }
                    Step::Foreign(id) => {
                        let expected = model.values().any(|known| *known == id);
                        prop_assert_eq!(window.ack(id), expected);
                        model.retain(|_, known| *known != id);
                    }
                    Step::Reconnect => {
                        window.rewind();
                        let mut again = Vec::new();
                        while let Some((id, message, _)) = window.resend() {
                            again.push((u64::from_be_bytes(message.payload().try_into().unwrap()), id));
                        }
                        prop_assert_eq!(again, model.clone().into_iter().collect::<Vec<_>>());
                    }
                }
                prop_assert_eq!(window.unacked(), model.len());
            }
        }
    }
}
