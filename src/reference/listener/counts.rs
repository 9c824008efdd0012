//! What the listener did, counted exactly, shared by its two threads.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
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
    committed: AtomicU64,
    rows: AtomicU64,
    duplicates: AtomicU64,
    conflicts: AtomicU64,
    batches: AtomicU64,
    connects: AtomicU64,
    sessions_new: AtomicU64,
    sessions_resumed: AtomicU64,
    store_failures: AtomicU64,
    dropped: AtomicU64,
    duplicated: AtomicU64,
    corrupted: AtomicU64,
    late: AtomicU64,
    shifted: AtomicU64,
    stalls: AtomicU64,
    stalled_us: AtomicU64,
    leaked_bytes: AtomicU64,
    restarts: AtomicU64,
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
    committed: u64,
    uncommitted: u64,
    rows: u64,
    duplicates: u64,
    conflicts: u64,
    batches: u64,
    connects: u64,
    sessions_new: u64,
    sessions_resumed: u64,
    store_failures: u64,
    dropped: u64,
    duplicated: u64,
    corrupted: u64,
    late: u64,
    shifted: u64,
    stalls: u64,
    stalled_total_s: f64,
    leaked_bytes: u64,
    restarts: u64,
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

    /// The broker took us, with the session that it had kept or with a new one.
    pub(super) fn session(&self, resumed: bool) {
        add(if resumed { &self.sessions_resumed } else { &self.sessions_new }, 1);
    }

    /// A batch of so many messages was committed, of which so many had been acknowledged before.
    pub(super) fn committed(&self, messages: usize, written: Written, early: u64) {
        add(&self.committed, messages as u64);
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

    /// A reading was not stored: the fault `drop_and_duplicate`.
    pub(super) fn dropped(&self) {
        add(&self.dropped, 1);
    }

    /// A reading is stored once more than it came: the faults `duplicate` and `drop_and_duplicate`.
    pub(super) fn duplicated(&self) {
        add(&self.duplicated, 1);
    }

    /// A reading is stored with another value: the fault `corrupt`.
    pub(super) fn corrupted(&self) {
        add(&self.corrupted, 1);
    }

    /// A reading is held back: the fault `late`.
    pub(super) fn late(&self) {
        add(&self.late, 1);
    }

    /// A reading is stored with another time: the fault `clock_apart`.
    pub(super) fn shifted(&self) {
        add(&self.shifted, 1);
    }

    /// Nothing was committed for a time: the fault `stall`.
    pub(super) fn stalled(&self, length: Duration) {
        add(&self.stalls, 1);
        add(&self.stalled_us, u64::try_from(length.as_micros()).unwrap_or(u64::MAX));
    }

    /// Memory is kept and never used: the fault `leak`.
    pub(super) fn leaked(&self, bytes: u64) {
        add(&self.leaked_bytes, bytes);
    }

    /// The process has replaced itself so many times: the fault `restart`.
    pub(super) fn restarted(&self, times: u64) {
        self.restarts.store(times, Ordering::Relaxed);
    }

    /// How many times the process has replaced itself.
    pub(super) fn restarts(&self) -> u64 {
        get(&self.restarts)
    }

    /// How many readings were committed.
    pub(super) fn rows(&self) -> u64 {
        get(&self.rows)
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
        let committed = get(&self.committed);
        let received = get(&self.received);
        let unparsable = get(&self.unparsable);
        Truth {
            received,
            redelivered: get(&self.redelivered),
            acknowledged: get(&self.acknowledged),
            acknowledged_uncommitted: get(&self.acknowledged_uncommitted),
            unparsable,
            committed,
            uncommitted: received.saturating_sub(unparsable + committed),
            rows: get(&self.rows),
            duplicates: get(&self.duplicates),
            conflicts: get(&self.conflicts),
            batches: get(&self.batches),
            connects: get(&self.connects),
            sessions_new: get(&self.sessions_new),
            sessions_resumed: get(&self.sessions_resumed),
            store_failures: get(&self.store_failures),
            dropped: get(&self.dropped),
            duplicated: get(&self.duplicated),
            corrupted: get(&self.corrupted),
            late: get(&self.late),
            shifted: get(&self.shifted),
            stalls: get(&self.stalls),
            stalled_total_s: Duration::from_micros(get(&self.stalled_us)).as_secs_f64(),
            leaked_bytes: get(&self.leaked_bytes),
            restarts: self.restarts(),
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
