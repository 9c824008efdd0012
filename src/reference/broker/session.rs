//! A session: what waits for one client, what is in flight to it, and the connection that serves it now, if any.

use std::{cell::Cell, collections::VecDeque, rc::Rc};

use tokio::sync::Notify;

use super::{message::Message, window::Window};
use crate::reference::{topic, wire::WireError};

/// How a session reaches its connection.
#[derive(Debug, Default)]
pub(super) struct Link {
    wake: Notify,
    woken: Cell<bool>,
    taken_over: Cell<bool>,
}

impl Link {
    /// Returns when there is something to send or the connection has to end.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
        self.woken.set(false);
    }

    /// Ends the connection: another one has come with its client identifier.
    pub(super) fn take_over(&self) {
        self.taken_over.set(true);
        self.wake.notify_one();
    }

    /// Whether another connection has its client identifier now.
    pub(super) fn is_taken_over(&self) -> bool {
        self.taken_over.get()
    }

    /// Wakes the connection.
    pub(super) fn wake(&self) {
        // A notification takes an atomic operation; one per batch is enough.
        if !self.woken.replace(true) {
            self.wake.notify_one();
        }
    }
}

/// A message on its way to a session.
#[derive(Clone, Debug)]
struct Waiting {
    message: Message,
    qos: u8,
    retain: bool,
}

/// What became of an offered message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// It waits for its turn.
    Queued,
    /// The queue is full.
    Dropped,
    /// The client is away, and the message is not kept for it.
    Away,
}

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    /// The client identifier.
    pub(super) id: Rc<str>,
    /// Whether it outlives its connection.
    pub(super) kept: bool,
    /// The connection that serves it.
    pub(super) link: Option<Rc<Link>>,
    /// QoS 1 deliveries that the client acknowledged.
    pub(super) acked: u64,
    /// Messages dropped because the queue was full.
    pub(super) dropped: u64,
    /// Retained messages for new subscriptions: pointers into the retained store, and therefore not bounded by the queue.
    replay: VecDeque<Waiting>,
    queue: VecDeque<Waiting>,
    queue_limit: usize,
    window: Window,
}

impl Session {
    /// A new, empty session.
    pub(super) fn new(id: Rc<str>, kept: bool, queue_limit: usize, inflight: u16) -> Self {
        let (replay, queue, window) = (VecDeque::new(), VecDeque::new(), Window::new(inflight));
        Self { id, kept, link: None, acked: 0, dropped: 0, replay, queue, queue_limit, window }
    }

    /// How many messages wait to be sent.
    pub(super) fn queued(&self) -> usize {
        self.queue.len() + self.replay.len()
    }

    /// How many messages were sent and wait for their acknowledgement.
    pub(super) fn inflight(&self) -> usize {
        self.window.unacked()
    }

    /// A connection takes the session; the one before, if any, is told to end.
    pub(super) fn attach(&mut self, link: Rc<Link>) {
        if let Some(before) = self.link.replace(link) {
            before.take_over();
        }
        self.window.rewind();
    }

    /// Offers a message. What fits into the window at once is not counted against the queue.
    pub(super) fn offer(&mut self, message: &Message, qos: u8) -> Offer {
        let room = match (&self.link, qos) {
            (Some(_), _) => self.queue_limit + self.window.room(),
            (None, 0) => return Offer::Away,
            (None, _) if !self.kept => return Offer::Away,
            (None, _) => self.queue_limit,
        };
        if self.queue.len() >= room {
            self.dropped += 1;
            return Offer::Dropped;
        }
        self.queue.push_back(Waiting { message: message.clone(), qos, retain: false });
        if let Some(link) = &self.link {
            link.wake();
        }
        Offer::Queued
    }

    /// Forgets retained messages that wait for this filter: they are about to be added again, and a client that keeps subscribing must not
    /// make the list longer than the retained store.
    pub(super) fn forget_replay(&mut self, filter: &str) {
        self.replay.retain(|waiting| !topic::matches(filter, waiting.message.topic()));
    }

    /// Adds a retained message for a new subscription.
    pub(super) fn replay(&mut self, message: &Message, qos: u8) {
        self.replay.push_back(Waiting { message: message.clone(), qos, retain: true });
    }

    /// Notes a PUBACK; one that nobody waits for (a duplicate after a reconnect) is no error.
    ///
    /// # Errors
    /// When the identifier is zero.
    pub(super) fn ack(&mut self, packet_id: u16) -> Result<(), WireError> {
        if packet_id == 0 {
            return Err(WireError::Malformed);
        }
        self.acked += u64::from(self.window.ack(packet_id));
        Ok(())
    }

    /// Appends what is due to `out` until it holds `enough` bytes; returns how many messages that were.
    pub(super) fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> u64 {
        let mut sent = 0;
        while out.len() < enough {
            let Some((id, message, retain)) = self.window.resend() else { break };
            message.put(out, Some(id), retain, true);
            sent += 1;
        }
        while out.len() < enough {
            let source = if self.replay.is_empty() { &mut self.queue } else { &mut self.replay };
            let Some(next) = source.front() else { break };
            if next.qos == 1 && self.window.room() == 0 {
                break;
            }
            let Some(Waiting { message, qos, retain }) = source.pop_front() else { break };
            if qos == 0 {
                message.put(out, None, retain, false);
            } else {
                let id = self.window.push(message.clone(), retain);
                message.put(out, Some(id), retain, false);
            }
            sent += 1;
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u8) -> Message {
        Message::new("t", &[number], &mut Vec::new())
    }

    #[test]
    fn the_oldest_are_kept_and_the_rest_is_counted() {
        let mut session = Session::new("s".into(), true, 3, 2);
        let offers: Vec<_> = (0..5).map(|number| session.offer(&message(number), 1)).collect();
        assert_eq!(offers, [Offer::Queued, Offer::Queued, Offer::Queued, Offer::Dropped, Offer::Dropped]);
        assert_eq!(session.offer(&message(9), 0), Offer::Away);
        assert_eq!((session.queued(), session.dropped), (3, 2));

        session.attach(Rc::default());
        let mut out = Vec::new();
        assert_eq!(session.fill(&mut out, usize::MAX), 2, "the window holds two");
        assert_eq!(out, [0x32, 6, 0, 1, b't', 0, 1, 0, 0x32, 6, 0, 1, b't', 0, 2, 1]);
        session.ack(1).unwrap();
        out.clear();
        assert_eq!(session.fill(&mut out, usize::MAX), 1);
        assert_eq!(out, [0x32, 6, 0, 1, b't', 0, 3, 2]);

        session.attach(Rc::default());
        out.clear();
        assert_eq!(session.fill(&mut out, usize::MAX), 2, "what is in flight is sent again");
        assert_eq!(out, [0x3A, 6, 0, 1, b't', 0, 2, 1, 0x3A, 6, 0, 1, b't', 0, 3, 2]);
        assert_eq!((session.acked, session.inflight(), session.queued()), (1, 2, 0));
    }
}
