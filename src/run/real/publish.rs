//! Finite messages: those of the fleet, and the preflight reading of a load.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{
    ends::Ends,
    load::{
        RunClock,
        courier::{Delivery, Published, publish_all},
        fleet::Layout,
        message::{Messages, Outgoing},
        single,
    },
};

/// Sends messages that are counted, each call over a connection of its own.
#[derive(Default)]
pub(super) struct Courier {
    calls: AtomicU64,
    interrupt: AtomicBool,
}

impl Courier {
    /// Sends messages of the plan and waits for every PUBACK.
    pub(super) fn publish(
        &self,
        ends: &Ends,
        connection: &str,
        names: &[String],
        clock: RunClock,
    ) -> Result<Published, String> {
        let mut messages = Vec::new();
        for name in names {
            let plan = ends.plan().messages.get(name).ok_or_else(|| format!("the plan has no message `{name}`"))?;
            messages.push(Messages::compile(name, plan, Layout::new(ends.fleet()?)?)?);
        }
        let unix_ms = move || clock.unix_ns(clock.now_ns()) / 1_000_000;
        let all = messages.iter().flat_map(|messages| messages.iter(&unix_ms));
        self.send(ends, connection, "publish", all)
    }

    /// Sends one reading of a load's shape to a topic of its own, and waits for its PUBACK.
    pub(super) fn preflight(&self, ends: &Ends, load: &str, topic: &str, clock: RunClock) -> Result<(), String> {
        let load = ends.mqtt_load(load)?;
        let reading = single::preflight(&load, topic, clock.unix_ns(clock.now_ns()) / 1_000_000)?;
        let sent = self.send(ends, &load.plan.connection, "preflight", std::iter::once(Ok(reading)))?;
        if sent.acked == 1 { Ok(()) } else { Err("the preflight reading was not acknowledged".to_owned()) }
    }

    fn send(
        &self,
        ends: &Ends,
        connection: &str,
        purpose: &str,
        messages: impl Iterator<Item = Result<Outgoing, String>>,
    ) -> Result<Published, String> {
        let mqtt = ends.mqtt(connection)?;
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let delivery = Delivery::new(mqtt, ends.ca_pem(mqtt)?, &format!("{purpose}-{call}"));
        publish_all(&delivery, messages, |_| {}, &self.interrupt)
    }

    /// Ends what is under way.
    pub(super) fn let_go(&self) {
        self.interrupt.store(true, Ordering::Relaxed);
    }
}
