//! A marked reading on a period, and the moment when the store shows it.
//!
//! One thread publishes at absolute times and gives up readings that are too old; another asks the store, so that a store that
//! hangs cannot delay a publish. A reading's fate is journaled once: seen, or never seen. A reading that the broker did not even
//! acknowledge within the limit has no fate in the store; it is counted and told in an event.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{STATEMENT_LIMIT, Surroundings, fates::Fates, sampler::Due};
use crate::{
    ends::NumberQuery,
    load::{
        RunClock,
        courier::{Delivery, SinglePublisher},
        single,
    },
    plan::watch::Canary,
    record::entry::{CanaryReading, Entry, EventKind},
    run::emit::Emit,
};

/// What can be told once: the payload cannot be made, the store cannot be asked, others write to it, the broker is silent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    Payload,
    Store,
    Foreign,
    Unacknowledged,
}

/// A canary that sings.
pub struct Singing {
    shared: Arc<Shared>,
    stop: Sender<()>,
    publisher: JoinHandle<()>,
}

/// What both threads know.
struct Shared {
    name: String,
    emit: Emit,
    state: Mutex<State>,
}

struct State {
    fates: Fates,
    /// No entry may be written any more.
    stopped: bool,
    /// Readings that the broker did not acknowledge in time.
    unpublished: u64,
    /// Troubles that were told, so that each is told once.
    told: BTreeSet<Trouble>,
}

impl Singing {
    /// Reads what the store shows before the first reading, then starts.
    ///
    /// # Errors
    /// When the connection, the query or the payload cannot be used.
    pub(super) fn start(name: &str, every: Duration, plan: &Canary, around: &Surroundings) -> Result<Self, String> {
        single::canary(plan, 1, 0)?;
        let mqtt = around.ends.mqtt(&plan.connection)?;
        let delivery = Delivery::new(mqtt, around.ends.ca_pem(mqtt)?, &format!("canary-{name}"));
        let mut query = around.ends.query(&plan.seen, STATEMENT_LIMIT)?;
        let emit = around.emit.clone();
        // Numbers go on behind those of an earlier cell, which the store may still show.
        let first = match query.read() {
            Ok(shown) => whole(shown) + 1,
            Err(why) => {
                emit.event(EventKind::Note, name, format!("the store did not answer before the first reading: {why}"));
                1
            }
        };
        let line = SinglePublisher::start(&delivery)?;
        let state = State {
            fates: Fates::new(first, plan.lost_after.0),
            stopped: false,
            unpublished: 0,
            told: BTreeSet::new(),
        };
        let shared = Arc::new(Shared { name: name.to_owned(), emit, state: Mutex::new(state) });
        let (stop, stopped) = mpsc::channel();
        let voice = Voice { plan: plan.clone(), clock: around.clock, line, shared: Arc::clone(&shared) };
        let publisher = thread::spawn(move || {
            let mut due = Due::now(every);
            while stopped.recv_timeout(due.left()) == Err(RecvTimeoutError::Timeout) {
                due.advance(Instant::now());
                voice.sing();
            }
        });
        let (asking, poll) = (Arc::clone(&shared), plan.poll.0);
        thread::spawn(move || asking.watch(&mut query, poll));
        Ok(Self { shared, stop, publisher })
    }

    /// Readings whose fate is not known yet.
    pub(super) fn unseen(&self) -> u64 {
        self.shared.lock().fates.outstanding()
    }

    /// Publishes no more, and goes on looking for what is still unseen.
    pub(super) fn quiet(&self) {
        let _ = self.stop.send(());
    }

    /// Ends it; what is not seen by now is journaled as never seen. No entry comes after this returns.
    pub(super) fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.publisher.join();
        let mut state = self.shared.lock();
        state.fates.look_for_acks();
        let (lost, unpublished) = state.fates.give_up_all();
        self.shared.tell_lost(&mut state, lost, &unpublished, None);
        if state.unpublished > 0 {
            let detail = format!("{} readings were never acknowledged by the broker", state.unpublished);
            self.shared.emit.event(EventKind::Note, &self.shared.name, detail);
        }
        state.stopped = true;
    }
}

/// The publishing thread.
struct Voice {
    plan: Canary,
    clock: RunClock,
    line: SinglePublisher,
    shared: Arc<Shared>,
}

impl Voice {
    fn sing(&self) {
        let mut state = self.shared.lock();
        let now = self.shared.emit.now();
        state.fates.look_for_acks();
        let (lost, unpublished) = state.fates.give_up(now);
        self.shared.tell_lost(&mut state, lost, &unpublished, self.line.trouble());
        let number = state.fates.next();
        let unix_ms = self.clock.unix_ns(self.clock.now_ns()) / 1_000_000;
        match single::canary(&self.plan, number, unix_ms) {
            Ok(message) => state.fates.published(number, self.shared.emit.now(), self.line.publish(message)),
            Err(why) => self.shared.tell_once(&mut state, Trouble::Payload, &why),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the store until the canary is stopped.
    fn watch(&self, query: &mut NumberQuery, poll: Duration) {
        let mut due = Due::now(poll);
        loop {
            thread::sleep(due.left());
            due.advance(Instant::now());
            let shown = query.read();
            let at = self.emit.now();
            let mut state = self.lock();
            if state.stopped {
                return;
            }
            match shown {
                Ok(shown) => self.take_in(&mut state, whole(shown), at),
                Err(why) => self.tell_once(&mut state, Trouble::Store, &format!("the store cannot be asked: {why}")),
            }
        }
    }

    fn take_in(&self, state: &mut State, shown: u64, at: f64) {
        match state.fates.shown(shown) {
            Ok(seen) => {
                // The next outage of the store is news again.
                state.told.remove(&Trouble::Store);
                for (number, published) in seen {
                    self.fate(number, published, Some(at));
                }
            }
            Err(last) => {
                let why =
                    format!("the store shows reading {shown}, but only {last} were published: others write there too");
                self.tell_once(state, Trouble::Foreign, &why);
            }
        }
    }

    fn fate(&self, number: u64, published: f64, seen: Option<f64>) {
        self.emit.entry(Entry::Canary(CanaryReading { canary: self.name.clone(), number, published, seen }));
    }

    fn tell_lost(&self, state: &mut State, lost: Vec<(u64, f64)>, unpublished: &[u64], trouble: Option<String>) {
        for (number, published) in lost {
            self.fate(number, published, None);
        }
        if let Some(number) = unpublished.first() {
            state.unpublished += unpublished.len() as u64;
            let why = trouble.unwrap_or_else(|| "no PUBACK came".to_owned());
            self.tell_once(
                state,
                Trouble::Unacknowledged,
                &format!("reading {number} was not acknowledged by the broker: {why}"),
            );
        }
    }

    fn tell_once(&self, state: &mut State, trouble: Trouble, detail: &str) {
        if state.told.insert(trouble) {
            self.emit.event(EventKind::Note, &self.name, detail);
        }
    }
}

/// A number that the store shows, as one of readings: below 1 there is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and numbers are not negative")]
fn whole(shown: f64) -> u64 {
    shown.max(0.0) as u64
}
