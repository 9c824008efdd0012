//! The committing thread: one batch after the other, each until it is durable.

use std::{thread, time::Duration};

use tokio::sync::mpsc::{Receiver, UnboundedSender};

use super::counts::Counts;
use crate::reference::store::{Batch, Writer};

/// How long to wait after a failure: the store may be restarting.
const PAUSE: Duration = Duration::from_millis(100);

/// Messages that are committed, and then acknowledged, together.
#[derive(Debug, Default)]
pub(super) struct Job {
    /// The connection that delivered them: packet identifiers mean nothing on another one.
    pub(super) connection: u64,
    /// What is to be stored.
    pub(super) batch: Batch,
    /// The packet identifiers to acknowledge afterwards.
    pub(super) packet_ids: Vec<u16>,
    /// How many of the messages were acknowledged on arrival, which is the fault `ack_before_commit`.
    pub(super) acknowledged_early: u64,
}

/// What may be acknowledged now.
#[derive(Debug)]
pub(super) struct Done {
    /// The connection that delivered the messages.
    pub(super) connection: u64,
    /// Their packet identifiers.
    pub(super) packet_ids: Vec<u16>,
}

/// Commits until the client has gone. A failed batch is tried again for as long as it takes, as long as the listener is not told to end.
pub(super) fn run(mut writer: Box<dyn Writer>, mut jobs: Receiver<Job>, done: &UnboundedSender<Done>, counts: &Counts) {
    while let Some(job) = jobs.blocking_recv() {
        let written = loop {
            match writer.write(&job.batch) {
                Ok(written) => break written,
                Err(error) => {
                    counts.store_failed(error.to_string());
                    if counts.is_ending() {
                        return;
                    }
                    thread::sleep(PAUSE);
                }
            }
        };
        counts.committed(written, job.acknowledged_early);
        // Nobody listens any more when the listener ends; the broker will deliver again, and the store absorb it.
        let _ = done.send(Done { connection: job.connection, packet_ids: job.packet_ids });
    }
}
