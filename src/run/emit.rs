//! The way into the journal for everything that happens by itself: a moment on the run's clock, and an entry.

use std::{sync::Arc, time::Instant};

use crate::record::entry::{Entry, Event, EventKind};

/// Hands entries to the journal from any thread.
#[derive(Clone)]
pub struct Emit {
    start: Instant,
    to: Arc<dyn Fn(Entry) + Send + Sync>,
}

impl Emit {
    /// Entries go to `to`; `start` is the moment from which the run counts its seconds.
    pub fn new(start: Instant, to: impl Fn(Entry) + Send + Sync + 'static) -> Self {
        Self { start, to: Arc::new(to) }
    }

    /// Seconds since the start of the run.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// A moment in seconds since the start of the run.
    #[must_use]
    pub fn at(&self, moment: Instant) -> f64 {
        moment.saturating_duration_since(self.start).as_secs_f64()
    }

    /// Hands over an entry.
    pub fn entry(&self, entry: Entry) {
        (self.to)(entry);
    }

    /// Hands over an event of this moment.
    pub fn event(&self, kind: EventKind, subject: &str, detail: impl Into<String>) {
        self.entry(Entry::Event(Event { at: self.now(), kind, subject: subject.to_owned(), detail: detail.into() }));
    }
}
