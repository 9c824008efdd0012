//! Finite messages: a `publish` phase, a canary, a preflight. Each message is held until its PUBACK, also over a restart of the broker.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    encode::{self, Head},
    link::{Change, Heard, Link, LinkPlan, nanoseconds},
    message::Outgoing,
    packets::Packets,
};
use crate::plan::{connection::Mqtt, load::Reconnect};

/// What is encoded at most before it is written.
const WRITE_CAP: usize = 1 << 20;

/// The length of a turn while something is under way.
const TURN: Duration = Duration::from_millis(1);

/// How long a connection without work sleeps between looks at its keep-alive.
const IDLE: Duration = Duration::from_millis(50);

/// How messages are sent.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The broker.
    pub mqtt: Mqtt,
    /// The text of the connection's `ca_file`.
    pub ca_pem: Option<String>,
    /// What follows the connection's client identifier, so that no two connections share one.
    pub purpose: String,
    /// How many messages may wait for their PUBACK.
    pub inflight: u16,
    /// After this time without its PUBACK the connection is made anew.
    pub ack_timeout: Duration,
    /// After this time without any PUBACK the sending is given up.
    pub patience: Duration,
    /// How a lost connection is made again.
    pub reconnect: Reconnect,
}

impl Delivery {
    /// The usual limits: a window of 1000, ten seconds for a PUBACK, a minute of patience.
    #[must_use]
    pub fn new(mqtt: &Mqtt, ca_pem: Option<String>, purpose: &str) -> Self {
        Self {
            mqtt: mqtt.clone(),
            ca_pem,
            purpose: purpose.to_owned(),
            inflight: 1_000,
            ack_timeout: Duration::from_secs(10),
            patience: Duration::from_mins(1),
            reconnect: Reconnect::default(),
        }
    }
}

/// What became of finite messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Messages written.
    pub messages: u64,
    /// Messages acknowledged; one with quality of service 0 counts once it is written.
    pub acked: u64,
    /// From the start to the last PUBACK, seconds.
    pub seconds: f64,
}

/// Sends all messages and waits for every PUBACK; lost connections are made again and what was in flight is sent again.
///
/// `progress` gets the number of acknowledged messages from time to time. When `interrupt` becomes true, the sending ends and what was
/// done so far is returned.
///
/// # Errors
/// A message that cannot be made, a connection that cannot be used, or no PUBACK for as long as the patience lasts.
pub fn publish_all(
    delivery: &Delivery,
    mut messages: impl Iterator<Item = Result<Outgoing, String>>,
    mut progress: impl FnMut(u64),
    interrupt: &AtomicBool,
) -> Result<Published, String> {
    let mut courier = Courier::new(delivery)?;
    let (mut acked, mut exhausted, mut problem) = (0, false, None);
    let mut last_ack = Instant::now();
    let began = Instant::now();
    loop {
        let done = courier.turn(&mut || match messages.next() {
            Some(Ok(message)) => Some(message),
            Some(Err(error)) => {
                problem = Some(error);
                None
            }
            None => {
                exhausted = true;
                None
            }
        });
        if let Some(error) = problem {
            return Err(error);
        }
        if !done.is_empty() {
            acked += done.len() as u64;
            last_ack = Instant::now();
            progress(acked);
        }
        if (exhausted && courier.is_settled()) || interrupt.load(Ordering::Relaxed) {
            courier.link.close();
            let seconds = last_ack.duration_since(began).as_secs_f64();
            return Ok(Published { messages: courier.next, acked, seconds });
        }
        if last_ack.elapsed() > delivery.patience {
            let why = courier.trouble.unwrap_or_else(|| "the broker does not acknowledge".to_owned());
            return Err(format!("no PUBACK for {} s: {why}", delivery.patience.as_secs()));
        }
        std::thread::sleep(TURN);
    }
}

/// One connection that delivers messages.
struct Courier {
    link: Link,
    packets: Packets,
    held: HashMap<u64, Outgoing>,
    next: u64,
    unwritten: Vec<u64>,
    epoch: Instant,
    ack_timeout_ns: u64,
    scratch: Vec<u8>,
    heard: Heard,
    /// Why the connection was last lost or refused.
    trouble: Option<String>,
}

impl Courier {
    fn new(delivery: &Delivery) -> Result<Self, String> {
        let ack_timeout_ns = nanoseconds(delivery.ack_timeout);
        let plan = LinkPlan::new(&delivery.mqtt, delivery.ca_pem.as_deref(), &delivery.reconnect, ack_timeout_ns)?;
        let client_id = format!("{}-{}", delivery.mqtt.client_id, delivery.purpose);
        Ok(Self {
            link: Link::new(plan, client_id, 0),
            packets: Packets::new(delivery.inflight),
            held: HashMap::new(),
            next: 0,
            unwritten: Vec::new(),
            epoch: Instant::now(),
            ack_timeout_ns,
            scratch: vec![0; 16 * 1024],
            heard: Heard::default(),
            trouble: None,
        })
    }

    fn is_settled(&self) -> bool {
        self.packets.in_flight() == 0 && self.unwritten.is_empty()
    }

    /// One turn; returns the numbers of the messages that were delivered, counted from 0 in the order in which `source` gave them.
    fn turn(&mut self, source: &mut dyn FnMut() -> Option<Outgoing>) -> Vec<u64> {
        let now_ns = nanoseconds(self.epoch.elapsed());
        let mut done = Vec::new();
        self.link.receive(now_ns, &mut self.scratch, &mut self.heard);
        self.take_in(&mut done);
        if self.link.is_up() && self.packets.sent_before(now_ns.saturating_sub(self.ack_timeout_ns)) > 0 {
            self.link.lose(now_ns, "no PUBACK in time".to_owned(), &mut self.heard);
            self.take_in(&mut done);
        }
        self.fill(now_ns, source);
        if self.link.flush(now_ns, &mut self.heard) {
            done.append(&mut self.unwritten);
        }
        self.take_in(&mut done);
        done
    }

    fn fill(&mut self, now_ns: u64, source: &mut dyn FnMut() -> Option<Outgoing>) {
        let Some(out) = self.link.out() else { return };
        while out.len() < WRITE_CAP
            && let Some(again) = self.packets.next_again(now_ns)
        {
            if let Some(message) = self.held.get(&again.reading) {
                encode_message(out, Some(again.id), true, message);
            }
        }
        while out.len() < WRITE_CAP && self.packets.admits() {
            let Some(message) = source() else { return };
            let number = self.next;
            self.next += 1;
            if message.qos == 0 {
                encode_message(out, None, false, &message);
                self.unwritten.push(number);
            } else {
                let id = self.packets.send(number, now_ns);
                encode_message(out, id, false, &message);
                self.held.insert(number, message);
            }
        }
    }

    fn take_in(&mut self, done: &mut Vec<u64>) {
        for id in self.heard.acks.drain(..) {
            if let Some(acked) = self.packets.acknowledge(id) {
                self.held.remove(&acked.reading);
                done.push(acked.reading);
            }
        }
        for change in self.heard.changes.drain(..) {
            match change {
                Change::Lost(reason) => {
                    self.packets.connection_lost();
                    // Quality of service 0 promises nothing: what the socket had taken in part is gone.
                    done.append(&mut self.unwritten);
                    self.trouble = Some(reason);
                }
                Change::Refused { reason, .. } => self.trouble = Some(reason),
                Change::Up { .. } => self.trouble = None,
                Change::NotSubscribed => {}
            }
        }
        self.heard.messages.clear(); // nothing was subscribed to
    }
}

fn encode_message(out: &mut Vec<u8>, id: Option<u16>, dup: bool, message: &Outgoing) {
    let head = Head { id, retain: message.retain, dup };
    let topic = |out: &mut Vec<u8>| out.extend_from_slice(message.topic.as_bytes());
    encode::publish(out, head, topic, |out, _| out.extend_from_slice(&message.payload));
}

/// A kept connection for single messages, such as a canary's.
#[derive(Debug)]
pub struct SinglePublisher {
    messages: Option<Sender<(Outgoing, Sender<Instant>)>>,
    trouble: Arc<Mutex<Option<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl SinglePublisher {
    /// Begins to connect; messages may be given at once.
    ///
    /// # Errors
    /// A connection that cannot be used.
    pub fn start(delivery: &Delivery) -> Result<Self, String> {
        let mut courier = Courier::new(delivery)?;
        let (messages, inbox) = mpsc::channel();
        let trouble = Arc::new(Mutex::new(None));
        let told = Arc::clone(&trouble);
        let thread = std::thread::Builder::new()
            .name(delivery.purpose.clone())
            .spawn(move || deliver(&mut courier, &inbox, &told));
        Ok(Self { messages: Some(messages), trouble, thread: Some(thread.map_err(|error| error.to_string())?) })
    }

    /// Hands a message over. The receiver gets the moment of its PUBACK (or, for quality of service 0, of the write); it is closed
    /// without one when the publisher is dropped before.
    #[must_use]
    pub fn publish(&self, message: Outgoing) -> Receiver<Instant> {
        let (done, wait) = mpsc::channel();
        if let Some(messages) = &self.messages {
            // When the thread has ended, the receiver is closed: that says it.
            let _ = messages.send((message, done));
        }
        wait
    }

    /// Why the connection is not up, if it was lost or refused.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for SinglePublisher {
    fn drop(&mut self) {
        self.messages = None; // the thread ends when nobody can give it a message any more
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn deliver(courier: &mut Courier, inbox: &Receiver<(Outgoing, Sender<Instant>)>, trouble: &Mutex<Option<String>>) {
    let mut waiting: HashMap<u64, Sender<Instant>> = HashMap::new();
    let mut given = 0;
    let mut queue: std::collections::VecDeque<Outgoing> = std::collections::VecDeque::new();
    loop {
        let busy = !courier.is_settled() || !queue.is_empty() || !courier.link.is_up();
        match inbox.recv_timeout(if busy { TURN } else { IDLE }) {
            Ok((message, done)) => {
                waiting.insert(given, done);
                given += 1;
                queue.push_back(message);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return courier.link.close(),
        }
        for number in courier.turn(&mut || queue.pop_front()) {
            if let Some(done) = waiting.remove(&number) {
                // The one who gave the message may not care.
                let _ = done.send(Instant::now());
            }
        }
        trouble.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&courier.trouble);
    }
}
