//! The broker's own counters as retained messages under `$SYS/broker`, named as Mosquitto names them.

use std::time::Duration;

use super::{Shared, state::Broker};

/// Publishes the counters every second for as long as it is polled.
pub(super) async fn publish(broker: Shared) {
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let mut broker = broker.borrow_mut();
        for (name, value) in counters(&broker) {
            if broker.withholds(name) {
                continue;
            }
            broker.route(&format!("$SYS/broker/{name}"), value.as_bytes(), 0, true);
        }
    }
}

/// The counters. A message that is retained and waits for two sessions counts three times as stored, as nobody keeps it only once.
fn counters(broker: &Broker) -> Vec<(&'static str, String)> {
    let counts = &broker.counts;
    let waiting: usize = broker
        .sessions
        .values()
        .map(|session| session.borrow())
        .map(|session| session.queued() + session.inflight())
        .sum();
    let stored = broker.topics.retained_count() + waiting;
    let numbers = [
        ("publish/messages/dropped", counts.dropped_queue_full.count),
        ("publish/messages/received", counts.received - counts.received_hidden),
        ("publish/messages/sent", counts.sent),
        ("messages/received", counts.packets_received),
        ("messages/sent", counts.packets_sent),
        ("messages/stored", stored as u64),
        ("store/messages/count", stored as u64),
        ("retained messages/count", broker.topics.retained_count() as u64),
        ("clients/connected", counts.connected),
        ("clients/total", broker.sessions.len() as u64),
        ("subscriptions/count", broker.subscriptions.count() as u64),
    ];
    let texts = [
        ("uptime", format!("{} seconds", broker.started.elapsed().as_secs())),
        ("version", format!("scaler reference {}", env!("CARGO_PKG_VERSION"))),
    ];
    numbers.into_iter().map(|(name, number)| (name, number.to_string())).chain(texts).collect()
}
