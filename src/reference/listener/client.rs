//! The MQTT side of the listener: keeps a session with the broker, gathers messages into batches, and acknowledges what was committed.

use std::{convert::Infallible, fmt, io, sync::Arc, time::Duration};

use bytes::BytesMut;
use rumqttc::mqttbytes::{
    QoS,
    v4::{Subscribe, SubscribeFilter},
};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::mpsc::{Sender, UnboundedReceiver},
    time::{Instant, sleep, sleep_until},
};

use super::{
    ListenerArgs,
    committer::{Done, Job},
    counts::Counts,
    tamper::Tamper,
};
use crate::{
    problem::{Problem, Problems},
    reference::{
        fault::ListenerFault,
        reading::{Meaning, meaning},
        store::Tags,
        wire::{self, Frame, Input, WireError, kind},
    },
};

/// The most messages of one batch.
const BATCH: usize = 10_000;
/// How long a batch gathers at least: it bounds the number of commits at low rates, and costs that much lag.
const GATHER: Duration = Duration::from_millis(5);
/// How long a batch gathers under the fault `ack_before_commit`.
const GATHER_EARLY: Duration = Duration::from_millis(500);
/// How long to wait before connecting again.
const PAUSE: Duration = Duration::from_millis(100);
/// The keep-alive that is promised, in seconds.
const KEEP_ALIVE_S: u16 = 30;
/// A ping is due twice in each keep-alive; a broker that is silent for longer than the keep-alive is taken for dead.
const PING: Duration = Duration::from_secs(KEEP_ALIVE_S as u64 / 2);
/// The largest packet that is taken, in bytes.
const PACKET_BYTES: usize = 16 * 1024 * 1024;

/// Why a connection ended.
enum Ended {
    /// The broker refuses us, and will again.
    Refused(u8),
    /// The connection broke.
    Broken(String),
}

impl<E: fmt::Display> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Broken(error.to_string())
    }
}

/// The client.
pub(super) struct Client {
    args: ListenerArgs,
    counts: Arc<Counts>,
    jobs: Sender<Job>,
    done: UnboundedReceiver<Done>,
    /// The batch that gathers, and when its first message came.
    gathering: Job,
    since: Instant,
    out: Vec<u8>,
    acknowledges_early: bool,
    tamper: Tamper,
}

impl Client {
    /// A client that is not connected yet.
    pub(super) fn new(
        args: ListenerArgs,
        counts: Arc<Counts>,
        jobs: Sender<Job>,
        done: UnboundedReceiver<Done>,
    ) -> Self {
        let acknowledges_early = args.fault.0.contains(&ListenerFault::AckBeforeCommit);
        let tamper = Tamper::new(&args);
        let (gathering, since, out) = (Job::default(), Instant::now(), Vec::new());
        Self { args, counts, jobs, done, gathering, since, out, acknowledges_early, tamper }
    }

    /// Connects and serves, again and again; returns only when the broker refuses us.
    pub(super) async fn run(&mut self) -> Problems {
        loop {
            let Err(ended) = self.connection().await;
            // Identifiers of a connection that is gone cannot be acknowledged: the broker delivers again.
            self.gathering.connection += 1;
            self.gathering.packet_ids.clear();
            self.out.clear();
            match ended {
                Ended::Broken(reason) => self.counts.unsubscribed(reason),
                Ended::Refused(code) => return self.refused(code),
            }
            sleep(PAUSE).await;
        }
    }

    /// Hands on what was acknowledged and not yet committed: only a kill may lose it.
    pub(super) async fn finish(&mut self) {
        if self.gathering.acknowledged_early > 0 {
            // A committer that has given up does not take it.
            let _ = self.jobs.send(std::mem::take(&mut self.gathering)).await;
        }
    }

    fn refused(&self, code: u8) -> Problems {
        let problem =
            Problem::error(format!("the broker at {} refuses the listener: CONNACK code {code}", self.args.broker));
        problem.help("set SCALER_BROKER_USER and SCALER_BROKER_PASSWORD to one of the broker's accounts").into()
    }

    async fn connection(&mut self) -> Result<Infallible, Ended> {
        let mut stream = TcpStream::connect(&self.args.broker).await?;
        stream.set_nodelay(true)?;
        let mut input = Input::default();
        let jobs = self.jobs.clone();
        stream.write_all(&self.args.login.connect(&self.args.client_id, true, KEEP_ALIVE_S)?).await?;
        let (mut heard, mut pinged) = (Instant::now(), Instant::now());
        loop {
            let is_full = self.gathering.batch.len() >= BATCH;
            let gathered = self.since + if self.acknowledges_early { GATHER_EARLY } else { GATHER };
            let is_due = !self.gathering.is_empty() && (is_full || gathered <= Instant::now());
            let is_gathering = !self.gathering.is_empty() && !is_due;
            let held = self.tamper.next_due();
            tokio::select! {
                Some(done) = self.done.recv() => self.acknowledge(&done),
                permit = jobs.reserve(), if is_due => {
                    // The committer lives as long as this client, unless it has panicked.
                    let permit = permit?;
                    let connection = self.gathering.connection;
                    permit.send(std::mem::replace(&mut self.gathering, Job { connection, ..Job::default() }));
                }
                () = sleep_until(gathered), if is_gathering => {}
                () = sleep_until(held.unwrap_or(self.since)), if held.is_some() => {
                    self.begin();
                    self.tamper.release(&mut self.gathering.batch);
                }
                () = sleep_until(pinged + PING) => {
                    if heard + PING * 2 < Instant::now() {
                        return Err(Ended::Broken("the broker is silent".to_owned()));
                    }
                    pinged = Instant::now();
                    self.out.extend_from_slice(&wire::PINGREQ);
                }
                ready = stream.readable(), if !is_full => {
                    ready?;
                    if read(&stream, &mut input)? {
                        heard = Instant::now();
                        self.digest(&mut input)?;
                    }
                }
            }
            if !self.out.is_empty() {
                stream.write_all(&self.out).await?;
                self.out.clear();
            }
        }
    }

    fn acknowledge(&mut self, done: &Done) {
        if done.connection == self.gathering.connection {
            for id in &done.packet_ids {
                wire::put_puback(&mut self.out, *id);
            }
            self.counts.acknowledged(done.packet_ids.len() as u64);
        }
    }

    fn digest(&mut self, input: &mut Input) -> Result<(), Ended> {
        let mut consumed = 0;
        while let Some(frame) = wire::split(&input.unread()[consumed..], PACKET_BYTES)? {
            consumed += frame.bytes.len();
            match frame.kind() {
                kind::PUBLISH => self.take(&wire::publish(frame)?),
                kind::CONNACK => self.connected(frame)?,
                kind::SUBACK if frame.body().iter().skip(2).any(|code| *code >= 0x80) => {
                    return Err(Ended::Broken("the broker refuses the subscription".to_owned()));
                }
                kind::SUBACK => self.counts.subscribed(),
                kind::PINGRESP => {}
                _ => return Err(WireError::Malformed.into()),
            }
        }
        input.consume(consumed);
        Ok(())
    }

    fn connected(&mut self, frame: Frame<'_>) -> Result<(), Ended> {
        match frame.body() {
            // The session is there, and with it the subscription: subscribing again would bring every retained message again.
            [1, 0] => {
                self.counts.session(true);
                self.counts.subscribed();
            }
            [0, 0] => {
                self.counts.session(false);
                let filters =
                    self.args.subscribe.iter().map(|filter| SubscribeFilter::new(filter.clone(), QoS::AtLeastOnce));
                let mut subscribe = Subscribe::new_many(filters);
                subscribe.pkid = 1;
                let mut bytes = BytesMut::new();
                subscribe.write(&mut bytes)?;
                self.out.extend_from_slice(&bytes);
            }
            [_, 3] | [_] | [] => return Err(Ended::Broken("the broker is not available".to_owned())),
            [_, code, ..] => return Err(Ended::Refused(*code)),
        }
        Ok(())
    }

    /// Notes when a batch begins to gather.
    fn begin(&mut self) {
        if self.gathering.is_empty() {
            self.since = Instant::now();
        }
    }

    fn take(&mut self, publish: &wire::Publish<'_>) {
        self.counts.received(publish.dup);
        self.begin();
        let batch = &mut self.gathering.batch;
        match meaning(publish.topic, publish.payload) {
            Some(Meaning::Reading { ts, value }) => self.tamper.put(batch, &self.counts, publish.topic, ts, value),
            Some(Meaning::PointTags { topic, tags }) => batch.push_tags(Tags::Point { topic, tags }),
            Some(Meaning::EquipTags { topic, tags, points }) => batch.push_tags(Tags::Equip { topic, tags, points }),
            None => {
                self.counts.unparsable();
                if publish.qos == 1 {
                    wire::put_puback(&mut self.out, publish.packet_id);
                    self.counts.acknowledged(1);
                }
                return;
            }
        }
        if publish.qos == 0 {
            return;
        }
        if self.acknowledges_early {
            wire::put_puback(&mut self.out, publish.packet_id);
            self.counts.acknowledged_early();
            self.gathering.acknowledged_early += 1;
        } else {
            self.gathering.packet_ids.push(publish.packet_id);
        }
    }
}

/// Reads once; false when nothing was there after all.
fn read(stream: &TcpStream, input: &mut Input) -> Result<bool, Ended> {
    match stream.try_read(input.space()) {
        Ok(0) => Err(Ended::Broken("the broker closed the connection".to_owned())),
        Ok(count) => {
            input.filled(count);
            Ok(true)
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
