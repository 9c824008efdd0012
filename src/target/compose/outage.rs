//! Taking one container down and bringing it back, with proof of both.

use std::{
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::project::{Project, STOP_LIMIT, locked};
use crate::{
    engine::Container,
    plan::phase,
    record::entry::EventKind,
    run::world::{Answer, Failure, TakeDown},
};

/// How long the engine may take to show that something happened.
const ENGINE_LIMIT: Duration = Duration::from_secs(15);
/// How long the restart policy may take to bring a container back by itself before scaler does.
const POLICY_LIMIT: Duration = Duration::from_secs(10);
/// How often the engine is asked.
const POLL: Duration = Duration::from_millis(50);

impl Project {
    fn one(&self, service: &str) -> Result<Container, Failure> {
        let containers = self.containers().map_err(Failure::Failed)?;
        let found = containers.into_iter().find(|container| container.service == service);
        found.ok_or_else(|| Failure::Failed(format!("the target has no container of the service `{service}`")))
    }

    /// Takes a service's container down. Gives [`Answer::Down`].
    ///
    /// # Errors
    /// When it does not run.
    pub fn take_down(&self, service: &str, how: TakeDown) -> Result<Answer, Failure> {
        let _turn = self.turn();
        let container = self.one(service)?;
        if !container.is_running() {
            return Err(Failure::Failed(format!("{service} does not run: its container is {}", container.status)));
        }
        {
            let mut doings = locked(&self.doings);
            doings.down.insert(service.to_owned());
            doings.ended.remove(service);
        }
        let at = self.emit.now();
        self.act(&container, how).map_err(Failure::Failed)?;
        let (ended, proven) = if how.keeps_process() {
            (None, self.await_state(&container.id, |now| is_apart(now, how)))
        } else {
            self.await_end(&container, how)
        };
        let found = ended.as_deref().unwrap_or(if proven { "seen so" } else { "it took no notice" });
        let detail = format!("{}, container {}, process {}: {found}", how.words(), container.name, container.pid);
        self.emit.event(EventKind::TakenDown, service, detail);
        Ok(Answer::Down { at, pid: container.pid, ended, proven })
    }

    fn act(&self, container: &Container, how: TakeDown) -> Result<(), String> {
        let id = container.id.as_str();
        match how {
            TakeDown::Kill(signal) => self.engine.kill(id, &format!("{signal:?}").to_uppercase()),
            TakeDown::KillByHost(signal) => kill_on_host(container.pid, signal),
            TakeDown::Stop => self.engine.stop(id, i32::try_from(STOP_LIMIT.as_secs()).unwrap_or(i32::MAX)),
            TakeDown::Pause => self.engine.pause(id),
            TakeDown::Disconnect => {
                locked(&self.state).cut_off.insert(container.service.clone(), container.networks.clone());
                container.networks.iter().try_for_each(|(network, _)| self.engine.disconnect(id, network))
            }
        }
    }

    /// How its process ended, from the engine's events, and whether that is proven: it was the process of before, and a SIGKILL
    /// shows as exit code 137.
    fn await_end(&self, container: &Container, how: TakeDown) -> (Option<String>, bool) {
        let gone = self.await_state(&container.id, |now| !now.is_running() || now.started_at != container.started_at);
        let told = || locked(&self.doings).ended.get(&container.service).cloned();
        let deadline = Instant::now() + ENGINE_LIMIT;
        while gone && told().is_none() && Instant::now() < deadline {
            thread::sleep(POLL);
        }
        let ended = told().filter(|_| gone);
        let killed =
            matches!(how, TakeDown::Kill(phase::Signal::SigKill) | TakeDown::KillByHost(phase::Signal::SigKill));
        let proven = ended.as_deref().is_some_and(|ended| !killed || ended == "exit 137");
        (ended, proven)
    }

    fn await_state(&self, id: &str, wanted: impl Fn(&Container) -> bool) -> bool {
        self.await_within(id, ENGINE_LIMIT, wanted)
    }

    fn await_within(&self, id: &str, limit: Duration, wanted: impl Fn(&Container) -> bool) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            if self.engine.container(id).is_ok_and(|now| wanted(&now)) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(POLL);
        }
    }

    /// Brings a service's container back and waits until it is healthy. Gives [`Answer::Up`], without `ready_at` when that took too long.
    ///
    /// # Errors
    /// When the engine cannot start it.
    pub fn bring_back(&self, service: &str, within: Duration) -> Result<Answer, Failure> {
        let _turn = self.turn();
        let container = self.one(service)?;
        let id = container.id.as_str();
        let mut at = self.emit.now();
        let by = if let Some(networks) = locked(&self.state).cut_off.remove(service) {
            for (network, aliases) in networks {
                self.engine.connect_to(id, &network, &aliases).map_err(Failure::Failed)?;
            }
            "connected again"
        } else if container.status == "paused" {
            self.engine.unpause(id).map_err(Failure::Failed)?;
            "thawed"
        } else if self.came_back_by_itself(&container) {
            let since = self.engine.container(id).ok().and_then(|now| now.started_s_ago()).unwrap_or(0.0);
            at = self.emit.now() - since;
            "started by its restart policy"
        } else {
            self.engine.start(id).map_err(Failure::Failed)?;
            "started by scaler"
        };
        let ready = self.await_within(id, within, Container::is_ready);
        let ready_at = ready.then(|| self.emit.now());
        let pid = self.engine.container(id).map_err(Failure::Failed)?.pid;
        locked(&self.doings).down.remove(service);
        let found = if ready { "ready" } else { "not ready in time" };
        self.emit.event(EventKind::BroughtBack, service, format!("{by}, process {pid}: {found}"));
        Ok(Answer::Up { at, ready_at, pid })
    }

    /// What the container of a service printed since it was last started.
    ///
    /// # Errors
    /// When there is none, or the engine keeps no log of it.
    pub fn log(&self, service: &str) -> Result<String, String> {
        let container = self.one(service).map_err(|failure| failure.reason().to_owned())?;
        self.engine.log_since(&container.id, &container.started_at)
    }

    /// Whether the engine's restart policy started it again. A container that the engine itself killed is `exited` and stays so.
    fn came_back_by_itself(&self, container: &Container) -> bool {
        match container.status.as_str() {
            "running" => true,
            "restarting" => self.await_within(&container.id, POLICY_LIMIT, Container::is_running),
            _ => false,
        }
    }
}

fn is_apart(container: &Container, how: TakeDown) -> bool {
    match how {
        TakeDown::Pause => container.status == "paused",
        _ => container.networks.is_empty(),
    }
}

fn kill_on_host(pid: u32, signal: phase::Signal) -> Result<(), String> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or("the container has no process")?;
    let signal = match signal {
        phase::Signal::SigKill => Signal::KILL,
        phase::Signal::SigTerm => Signal::TERM,
        phase::Signal::SigAbrt => Signal::ABORT,
        phase::Signal::SigInt => Signal::INT,
        phase::Signal::SigQuit => Signal::QUIT,
        phase::Signal::SigHup => Signal::HUP,
    };
    kill_process(pid, signal).map_err(|error| format!("the signal could not be sent by host pid: {error}"))
}
