//! A child process: its end is seen the moment it happens, and no signal ever goes to a process that took over its number.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{self, ExitStatus},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use super::guardian::Guardian;

/// What is done when a child has ended.
pub type OnEnd = Box<dyn FnOnce(ExitStatus) + Send>;

/// A child process, the leader of its own process group.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    /// How it ended; while it is none the number is still this child's.
    ended: Mutex<Option<ExitStatus>>,
    change: Condvar,
    guardian: Arc<Guardian>,
}

impl Child {
    /// Begins to wait for the end of a process that was started as the leader of its group.
    pub(super) fn watch(process: process::Child, guardian: Arc<Guardian>, on_end: OnEnd) -> io::Result<Arc<Self>> {
        let pid = Pid::from_child(&process);
        let child = Arc::new(Self { pid, ended: Mutex::default(), change: Condvar::new(), guardian });
        let reaped = Arc::clone(&child);
        thread::Builder::new().name("reaper".to_owned()).spawn(move || {
            let status = reaped.reap(process);
            on_end(status);
        })?;
        Ok(child)
    }

    fn lock(&self) -> MutexGuard<'_, Option<ExitStatus>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reap(&self, mut process: process::Child) -> ExitStatus {
        // First look without reaping: the number stays this child's until the lock is held, so that nobody signals a stranger.
        while waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            .is_err_and(|error| error == rustix::io::Errno::INTR)
        {}
        let mut ended = self.lock();
        // Members of the group that the leader left behind end with it.
        let _ = kill_process_group(self.pid, Signal::KILL);
        self.guardian.forget(self.pid());
        let status = process.wait().unwrap_or_else(|_| ExitStatus::from_raw(255 << 8));
        *ended = Some(status);
        self.change.notify_all();
        status
    }

    /// The process identifier.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// How it ended, if it has.
    #[must_use]
    pub fn ended(&self) -> Option<ExitStatus> {
        *self.lock()
    }

    /// Sends a signal to the process alone. Says whether it was still there.
    pub fn signal(&self, signal: Signal) -> bool {
        let ended = self.lock();
        ended.is_none() && kill_process(self.pid, signal).is_ok()
    }

    /// Sends a signal to its whole process group. Says whether it was still there.
    pub fn signal_group(&self, signal: Signal) -> bool {
        let ended = self.lock();
        ended.is_none() && kill_process_group(self.pid, signal).is_ok()
    }

    /// Kills it and its group.
    pub fn kill(&self) {
        self.signal_group(Signal::KILL);
    }

    /// Waits for its end, however long it takes.
    pub fn wait(&self) -> ExitStatus {
        let mut ended = self.lock();
        loop {
            if let Some(status) = *ended {
                return status;
            }
            ended = self.change.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for its end, at most this long.
    pub fn wait_within(&self, within: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + within;
        let mut ended = self.lock();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if ended.is_some() || left.is_zero() {
                return *ended;
            }
            ended = self.change.wait_timeout(ended, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends it in its own way: SIGTERM, and SIGKILL when it takes longer than this.
    pub fn stop(&self, within: Duration) -> ExitStatus {
        self.signal(Signal::TERM);
        // A frozen process would not see SIGTERM before it is thawed.
        self.signal_group(Signal::CONT);
        self.wait_within(within).unwrap_or_else(|| {
            self.kill();
            self.wait()
        })
    }
}

/// An end in words: `exit 0` or `signal 9`.
#[must_use]
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown".to_owned(),
    }
}

/// An end as a number: the exit status, or 128 + the signal, as a shell gives it.
#[must_use]
pub fn status_number(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
