//! The broker's state and what changes it: clients come and go, subscribe, and publish. Nothing here waits or touches a socket.

use std::{cell::RefCell, collections::HashMap, rc::Rc, time::Instant};

use rumqttc::mqttbytes::v4::{Connect, LastWill};

use super::{
    BrokerArgs,
    message::Message,
    session::{Link, Offer, Session},
    subscriptions::Subscriptions,
    topics::Topics,
    truth::{Counts, Named},
};
use crate::reference::{fault::BrokerFault, topic, wire::Publish};

/// The most sessions; further clients are told that the server is unavailable.
const SESSIONS: usize = 100_000;
/// The most subscriptions of one session; further ones are refused one by one.
const SUBSCRIPTIONS: usize = 1_000;
/// The longest client identifier, in bytes.
const CLIENT_ID_BYTES: usize = 1_024;

/// The whole broker.
pub(super) struct Broker {
    /// What was asked for on the command line.
    pub(super) args: BrokerArgs,
    /// What has happened.
    pub(super) counts: Counts,
    /// The sessions by client identifier.
    pub(super) sessions: HashMap<Rc<str>, Rc<RefCell<Session>>>,
    /// The subscriptions.
    pub(super) subscriptions: Subscriptions,
    /// The topics.
    pub(super) topics: Topics,
    /// When the broker started.
    pub(super) started: Instant,
    nameless: u64,
    scratch: Vec<u8>,
}

/// A client that was let in.
pub(super) struct Admitted {
    /// Its session.
    pub(super) session: Rc<RefCell<Session>>,
    /// How the session reaches it.
    pub(super) link: Rc<Link>,
    /// Whether the session was there before.
    pub(super) present: bool,
}

impl Broker {
    /// A broker without clients.
    pub(super) fn new(args: &BrokerArgs) -> Self {
        Self {
            args: args.clone(),
            counts: Counts::default(),
            sessions: HashMap::new(),
            subscriptions: Subscriptions::default(),
            topics: Topics::default(),
            started: Instant::now(),
            nameless: 0,
            scratch: Vec::new(),
        }
    }

    /// Lets a client in, or returns the CONNACK code that says why not.
    pub(super) fn admit(&mut self, connect: &Connect) -> Result<Admitted, u8> {
        if let Some(accounts) = &self.args.accounts {
            match accounts.connack_code(connect.login.as_ref()) {
                0 => {}
                code => {
                    self.counts.refused += 1;
                    return Err(code);
                }
            }
        }
        let id: Rc<str> = match connect.client_id.as_str() {
            "" if connect.clean_session => {
                self.nameless += 1;
                // A control character keeps these apart from names that clients choose.
                format!("nameless\u{1}{}", self.nameless).into()
            }
            "" => return Err(2),
            id if id.len() > CLIENT_ID_BYTES => return Err(2),
            id => id.into(),
        };
        let before = self.sessions.get(&id).cloned();
        if before.is_none() && self.sessions.len() >= SESSIONS {
            return Err(3);
        }
        let link: Rc<Link> = Rc::default();
        let kept = !connect.clean_session;
        let session = match before {
            Some(session) if kept && session.borrow().kept => session,
            before => {
                if let Some(before) = before {
                    self.discard(&before);
                }
                let (queue, inflight) = self.limits(&id);
                let new = Session::new(id.clone(), kept, queue, inflight);
                let new = Rc::new(RefCell::new(new));
                self.sessions.insert(id, new.clone());
                self.attach(&new, &link);
                return Ok(Admitted { session: new, link, present: false });
            }
        };
        self.attach(&session, &link);
        Ok(Admitted { session, link, present: true })
    }

    /// A client has gone. Its will is published when it did not say goodbye.
    pub(super) fn leave(&mut self, session: &Rc<RefCell<Session>>, link: &Rc<Link>, will: Option<&LastWill>) {
        self.counts.connected -= 1;
        let is_mine = session.borrow().link.as_ref().is_some_and(|known| Rc::ptr_eq(known, link));
        if is_mine {
            session.borrow_mut().link = None;
            if !session.borrow().kept {
                self.discard(session);
            }
        }
        if let Some(will) = will.filter(|will| !self.is_denied(&will.topic)) {
            self.route(&will.topic, &will.message, (will.qos as u8).min(1), will.retain);
        }
    }

    /// Adds a subscription with its retained messages; returns the SUBACK code.
    pub(super) fn subscribe(&mut self, session: &Rc<RefCell<Session>>, filter: &str, qos: u8) -> u8 {
        const REFUSED: u8 = 0x80;
        if !topic::is_filter(filter) || self.subscriptions.count_of(session) >= SUBSCRIPTIONS {
            return REFUSED;
        }
        let qos = qos.min(1);
        self.subscriptions.add(filter, session, qos);
        let mut session = session.borrow_mut();
        session.forget_replay(filter);
        for message in self.topics.retained(filter) {
            session.replay(message, qos);
        }
        qos
    }

    /// A client publishes. Whatever becomes of it, a QoS 1 message is acknowledged afterwards.
    pub(super) fn publish(&mut self, publish: &Publish<'_>) {
        self.counts.received += 1;
        if self.is_denied(publish.topic) {
            self.counts.denied_by_acl.add(|| Named::new(publish.topic, publish.payload));
            return;
        }
        if !self.args.fault.0.is_empty() && !self.args.spare.covers(publish.topic) && self.is_lost_by_fault() {
            self.counts.dropped_after_ack.add(|| Named::new(publish.topic, publish.payload));
            return;
        }
        self.route(publish.topic, publish.payload, publish.qos, publish.retain);
    }

    /// Retains and delivers a message.
    pub(super) fn route(&mut self, topic: &str, payload: &[u8], qos: u8, retain: bool) {
        let message = Message::new(topic, payload, &mut self.scratch);
        let (routes, kept) = self.topics.publish(topic, &message, retain, &mut self.subscriptions);
        self.counts.not_retained += u64::from(!kept);
        for route in routes.iter() {
            if route.session.borrow_mut().offer(&message, qos.min(route.qos)) == Offer::Dropped {
                self.counts.dropped_queue_full.add(|| Named::new(topic, payload));
            }
        }
    }

    fn is_denied(&self, topic: &str) -> bool {
        topic.starts_with('$') || self.args.acl_deny.iter().any(|prefix| topic.starts_with(prefix.as_str()))
    }

    /// Counts a reading, does what the faults do at it, and says whether one of them loses it.
    fn is_lost_by_fault(&mut self) -> bool {
        self.counts.readings += 1;
        let readings = self.counts.readings;
        let mut is_lost = false;
        for fault in &self.args.fault.0 {
            match fault {
                BrokerFault::DropAfterAck { one_in } => is_lost |= readings.is_multiple_of(one_in.get()),
                BrokerFault::ResetCounter { after } if readings == after.get() => {
                    self.counts.received_hidden = self.counts.received;
                    self.counts.counter_resets += 1;
                }
                _ => {}
            }
        }
        is_lost
    }

    /// The queue and the window of a session.
    fn limits(&self, id: &str) -> (usize, u16) {
        match self.small_queue(id) {
            Some(messages) => (usize::from(messages), messages.min(self.args.inflight)),
            None => (self.args.queue, self.args.inflight),
        }
    }

    /// How many messages the fault `small_queue` leaves a session.
    pub(super) fn small_queue(&self, id: &str) -> Option<u16> {
        self.args.fault.0.iter().find_map(|fault| match fault {
            BrokerFault::SmallQueue { session, messages } if session == id => {
                Some(u16::try_from(messages.get()).unwrap_or(u16::MAX))
            }
            _ => None,
        })
    }

    /// Whether the fault `missing_sys` keeps a topic under `$SYS/broker` back, and counts it.
    pub(super) fn withholds(&mut self, name: &str) -> bool {
        let is_withheld = |fault: &BrokerFault| matches!(fault, BrokerFault::MissingSys { topic } if topic == name);
        let is_withheld = self.args.fault.0.iter().any(is_withheld);
        self.counts.sys_withheld += u64::from(is_withheld);
        is_withheld
    }

    /// Whether `/metrics` answers this time; counts both.
    pub(super) fn answers_metrics(&mut self) -> bool {
        let answered = self.counts.metrics_answered;
        let is_mute =
            |fault: &BrokerFault| matches!(fault, BrokerFault::MuteMetrics { after } if answered >= after.get());
        let is_mute = self.args.fault.0.iter().any(is_mute);
        self.counts.metrics_answered += u64::from(!is_mute);
        self.counts.metrics_unanswered += u64::from(is_mute);
        !is_mute
    }

    fn attach(&mut self, session: &Rc<RefCell<Session>>, link: &Rc<Link>) {
        self.counts.connected += 1;
        session.borrow_mut().attach(link.clone());
    }

    fn discard(&mut self, session: &Rc<RefCell<Session>>) {
        self.subscriptions.remove_all(session);
        let mut session = session.borrow_mut();
        if let Some(link) = session.link.take() {
            link.take_over();
        }
        self.sessions.remove(&session.id);
    }
}
