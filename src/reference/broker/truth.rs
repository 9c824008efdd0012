//! What the broker did, counted exactly: `/truth` and `/metrics`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{session::Session, state::Broker};
use crate::reference::metrics::Metrics;

/// How many messages of a tally are named.
const NAMED: usize = 100;

/// A message that did not reach its receiver.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Named {
    topic: String,
    payload: String,
}

impl Named {
    /// Names a message; a payload that is no text is shown with replacement characters.
    pub(super) fn new(topic: &str, payload: &[u8]) -> Self {
        Self { topic: topic.to_owned(), payload: String::from_utf8_lossy(payload).into_owned() }
    }
}

/// A count, and the first messages that it counts.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// How many.
    pub(super) count: u64,
    first: Vec<Named>,
}

impl Tally {
    /// Counts one more.
    pub(super) fn add(&mut self, name: impl FnOnce() -> Named) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(name());
        }
    }
}

/// What has happened since the start.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// PUBLISH packets received.
    pub(super) received: u64,
    /// PUBACK packets handed to their connections; a connection that breaks may still lose some.
    pub(super) acknowledged: u64,
    /// PUBLISH packets handed to their connections; a message that is sent again counts again.
    pub(super) sent: u64,
    /// Packets of all kinds received.
    pub(super) packets_received: u64,
    /// Packets of all kinds handed to their connections.
    pub(super) packets_sent: u64,
    /// Clients connected now.
    pub(super) connected: u64,
    /// Connections refused for their credentials.
    pub(super) refused: u64,
    /// Connections ended because nothing was heard within one and a half times the keep-alive.
    pub(super) keep_alive_lost: u64,
    /// Connections ended for what is not MQTT 3.1.1 as this broker offers it.
    pub(super) malformed: u64,
    /// PUBLISH packets that faults may touch.
    pub(super) readings: u64,
    /// Readings lost by the fault `drop_after_ack`.
    pub(super) dropped_after_ack: Tally,
    /// Messages that the ACL denied.
    pub(super) denied_by_acl: Tally,
    /// Deliveries dropped because a session's queue was full.
    pub(super) dropped_queue_full: Tally,
    /// Messages that should have been retained, but the store of retained messages is full.
    pub(super) not_retained: u64,
    /// What the counter of received messages no longer shows, by the fault `reset_counter`.
    pub(super) received_hidden: u64,
    /// How often that counter went back to 0.
    pub(super) counter_resets: u64,
    /// How often a `$SYS` topic was not published, by the fault `missing_sys`.
    pub(super) sys_withheld: u64,
    /// How often `/metrics` answered.
    pub(super) metrics_answered: u64,
    /// How often it did not, by the fault `mute_metrics`.
    pub(super) metrics_unanswered: u64,
}

/// The answer of `/truth`.
#[derive(Debug, Serialize)]
pub(super) struct Truth<'a> {
    received: u64,
    acknowledged: u64,
    delivered: u64,
    dropped_after_ack: u64,
    denied_by_acl: u64,
    dropped_queue_full: u64,
    not_retained: u64,
    retained: usize,
    refused: u64,
    keep_alive_lost: u64,
    malformed: u64,
    counter_resets: u64,
    sys_withheld: u64,
    metrics_unanswered: u64,
    acked_by_session: BTreeMap<String, u64>,
    dropped_by_session: BTreeMap<String, u64>,
    queued_by_session: BTreeMap<String, u64>,
    inflight_by_session: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<BTreeMap<&'static str, &'a [Named]>>,
}

/// The truth, with the first messages of each tally named when `names` is set. Sessions that ended with their connection are not listed.
pub(super) fn truth(broker: &Broker, names: bool) -> Truth<'_> {
    let counts = &broker.counts;
    let tallies = [
        ("dropped_after_ack", &counts.dropped_after_ack),
        ("denied_by_acl", &counts.denied_by_acl),
        ("dropped_queue_full", &counts.dropped_queue_full),
    ];
    Truth {
        received: counts.received,
        acknowledged: counts.acknowledged,
        delivered: counts.sent,
        dropped_after_ack: counts.dropped_after_ack.count,
        denied_by_acl: counts.denied_by_acl.count,
        dropped_queue_full: counts.dropped_queue_full.count,
        not_retained: counts.not_retained,
        retained: broker.topics.retained_count(),
        refused: counts.refused,
        keep_alive_lost: counts.keep_alive_lost,
        malformed: counts.malformed,
        counter_resets: counts.counter_resets,
        sys_withheld: counts.sys_withheld,
        metrics_unanswered: counts.metrics_unanswered,
        acked_by_session: by_session(broker, |session| session.acked),
        dropped_by_session: by_session(broker, |session| session.dropped),
        queued_by_session: by_session(broker, |session| session.queued() as u64),
        inflight_by_session: by_session(broker, |session| session.inflight() as u64),
        names: names.then(|| tallies.into_iter().map(|(name, tally)| (name, tally.first.as_slice())).collect()),
    }
}

/// The metrics.
pub(super) fn metrics(broker: &Broker) -> Metrics {
    let (counts, mut metrics) = (&broker.counts, Metrics::default());
    for (session, depth) in by_session(broker, |session| session.queued() as u64) {
        metrics.gauge(
            "scaler_broker_queue_messages",
            "Messages that wait to be sent.",
            &[("session", &session)],
            depth,
        );
    }
    for (session, inflight) in by_session(broker, |session| session.inflight() as u64) {
        let help = "Messages sent and not yet acknowledged.";
        metrics.gauge("scaler_broker_inflight_messages", help, &[("session", &session)], inflight);
    }
    let received = counts.received - counts.received_hidden;
    metrics.counter("scaler_broker_messages_received_total", "PUBLISH packets received.", &[], received);
    metrics.counter("scaler_broker_messages_acked_total", "PUBLISH packets acknowledged.", &[], counts.acknowledged);
    metrics.counter("scaler_broker_messages_sent_total", "PUBLISH packets sent.", &[], counts.sent);
    // A fault hides what it drops: that it is missing here is part of the fault.
    let dropped = counts.dropped_queue_full.count;
    metrics.counter("scaler_broker_messages_dropped_total", "Deliveries dropped by full queues.", &[], dropped);
    metrics.gauge("scaler_broker_clients_connected", "Clients connected.", &[], counts.connected);
    metrics.gauge("scaler_broker_retained_messages", "Messages retained.", &[], broker.topics.retained_count());
    metrics
}

fn by_session(broker: &Broker, value: impl Fn(&Session) -> u64) -> BTreeMap<String, u64> {
    broker
        .sessions
        .values()
        .map(|session| session.borrow())
        .map(|session| (session.id.to_string(), value(&session)))
        .collect()
}
