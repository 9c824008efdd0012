//! What the listener did, counted exactly, shared by its two threads.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use serde::Serialize;

use crate::reference::{metrics::Metrics, store::Written};

/// The counts. Each is written by one thread; readers may see them a moment apart.
#[derive(Debug, Default)]
pub(super) struct Counts {
    received: AtomicU64,
    redelivered: AtomicU64,
    acknowledged: AtomicU64,
    acknowledged_uncommitted: AtomicU64,
    unparsable: AtomicU64,
    rows: AtomicU64,
    duplicates: AtomicU64,
    conflicts: AtomicU64,
    batches: AtomicU64,
    connects: AtomicU64,
    store_failures: AtomicU64,
    subscribed: AtomicBool,
    ending: AtomicBool,
    store_error: Mutex<Option<String>>,
    broker_error: Mutex<Option<String>>,
}

/// The answer of `/truth`.
#[derive(Debug, Serialize)]
pub(super) struct Truth {
    received: u64,
    redelivered: u64,
    acknowledged: u64,
    acknowledged_uncommitted: u64,
    unparsable: u64,
    rows: u64,
    duplicates: u64,
    conflicts: u64,
    batches: u64,
    connects: u64,
    store_failures: u64,
}

impl Counts {
    /// A message came.
    pub(super) fn received(&self, dup: bool) {
        add(&self.received, 1);
        add(&self.redelivered, u64::from(dup));
    }

    /// A message meant nothing and is skipped.
    pub(super) fn unparsable(&self) {
        add(&self.unparsable, 1);
    }

    /// Messages were acknowledged.
    pub(super) fn acknowledged(&self, count: u64) {
        add(&self.acknowledged, count);
    }

    /// A message was acknowledged before it was committed: the fault.
    pub(super) fn acknowledged_early(&self) {
        add(&self.acknowledged, 1);
        add(&self.acknowledged_uncommitted, 1);
    }

    /// A batch was committed, of which so many messages had been acknowledged before.
    pub(super) fn committed(&self, written: Written, early: u64) {
        add(&self.rows, written.rows);
        add(&self.duplicates, written.duplicates);
        add(&self.conflicts, written.conflicts);
        add(&self.batches, 1);
        self.acknowledged_uncommitted.fetch_sub(early, Ordering::Relaxed);
        *lock(&self.store_error) = None;
    }

    /// The store failed; the batch is tried again.
    pub(super) fn store_failed(&self, reason: String) {
        add(&self.store_failures, 1);
        *lock(&self.store_error) = Some(reason);
    }

    /// The subscription is in force.
    pub(super) fn subscribed(&self) {
        add(&self.connects, 1);
        *lock(&self.broker_error) = None;
        self.subscribed.store(true, Ordering::Relaxed);
    }

    /// The subscription is no longer in force.
    pub(super) fn unsubscribed(&self, reason: String) {
        *lock(&self.broker_error) = Some(reason);
        self.subscribed.store(false, Ordering::Relaxed);
    }

    /// The listener has been told to end.
    pub(super) fn end(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    /// Whether the listener has been told to end.
    pub(super) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// Healthy: subscribed, and the last commit succeeded.
    pub(super) fn health(&self) -> Result<(), String> {
        if !self.subscribed.load(Ordering::Relaxed) {
            let reason = lock(&self.broker_error).clone().unwrap_or_else(|| "connecting".to_owned());
            return Err(format!("not subscribed: {reason}\n"));
        }
        let error = lock(&self.store_error);
        error.as_ref().map_or(Ok(()), |error| Err(format!("the store fails: {error}\n")))
    }

    /// The truth.
    pub(super) fn truth(&self) -> Truth {
        Truth {
            received: get(&self.received),
            redelivered: get(&self.redelivered),
            acknowledged: get(&self.acknowledged),
            acknowledged_uncommitted: get(&self.acknowledged_uncommitted),
            unparsable: get(&self.unparsable),
            rows: get(&self.rows),
            duplicates: get(&self.duplicates),
            conflicts: get(&self.conflicts),
            batches: get(&self.batches),
            connects: get(&self.connects),
            store_failures: get(&self.store_failures),
        }
    }

    /// The metrics.
    pub(super) fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::default();
        for (name, help, value) in [
            ("scaler_listener_messages_received_total", "Messages received.", &self.received),
            (
                "scaler_listener_messages_unparsable_total",
                "Messages skipped because they mean nothing.",
                &self.unparsable,
            ),
            ("scaler_listener_rows_committed_total", "Readings committed.", &self.rows),
            ("scaler_listener_duplicates_total", "Readings that were stored before.", &self.duplicates),
            ("scaler_listener_batches_total", "Batches committed.", &self.batches),
            ("scaler_listener_store_failures_total", "Commits that failed and were tried again.", &self.store_failures),
        ] {
            metrics.counter(name, help, &[], get(value));
        }
        metrics
    }
}

/// A text stays whole even when the thread that held it panicked.
fn lock(text: &Mutex<Option<String>>) -> MutexGuard<'_, Option<String>> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}
