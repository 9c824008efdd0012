//! One client's connection: reads what has come, does it, and writes what is due, all of it once per wake.

use std::{future, io, rc::Rc, time::Duration};

use bytes::Bytes;
use rumqttc::mqttbytes::{
    FixedHeader,
    v4::{Connect, LastWill, Subscribe, Unsubscribe},
};
use tokio::{
    io::Interest,
    net::TcpStream,
    time::{Instant, sleep_until},
};

use super::{Shared, session::Link, state::Admitted};
use crate::reference::{
    topic,
    wire::{self, Frame, Input, WireError, kind},
};

/// How long a client may take to send CONNECT.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a client without keep-alive is looked at.
const FOREVER: Duration = Duration::from_hours(1);
/// Bytes read before what is due is written.
const TURN: usize = 256 * 1024;
/// Writes of one turn; a client with much to get comes again after the others.
const WRITES: usize = 4;
/// Bytes of messages prepared for writing at a time.
const ENOUGH: usize = 256 * 1024;
/// Bytes prepared for writing, answers included, beyond which nothing is read until the client reads.
const TOO_MUCH: usize = 4 * ENOUGH;

/// Why a connection ends.
enum End {
    /// The client said goodbye: no will.
    Goodbye,
    /// The socket was closed or failed, or another connection took the client identifier.
    Lost,
    /// The client was refused; the answer is in the output.
    Refused,
    /// The bytes are not what this broker takes.
    Malformed,
    /// Nothing was heard for too long.
    Silent,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Lost
    }
}

impl From<WireError> for End {
    fn from(_: WireError) -> Self {
        Self::Malformed
    }
}

impl From<rumqttc::mqttbytes::Error> for End {
    fn from(_: rumqttc::mqttbytes::Error) -> Self {
        Self::Malformed
    }
}

/// A client that was let in.
struct Client {
    admitted: Admitted,
    will: Option<LastWill>,
    /// The longest silence.
    silence: Option<Duration>,
    /// Bytes of messages prepared for writing at a time: a message under the fault `small_queue`, so that what waits, waits in the queue.
    enough: usize,
}

struct Connection {
    stream: TcpStream,
    broker: Shared,
    client: Option<Client>,
    input: Input,
    out: Vec<u8>,
    written: usize,
    /// The client no longer reads; what it sent before is still to be read.
    deaf: bool,
    heard: Instant,
}

/// Serves a connection to its end.
pub(super) async fn serve(stream: TcpStream, broker: Shared) {
    let (input, out) = (Input::default(), Vec::new());
    let mut connection =
        Connection { stream, broker, client: None, input, out, written: 0, deaf: false, heard: Instant::now() };
    let end = connection.run().await;
    connection.finish(&end);
}

impl Connection {
    async fn run(&mut self) -> End {
        let timer = sleep_until(self.heard + PATIENCE);
        tokio::pin!(timer);
        let mut greeted = false;
        loop {
            if let (false, Some(client)) = (greeted, &self.client) {
                greeted = true;
                timer.as_mut().reset(self.heard + client.silence.unwrap_or(FOREVER));
            }
            let backlog = self.out.len() - self.written;
            let interest = match (backlog, self.deaf) {
                (0, _) | (_, true) => Interest::READABLE,
                (TOO_MUCH.., _) => Interest::WRITABLE,
                _ => Interest::READABLE | Interest::WRITABLE,
            };
            let link = self.client.as_ref().map(|client| &client.admitted.link);
            let turn = tokio::select! {
                biased;
                ready = self.stream.ready(interest) => match ready {
                    Ok(ready) if ready.is_readable() => self.receive(),
                    Ok(_) => Ok(()),
                    Err(error) => Err(error.into()),
                },
                () = woken(link) => Ok(()),
                () = &mut timer => self.deadline().map(|next| timer.as_mut().reset(next)),
            };
            if let Err(end) = turn {
                return end;
            }
            self.send();
            if self.client.as_ref().is_some_and(|client| client.admitted.link.is_taken_over()) {
                return End::Lost;
            }
            // A connection that always has something to do must not keep the others waiting.
            tokio::task::yield_now().await;
        }
    }

    /// Reads what has come, up to a turn's worth, and does it.
    fn receive(&mut self) -> Result<(), End> {
        let mut total = 0;
        while total < TURN && self.out.len() - self.written < TOO_MUCH {
            match self.stream.try_read(self.input.space()) {
                Ok(0) => return Err(End::Lost),
                Ok(count) => {
                    total += count;
                    self.heard = Instant::now();
                    self.input.filled(count);
                    self.digest()?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn digest(&mut self) -> Result<(), End> {
        let limit = self.broker.borrow().args.packet_bytes;
        let input = std::mem::take(&mut self.input);
        let mut consumed = 0;
        let result = loop {
            match wire::split(&input.unread()[consumed..], limit) {
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.into()),
                Ok(Some(frame)) => {
                    consumed += frame.bytes.len();
                    if let Err(end) = self.handle(frame) {
                        break Err(end);
                    }
                }
            }
        };
        self.input = input;
        self.input.consume(consumed);
        result
    }

    fn handle(&mut self, frame: Frame<'_>) -> Result<(), End> {
        self.broker.borrow_mut().counts.packets_received += 1;
        let Some(client) = &self.client else {
            return if frame.kind() == kind::CONNECT { self.connect(frame) } else { Err(End::Malformed) };
        };
        match frame.kind() {
            kind::PUBLISH => {
                let publish = wire::publish(frame)?;
                if !topic::is_topic(publish.topic) {
                    return Err(End::Malformed);
                }
                let mut broker = self.broker.borrow_mut();
                broker.publish(&publish);
                if publish.qos == 1 {
                    wire::put_puback(&mut self.out, publish.packet_id);
                    broker.counts.acknowledged += 1;
                    broker.counts.packets_sent += 1;
                }
                Ok(())
            }
            kind::PUBACK => Ok(client.admitted.session.borrow_mut().ack(frame.packet_id()?)?),
            kind::SUBSCRIBE => self.subscribe(frame),
            kind::UNSUBSCRIBE => self.unsubscribe(frame),
            kind::PINGREQ => {
                self.reply(&wire::PINGRESP);
                Ok(())
            }
            kind::DISCONNECT => Err(End::Goodbye),
            _ => Err(End::Malformed),
        }
    }

    fn connect(&mut self, frame: Frame<'_>) -> Result<(), End> {
        // The level decides how the rest is read, so it is looked at first: MQTT 3.1 and 5 are told so, not called malformed.
        if !matches!(frame.body(), [0, 4, b'M', b'Q', b'T', b'T', 4, ..]) {
            self.refuse(1);
            return Err(End::Refused);
        }
        let connect = Connect::read(fixed_header(frame), Bytes::copy_from_slice(frame.bytes))?;
        if connect.last_will.as_ref().is_some_and(|will| !topic::is_topic(&will.topic)) {
            return Err(End::Malformed);
        }
        let admitted = self.broker.borrow_mut().admit(&connect);
        match admitted {
            Err(code) => {
                self.refuse(code);
                Err(End::Refused)
            }
            Ok(admitted) => {
                let is_small = self.broker.borrow().small_queue(&connect.client_id).is_some();
                if is_small {
                    // The kernel would hide megabytes of queue behind the bound; a failure hides the fault, and the counts show that.
                    let _ = rustix::net::sockopt::set_socket_send_buffer_size(&self.stream, 4_096);
                }
                let mut connack = Vec::with_capacity(4);
                wire::put_connack(&mut connack, admitted.present, 0);
                self.reply(&connack);
                let silence =
                    (connect.keep_alive > 0).then(|| Duration::from_millis(u64::from(connect.keep_alive) * 1500));
                let enough = if is_small { 1 } else { ENOUGH };
                self.client = Some(Client { admitted, will: connect.last_will, silence, enough });
                Ok(())
            }
        }
    }

    fn refuse(&mut self, code: u8) {
        let mut connack = Vec::with_capacity(4);
        wire::put_connack(&mut connack, false, code);
        self.reply(&connack);
    }

    fn subscribe(&mut self, frame: Frame<'_>) -> Result<(), End> {
        let Some(client) = &self.client else { return Err(End::Malformed) };
        let subscribe = Subscribe::read(fixed_header(frame), Bytes::copy_from_slice(frame.bytes))?;
        let mut broker = self.broker.borrow_mut();
        let one = |filter: &rumqttc::mqttbytes::v4::SubscribeFilter| {
            broker.subscribe(&client.admitted.session, &filter.path, filter.qos as u8)
        };
        let codes: Vec<u8> = subscribe.filters.iter().map(one).collect();
        drop(broker);
        let mut suback = vec![kind::SUBACK << 4];
        wire::put_length(&mut suback, 2 + codes.len());
        suback.extend_from_slice(&subscribe.pkid.to_be_bytes());
        suback.extend_from_slice(&codes);
        self.reply(&suback);
        Ok(())
    }

    fn unsubscribe(&mut self, frame: Frame<'_>) -> Result<(), End> {
        let Some(client) = &self.client else { return Err(End::Malformed) };
        let unsubscribe = Unsubscribe::read(fixed_header(frame), Bytes::copy_from_slice(frame.bytes))?;
        for filter in &unsubscribe.topics {
            self.broker.borrow_mut().subscriptions.remove(filter, &client.admitted.session);
        }
        let [high, low] = unsubscribe.pkid.to_be_bytes();
        self.reply(&[0xB0, 2, high, low]);
        Ok(())
    }

    fn reply(&mut self, packet: &[u8]) {
        self.out.extend_from_slice(packet);
        self.broker.borrow_mut().counts.packets_sent += 1;
    }

    /// Writes what is due, as far as the socket takes it.
    fn send(&mut self) {
        for _ in 0..WRITES {
            if self.written == self.out.len() || self.deaf {
                self.out.clear();
                self.written = 0;
            }
            if self.deaf {
                return;
            }
            if let Some(client) = &self.client {
                let sent = client.admitted.session.borrow_mut().fill(&mut self.out, client.enough);
                let mut broker = self.broker.borrow_mut();
                broker.counts.sent += sent;
                broker.counts.packets_sent += sent;
            }
            if self.out.is_empty() {
                return;
            }
            match self.stream.try_write(&self.out[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A client that was killed may have acknowledged much before: its last bytes still count.
                Err(_) => self.deaf = true,
            }
        }
        if let Some(client) = &self.client {
            client.admitted.link.wake();
        }
    }

    /// What to do when the timer fires: nothing until the silence is too long.
    fn deadline(&self) -> Result<Instant, End> {
        let silence = match &self.client {
            None => PATIENCE,
            Some(Client { silence: Some(silence), .. }) => *silence,
            Some(_) => return Ok(Instant::now() + FOREVER),
        };
        let next = self.heard + silence;
        if next > Instant::now() { Ok(next) } else { Err(End::Silent) }
    }

    fn finish(self, end: &End) {
        if let End::Refused | End::Goodbye = end {
            // The last answers; if the socket does not take them at once, the client sees the close.
            let _ = self.stream.try_write(&self.out[self.written..]);
        }
        let mut broker = self.broker.borrow_mut();
        match end {
            End::Malformed => broker.counts.malformed += 1,
            End::Silent if self.client.is_some() => broker.counts.keep_alive_lost += 1,
            _ => {}
        }
        if let Some(Client { admitted, will, .. }) = self.client {
            let will = if let End::Goodbye = end { None } else { will };
            broker.leave(&admitted.session, &admitted.link, will.as_ref());
        }
    }
}

async fn woken(link: Option<&Rc<Link>>) {
    match link {
        Some(link) => link.woken().await,
        None => future::pending().await,
    }
}

fn fixed_header(frame: Frame<'_>) -> FixedHeader {
    FixedHeader::new(frame.bytes[0], frame.header - 1, frame.body().len())
}
