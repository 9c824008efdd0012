//! One MQTT connection and its life: connecting, greeting, staying alive, being lost, waiting, connecting again.
//!
//! A link never blocks. Its owner calls [`Link::receive`], puts packets into [`Link::out`], and calls [`Link::flush`], once per turn. What happened is in
//! [`Heard`]. Which reading a packet carries is not the link's business.

use std::{io, sync::Arc};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rumqttc::mqttbytes::v4::{ConnAck, Connect, ConnectReturnCode, Publish};

use super::{
    encode::{self, Inbox, Incoming},
    wire::{Endpoint, Wire},
};
use crate::plan::{connection::Mqtt, load::Reconnect};

/// What all links of one user share.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    endpoint: Endpoint,
    mqtt: Mqtt,
    reconnect: Reconnect,
    greeting_limit_ns: u64,
}

impl LinkPlan {
    /// Reads the connection of a plan. `answer_within_ns` bounds the time from the first packet of TCP to the CONNACK.
    ///
    /// # Errors
    /// See [`Endpoint::new`].
    pub fn new(
        mqtt: &Mqtt,
        ca_pem: Option<&str>,
        reconnect: &Reconnect,
        answer_within_ns: u64,
    ) -> Result<Arc<Self>, String> {
        let endpoint = Endpoint::new(&mqtt.url, ca_pem)?;
        let (mqtt, reconnect) = (mqtt.clone(), reconnect.clone());
        Ok(Arc::new(Self { endpoint, mqtt, reconnect, greeting_limit_ns: answer_within_ns }))
    }

    /// The keep-alive period in whole seconds, as the protocol wants it; 0 turns it off.
    fn keep_alive_s(&self) -> u16 {
        let length = self.mqtt.keep_alive.0;
        u16::try_from(length.as_secs() + u64::from(length.subsec_nanos() > 0)).unwrap_or(u16::MAX)
    }
}

/// What came over a link in one turn.
#[derive(Debug, Default)]
pub struct Heard {
    /// Packet identifiers of PUBACKs.
    pub acks: Vec<u16>,
    /// Messages of a subscription.
    pub messages: Vec<Publish>,
    /// Changes of the connection, in their order.
    pub changes: Vec<Change>,
}

/// A change of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The broker accepted the connection.
    Up {
        /// Whether it still had the session.
        session_present: bool,
        /// Whether there was an earlier connection.
        again: bool,
    },
    /// A connection that was up is lost: the reason.
    Lost(String),
    /// An attempt failed: the reason; `first` for the first failure since the link was last up.
    Refused {
        /// The reason.
        reason: String,
        /// Whether the link was not refused yet since it was last up.
        first: bool,
    },
    /// The broker refused a subscription.
    NotSubscribed,
}

enum Stage {
    Waiting { until_ns: u64 },
    Opening { wire: Wire, since_ns: u64, greeted: bool },
    Up { wire: Wire, since_ns: u64, heard_ns: u64, written_ns: u64, pinged: bool },
}

/// One MQTT connection.
pub struct Link {
    plan: Arc<LinkPlan>,
    client_id: String,
    stage: Stage,
    inbox: Inbox,
    attempt: u32,
    was_up: bool,
    refused: bool,
    chance: ChaCha8Rng,
}

impl Link {
    /// A link that connects at its first turn. The number makes the client identifier and the jitter its own.
    #[must_use]
    pub fn new(plan: Arc<LinkPlan>, client_id: String, number: u64) -> Self {
        let chance = ChaCha8Rng::seed_from_u64(plan.reconnect.seed.wrapping_add(number));
        let stage = Stage::Waiting { until_ns: 0 };
        Self { plan, client_id, stage, inbox: Inbox::default(), attempt: 0, was_up: false, refused: false, chance }
    }

    /// Whether packets can be sent.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(self.stage, Stage::Up { .. })
    }

    /// Where packets are put, when the link is up and everything before them was sent.
    pub fn out(&mut self) -> Option<&mut Vec<u8>> {
        match &mut self.stage {
            Stage::Up { wire, .. } if wire.is_flushed() => Some(wire.out()),
            _ => None,
        }
    }

    /// Moves the connection on and takes in what has arrived. A ping that is due goes first into the next packets.
    pub fn receive(&mut self, now_ns: u64, scratch: &mut [u8], heard: &mut Heard) {
        if let Err(reason) = self.advance(now_ns, scratch, heard) {
            self.lose(now_ns, reason, heard);
        }
    }

    fn advance(&mut self, now_ns: u64, scratch: &mut [u8], heard: &mut Heard) -> Result<(), String> {
        match &mut self.stage {
            Stage::Waiting { until_ns } if *until_ns > now_ns => return Ok(()),
            Stage::Waiting { .. } => {
                self.inbox.clear();
                let wire = Wire::open(&self.plan.endpoint, self.attempt).map_err(|error| error.to_string())?;
                self.stage = Stage::Opening { wire, since_ns: now_ns, greeted: false };
            }
            Stage::Opening { wire, since_ns, greeted } => {
                if now_ns.saturating_sub(*since_ns) > self.plan.greeting_limit_ns {
                    return Err(if *greeted { "no CONNACK in time" } else { "no connection in time" }.to_owned());
                }
                if !*greeted && wire.is_connected().map_err(|error| error.to_string())? {
                    encode::connect(wire.out(), &greeting(&self.plan, &self.client_id))?;
                    *greeted = true;
                }
                if *greeted {
                    wire.flush().map_err(|error| error.to_string())?;
                    self.read(now_ns, scratch, heard)?;
                }
            }
            Stage::Up { .. } => {
                self.read(now_ns, scratch, heard)?;
                self.keep_alive(now_ns)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, now_ns: u64, scratch: &mut [u8], heard: &mut Heard) -> Result<(), String> {
        let (Stage::Opening { wire, .. } | Stage::Up { wire, .. }) = &mut self.stage else { return Ok(()) };
        let inbox = &mut self.inbox;
        // What arrived before the end of the connection still counts, so the end is looked at last.
        let received = wire.receive(scratch, |bytes| inbox.push(bytes));
        while let Some(packet) = self.inbox.next_packet()? {
            match packet {
                Incoming::Ack(id) => heard.acks.push(id),
                Incoming::Message(message) => heard.messages.push(message),
                Incoming::Connected(ack) => self.greeted(now_ns, &ack, heard)?,
                Incoming::Subscribed(ack) => {
                    use rumqttc::mqttbytes::v4::SubscribeReasonCode::Failure;
                    if ack.return_codes.contains(&Failure) {
                        heard.changes.push(Change::NotSubscribed);
                    }
                }
                Incoming::Pong => {}
            }
        }
        let count = received.map_err(|error| lost_reason(&error))?;
        if let Stage::Up { heard_ns, pinged, .. } = &mut self.stage
            && count > 0
        {
            *heard_ns = now_ns;
            *pinged = false;
        }
        Ok(())
    }

    fn greeted(&mut self, now_ns: u64, ack: &ConnAck, heard: &mut Heard) -> Result<(), String> {
        if ack.code != ConnectReturnCode::Success {
            return Err(encode::refusal(ack.code).to_owned());
        }
        if self.is_up() {
            return Err("a second CONNACK".to_owned());
        }
        let opening = std::mem::replace(&mut self.stage, Stage::Waiting { until_ns: now_ns });
        if let Stage::Opening { wire, .. } = opening {
            self.stage = Stage::Up { wire, since_ns: now_ns, heard_ns: now_ns, written_ns: now_ns, pinged: false };
        }
        heard.changes.push(Change::Up { session_present: ack.session_present, again: self.was_up });
        self.was_up = true;
        self.refused = false;
        Ok(())
    }

    /// A ping is sent when nothing was written, or nothing was heard, for half of the keep-alive period. Without any answer within the
    /// period after it, the broker is gone, even if the socket still takes bytes.
    fn keep_alive(&mut self, now_ns: u64) -> Result<(), String> {
        let period_ns = u64::from(self.plan.keep_alive_s()) * 1_000_000_000;
        let Stage::Up { wire, heard_ns, written_ns, pinged, .. } = &mut self.stage else { return Ok(()) };
        let silent_ns = now_ns.saturating_sub(*heard_ns);
        if period_ns == 0 || silent_ns.max(now_ns.saturating_sub(*written_ns)) < period_ns / 2 {
            return Ok(());
        }
        if *pinged && silent_ns > period_ns + period_ns / 2 {
            return Err("nothing heard for one and a half keep-alive periods".to_owned());
        }
        let quiet = now_ns.saturating_sub(*written_ns) >= period_ns / 2;
        if (quiet || !*pinged) && wire.is_flushed() {
            encode::ping(wire.out())?;
            *pinged = true;
        }
        Ok(())
    }

    /// Sends what the socket takes; says whether that was everything.
    pub fn flush(&mut self, now_ns: u64, heard: &mut Heard) -> bool {
        let Stage::Up { wire, written_ns, .. } = &mut self.stage else { return false };
        let had_bytes = !wire.is_flushed();
        match wire.flush() {
            Ok(flushed) => {
                if had_bytes && flushed {
                    *written_ns = now_ns;
                }
                flushed
            }
            Err(error) => {
                let reason = lost_reason(&error);
                // The last PUBACKs may still be readable although nothing can be written any more.
                let mut scratch = [0; 4096];
                let _ = self.read(now_ns, &mut scratch, heard);
                self.lose(now_ns, reason, heard);
                false
            }
        }
    }

    /// Gives the connection up for a reason of the owner's.
    pub fn lose(&mut self, now_ns: u64, reason: String, heard: &mut Heard) {
        if let Stage::Up { since_ns, .. } = &self.stage {
            if now_ns.saturating_sub(*since_ns) >= nanoseconds(self.plan.reconnect.max.0) {
                self.attempt = 0; // it had been stable
            }
            heard.changes.push(Change::Lost(reason));
        } else {
            heard.changes.push(Change::Refused { reason, first: !self.refused });
            self.refused = true;
        }
        let wait_ns = back_off_ns(&self.plan.reconnect, self.attempt, self.chance.random());
        self.attempt = self.attempt.saturating_add(1);
        self.stage = Stage::Waiting { until_ns: now_ns + wait_ns };
    }

    /// Says good-bye and closes.
    pub fn close(&mut self) {
        if let Stage::Up { wire, .. } = &mut self.stage {
            // The broker notices the end in any case; a good-bye that cannot be said is no harm.
            let _ = encode::disconnect(wire.out());
            let _ = wire.flush();
        }
        self.stage = Stage::Waiting { until_ns: u64::MAX };
    }
}

fn greeting(plan: &LinkPlan, client_id: &str) -> Connect {
    let mut connect = Connect::new(client_id);
    connect.keep_alive = plan.keep_alive_s();
    connect.clean_session = plan.mqtt.clean_session;
    if let Some(user) = &plan.mqtt.user {
        connect.set_login(user.clone(), plan.mqtt.password.clone().unwrap_or_default());
    }
    connect
}

fn lost_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "closed by the broker".to_owned(),
        _ => error.to_string(),
    }
}

pub(super) fn nanoseconds(length: std::time::Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// Attempt k waits `first × 2^k`, at most `max`, less a random share of up to `jitter`; `chance` is drawn evenly from 0 to 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most `max`, and not negative")]
fn back_off_ns(reconnect: &Reconnect, attempt: u32, chance: f64) -> u64 {
    let doubled = reconnect.first.as_secs_f64() * 2_f64.powi(attempt.min(60).cast_signed());
    let seconds = doubled.min(reconnect.max.as_secs_f64()) * (1.0 - reconnect.jitter.0.clamp(0.0, 1.0) * chance);
    (seconds * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::quantity::{Length, Share};

    #[test]
    fn waits_double_up_to_the_limit_less_the_jitter() {
        let reconnect = Reconnect { first: Length::millis(100), max: Length::seconds(1), jitter: Share(0.5), seed: 1 };
        let rows = [
            (0, 0.0, 100),
            (1, 0.0, 200),
            (3, 0.0, 800),
            (4, 0.0, 1000),
            (1000, 0.0, 1000),
            (0, 1.0, 50),
            (4, 0.5, 750),
        ];
        for (attempt, chance, ms) in rows {
            assert_eq!(back_off_ns(&reconnect, attempt, chance), ms * 1_000_000, "attempt {attempt}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_jitter_and_links_differ() {
        let draw = |number: u64| -> f64 { ChaCha8Rng::seed_from_u64(1_u64.wrapping_add(number)).random() };
        assert!((draw(3) - draw(3)).abs() < f64::EPSILON);
        assert!((draw(3) - draw(4)).abs() > f64::EPSILON);
    }
}
