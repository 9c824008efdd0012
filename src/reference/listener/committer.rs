//! The committing thread: one batch after the other, each until it is durable. The faults of the process act here: a stall before a batch, a
//! crash or a restart after one.

use std::{
    env,
    os::unix::process::CommandExt,
    process, thread,
    time::{Duration, Instant},
};

use tokio::sync::mpsc::{Receiver, UnboundedSender};

use super::counts::Counts;
use crate::reference::{
    fault::ListenerFault,
    store::{Batch, Writer},
};

/// How long to wait after a failure: the store may be restarting.
const PAUSE: Duration = Duration::from_millis(100);
/// The environment variable in which a listener that replaces itself leaves the number of its restarts.
pub(super) const RESTARTS: &str = "SCALER_LISTENER_RESTARTS";

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

impl Job {
    /// Whether there is nothing to store and nothing to acknowledge.
    pub(super) fn is_empty(&self) -> bool {
        self.batch.len() == 0 && self.packet_ids.is_empty()
    }
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
pub(super) fn run(
    mut writer: Box<dyn Writer>,
    mut jobs: Receiver<Job>,
    done: &UnboundedSender<Done>,
    counts: &Counts,
    faults: &[ListenerFault],
) {
    let mut stall_at = None;
    while let Some(job) = jobs.blocking_recv() {
        for fault in faults {
            if let ListenerFault::Stall { length, every } = fault
                && job.batch.has_readings()
            {
                stall(stall_at.get_or_insert_with(|| Instant::now() + *every), *length, *every, counts);
            }
        }
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
        counts.committed(job.batch.len(), written, job.acknowledged_early);
        for fault in faults {
            end(fault, counts);
        }
        // Nobody listens any more when the listener ends; the broker will deliver again, and the store absorb it.
        let _ = done.send(Done { connection: job.connection, packet_ids: job.packet_ids });
    }
}

/// Waits for the length of a stall when its time has come, unless the listener is told to end.
fn stall(next: &mut Instant, length: Duration, every: Duration, counts: &Counts) {
    let begun = Instant::now();
    if begun < *next {
        return;
    }
    *next += every;
    while begun.elapsed() < length && !counts.is_ending() {
        thread::sleep(Duration::from_millis(10));
    }
    counts.stalled(begun.elapsed());
}

/// Ends the process when the fault wants it so: after a commit and before its acknowledgement, so that the broker delivers again.
fn end(fault: &ListenerFault, counts: &Counts) {
    match fault {
        ListenerFault::Crash { after } if counts.rows() >= after.get() => process::abort(),
        ListenerFault::Restart { after } if counts.rows() >= after.get() && counts.restarts() == 0 => {
            let Ok(program) = env::current_exe() else { return };
            // Returns only when it fails; then the listener lives on, and its count of restarts says so.
            let mut command = process::Command::new(program);
            let _ = command.args(env::args_os().skip(1)).env(RESTARTS, "1").exec();
        }
        _ => {}
    }
}
