//! Taking one process down and bringing it back, with proof of both.

use std::{
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use super::{
    child::{Child, describe},
    ready::{Waited, wait_until_ready},
    services::Services,
    signal::number,
    watched::Watched,
};
use crate::{
    plan::{phase, target::Service},
    record::entry::EventKind,
    run::world::{Answer, Failure, TakeDown},
};

/// How long the kernel may take to end a process after SIGKILL, or to freeze it after SIGSTOP.
const KERNEL_LIMIT: Duration = Duration::from_secs(10);

impl Services {
    /// Takes a process down. Gives [`Answer::Down`].
    ///
    /// # Errors
    /// When the process does not run.
    pub fn take_down(&self, name: &str, how: TakeDown) -> Result<Answer, Failure> {
        if how == TakeDown::Disconnect {
            return Err(Failure::Failed(format!("{name} is a process: it has no network of its own to be cut off")));
        }
        let _turn = self.turn();
        let service = self.service(name)?;
        let running = self.running(name).ok_or_else(|| Failure::Failed(format!("{name} was never started")))?;
        if let Some(status) = running.child().ended() {
            return Err(Failure::Failed(format!("{name} does not run: it had ended with {} before", describe(status))));
        }
        let at = self.emit().now();
        let pid = running.child().pid();
        let (ended, proven) = if how == TakeDown::Pause {
            (None, freeze(running.child()))
        } else {
            running.unwant();
            let ended = end(running.child(), how, &service);
            if ended.is_none() {
                // It took no notice; should it end later, nobody asked for that any more.
                running.want();
            }
            (ended.map(describe), ended.is_some_and(|status| as_meant(status, how)))
        };
        let found = ended.as_deref().unwrap_or(if proven { "seen stopped" } else { "it took no notice" });
        self.emit().event(EventKind::TakenDown, name, format!("{}, process {pid}: {found}", how.words()));
        Ok(Answer::Down { at, pid, ended, proven })
    }

    /// Brings a process back and waits until it is ready. Gives [`Answer::Up`], without `ready_at` when that took too long.
    ///
    /// # Errors
    /// Refused when it cannot be started.
    pub fn bring_back(&self, name: &str, within: Duration) -> Result<Answer, Failure> {
        let stops = self.stops_so_far();
        let _turn = self.turn();
        let service = self.service(name)?;
        let at = self.emit().now();
        let alive = |running: &Watched| running.child().ended().is_none();
        let (pid, ready) = match self.running(name).filter(alive) {
            Some(running) => (running.child().pid(), thaw(&service, running.child(), within)),
            None => match self.start_one(name, &service, Some(within), stops) {
                Ok((pid, _)) => (pid, true),
                Err(failure) => match self.running(name).filter(alive) {
                    // It runs and only its sign is late: that is an answer, not a failure.
                    Some(running) => {
                        running.want();
                        (running.child().pid(), false)
                    }
                    None => return Err(failure),
                },
            },
        };
        let ready_at = ready.then(|| self.emit().now());
        let found = if ready { "ready" } else { "not ready in time" };
        self.emit().event(EventKind::BroughtBack, name, format!("process {pid}: {found}"));
        Ok(Answer::Up { at, ready_at, pid })
    }
}

fn thaw(service: &Service, child: &Child, within: Duration) -> bool {
    child.signal_group(Signal::CONT);
    let ended = || child.ended().is_some();
    match &service.ready {
        Some(ready) => wait_until_ready(ready, within, &ended) == Waited::Ready,
        None => !ended(),
    }
}

fn end(child: &Child, how: TakeDown, service: &Service) -> Option<ExitStatus> {
    match how {
        TakeDown::Kill(signal) | TakeDown::KillByHost(signal) => {
            child.signal(number(signal));
            let limit = if signal == phase::Signal::SigKill { KERNEL_LIMIT } else { service.stop_within.0 };
            child.wait_within(limit)
        }
        TakeDown::Stop => Some(child.stop(service.stop_within.0)),
        TakeDown::Pause | TakeDown::Disconnect => None,
    }
}

/// A process that was killed must have ended by that very signal; one that may handle its signal must only have ended.
fn as_meant(status: ExitStatus, how: TakeDown) -> bool {
    how != TakeDown::Kill(phase::Signal::SigKill) || status.signal() == Some(Signal::KILL.as_raw())
}

/// Freezes the process group, and looks whether the kernel says so (state `T`, `proc_pid_stat(5)`).
fn freeze(child: &Child) -> bool {
    child.signal_group(Signal::STOP);
    let deadline = Instant::now() + KERNEL_LIMIT;
    let pid = i32::try_from(child.pid()).unwrap_or(i32::MAX);
    while Instant::now() < deadline && child.ended().is_none() {
        let state = procfs::process::Process::new(pid).and_then(|process| process.stat()).map(|stat| stat.state);
        if state.is_ok_and(|state| state == 'T') {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}
