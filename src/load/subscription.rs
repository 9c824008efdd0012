//! A subscription that keeps the latest message of each topic, for the broker's own counters. Quality of service 0; connects again by itself.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    encode,
    link::{Change, Heard, Link, LinkPlan},
};
use crate::plan::{connection::Mqtt, load::Reconnect};

/// The length of a turn.
const TURN: Duration = Duration::from_millis(20);

/// How long a broker may take to accept the connection.
const ANSWER_WITHIN_NS: u64 = 10_000_000_000;

/// How many topics are kept; a broker that invents topics must not fill the memory.
const MOST_TOPICS: usize = 10_000;

/// The latest message of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latest {
    /// The payload.
    pub payload: Vec<u8>,
    /// When it arrived.
    pub at: Instant,
}

#[derive(Debug, Default)]
struct State {
    latest: HashMap<String, Latest>,
    trouble: Option<String>,
}

/// A subscription that runs until it is dropped.
#[derive(Debug)]
pub struct Subscription {
    state: Arc<Mutex<State>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Subscription {
    /// Begins to connect, then subscribes to the filters; again after each reconnect.
    ///
    /// # Errors
    /// A connection that cannot be used.
    pub fn start(mqtt: &Mqtt, ca_pem: Option<&str>, purpose: &str, filters: Vec<String>) -> Result<Self, String> {
        let plan = LinkPlan::new(mqtt, ca_pem, &Reconnect::default(), ANSWER_WITHIN_NS)?;
        let link = Link::new(plan, format!("{}-{purpose}", mqtt.client_id), 0);
        let (state, ended) = (Arc::new(Mutex::new(State::default())), Arc::new(AtomicBool::new(false)));
        let (kept, over) = (Arc::clone(&state), Arc::clone(&ended));
        let thread =
            std::thread::Builder::new().name(purpose.to_owned()).spawn(move || listen(link, &filters, &kept, &over));
        Ok(Self { state, ended, thread: Some(thread.map_err(|error| error.to_string())?) })
    }

    /// The latest message of a topic, if there was one.
    #[must_use]
    pub fn latest(&self, topic: &str) -> Option<Latest> {
        lock(&self.state).latest.get(topic).cloned()
    }

    /// Why nothing comes: the connection was lost or refused, or the broker refused the subscription.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        lock(&self.state).trouble.clone()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(mut link: Link, filters: &[String], state: &Mutex<State>, ended: &AtomicBool) {
    let epoch = Instant::now();
    let mut scratch = vec![0; 16 * 1024];
    let mut heard = Heard::default();
    let mut subscribed = false;
    while !ended.load(Ordering::Relaxed) {
        let now_ns = super::link::nanoseconds(epoch.elapsed());
        link.receive(now_ns, &mut scratch, &mut heard);
        subscribed &= link.is_up();
        if !subscribed && let Some(out) = link.out() {
            match encode::subscribe(out, 1, filters) {
                Ok(()) => subscribed = true,
                Err(error) => lock(state).trouble = Some(error),
            }
        }
        link.flush(now_ns, &mut heard);
        take_in(&mut heard, &mut lock(state));
        std::thread::sleep(TURN);
    }
    link.close();
}

fn take_in(heard: &mut Heard, state: &mut State) {
    for message in heard.messages.drain(..) {
        if state.latest.len() < MOST_TOPICS || state.latest.contains_key(&message.topic) {
            state.latest.insert(message.topic, Latest { payload: message.payload.to_vec(), at: Instant::now() });
        }
    }
    for change in heard.changes.drain(..) {
        state.trouble = match change {
            Change::Up { .. } => None,
            Change::Lost(reason) | Change::Refused { reason, .. } => Some(reason),
            Change::NotSubscribed => Some("the broker refused the subscription".to_owned()),
        };
    }
    heard.acks.clear();
}
