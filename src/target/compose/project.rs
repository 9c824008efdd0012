//! A Compose project in the course of a run: looked at, started, followed, compared with its neighbours, and removed.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{Examined, Neighbours, Refused, Stack, in_force, whole::left_by_an_outage};
use crate::{
    engine::{About, Container, Engine, Executed, Followed, Happened, Others},
    record::entry::{Entry, EventKind, NeighboursCompared, TargetInForce},
    run::{emit::Emit, world::Failure},
    target::ports,
};

/// How long a container may take to end after its stop signal.
pub(super) const STOP_LIMIT: Duration = Duration::from_secs(10);
/// How many lines of a container's log are told when it did not become ready.
const LAST_LINES: usize = 15;

/// What is known of the project while it runs.
#[derive(Default)]
pub(super) struct State {
    /// What else was on the engine before the target was started.
    before: Option<Others>,
    /// Whether this run started the containers, and so removes them.
    started_here: bool,
    overrides: Option<String>,
    followed: Option<Followed>,
    /// Networks that containers were cut off, by service.
    pub(super) cut_off: HashMap<String, Vec<(String, Vec<String>)>>,
}

/// What happens to containers, told apart by whether scaler caused it.
#[derive(Default)]
pub(super) struct Doings {
    /// The whole project is being started or removed.
    whole: bool,
    /// Services that scaler took down.
    pub(super) down: HashSet<String>,
    /// How the last process of a service ended.
    pub(super) ended: HashMap<String, String>,
}

/// A Compose project that a run uses.
pub struct Project {
    pub(super) stack: Stack,
    pub(super) engine: Arc<Engine>,
    pub(super) emit: Emit,
    host_cpus: u64,
    pub(super) state: Mutex<State>,
    pub(super) doings: Arc<Mutex<Doings>>,
    one_at_a_time: Mutex<()>,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Project {
    /// Connects to the engine; nothing is started.
    ///
    /// # Errors
    /// When no engine answers.
    pub fn new(stack: Stack, host_cpus: u64, emit: Emit) -> Result<Self, Refused> {
        let engine = Arc::new(Engine::connect().map_err(Refused)?);
        Ok(Self {
            stack,
            engine,
            emit,
            host_cpus,
            state: Mutex::default(),
            doings: Arc::default(),
            one_at_a_time: Mutex::default(),
        })
    }

    /// The project's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.stack.plan.project
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The project's containers.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub fn containers(&self) -> Result<Vec<Container>, String> {
        self.engine.containers(Some(self.name()))
    }

    /// Runs a command inside the container of a service.
    ///
    /// # Errors
    /// When the service has no container that runs, or the command does not end in time.
    pub fn exec(&self, service: &str, command: &[String], within: Duration) -> Result<Executed, String> {
        let containers = self.containers()?;
        let container = containers.iter().find(|container| container.service == service);
        let container = container.ok_or_else(|| format!("the target has no container of the service `{service}`"))?;
        if !container.is_running() {
            return Err(format!("the container of {service} is {}", container.status));
        }
        self.engine.exec(&container.id, command, within)
    }

    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        locked(&self.one_at_a_time)
    }

    /// Asks the guard.
    ///
    /// # Errors
    /// Every reason to refuse the target.
    pub fn examine(&self) -> Result<Examined, Refused> {
        let containers = self.containers().map_err(Refused)?;
        let mut project_folders: Vec<_> = containers.into_iter().map(|container| container.folder).collect();
        project_folders.dedup();
        self.stack.examine(self.host_cpus, &Neighbours { project_folders })
    }

    /// Starts the project, or uses it as it is when all of it is ready already; `fresh` removes it with its volumes first.
    ///
    /// # Errors
    /// Refused by the guard, when something else holds a port, or when a container does not become ready.
    pub fn start(&self, fresh: bool) -> Result<(), Failure> {
        let refused = |Refused(why)| Failure::Refused(why);
        let _turn = self.turn();
        let examined = self.examine().map_err(refused)?;
        self.remember_others().map_err(Failure::Refused)?;
        self.follow();
        let mut containers = self.containers().map_err(Failure::Refused)?;
        if fresh && !containers.is_empty() {
            self.remove(true).map_err(refused)?;
            containers.clear();
        }
        let left = left_by_an_outage(&containers, &examined.config);
        if !left.is_empty() {
            let remedy = "an outage of a run that was killed is not over; `scaler plan down` removes the containers";
            return Err(Failure::Refused(format!("{}: {remedy}", left.join(", "))));
        }
        let services = examined.config["services"].as_object().map_or(0, serde_json::Map::len);
        if containers.len() >= services && containers.iter().all(Container::is_ready) {
            locked(&self.state).overrides = Some(examined.overridden.text.clone());
        } else {
            self.up(&examined, &containers, &|_| {}).map_err(refused)?;
        }
        // What was there before, whole or in part, is not this run's to remove, nor are its volumes.
        let ours = locked(&self.state).started_here || containers.is_empty();
        locked(&self.state).started_here = ours;
        if !ours {
            self.emit.event(EventKind::Note, "target", "it was up already, and is left up at the end");
        }
        self.tell(&examined).map_err(Failure::Failed)
    }

    /// Builds what is missing, starts everything and waits until it is healthy. `progress` gets each line of Compose.
    ///
    /// # Errors
    /// When something else holds a port, or a container does not become ready: its last words are in the reason.
    pub fn up(&self, examined: &Examined, present: &[Container], progress: &dyn Fn(&str)) -> Result<(), Refused> {
        let runs = |service: &str| present.iter().any(|there| there.service == service && there.is_running());
        for port in examined.guarded.ports.iter().filter(|port| !runs(&port.service) && port.protocol == "tcp") {
            for number in port.first..=port.last {
                ports::require_free(number).map_err(|why| Refused(format!("services.{}: {why}", port.service)))?;
            }
        }
        let overrides = examined.overridden.text.as_str();
        locked(&self.state).overrides = Some(overrides.to_owned());
        let limit = self.stack.plan.ready_within.0.as_secs().max(1).to_string();
        locked(&self.doings).whole = true;
        let arguments = ["up", "--detach", "--wait", "--wait-timeout", &limit, "--no-color", "--remove-orphans"];
        let outcome = self.stack.stream_compose(&arguments, Some(overrides), progress);
        locked(&self.doings).whole = false;
        outcome.map_err(|Refused(why)| {
            let told = Refused(format!("the target did not start: {why}{}", self.last_words()));
            // What was started for nothing is removed; its volumes too, as nothing was measured on them.
            if present.is_empty() {
                let _ = self.remove(true);
            }
            told
        })
    }

    /// The logs of what is not ready.
    fn last_words(&self) -> String {
        let containers = match self.containers() {
            Ok(containers) => containers,
            Err(why) => return format!("\nits last words are unknown: {why}"),
        };
        let failed = containers.iter().filter(|container| !container.is_ready());
        let words = failed.map(|container| {
            let log = self.engine.last_lines(&container.id, LAST_LINES).unwrap_or_default();
            let Container { service, status, health, exit_code, .. } = container;
            format!("\n{service} is {status} {health} (exit code {exit_code}), and said last:\n{log}")
        });
        words.collect::<Vec<_>>().concat()
    }

    /// Removes what this run started.
    pub fn stop(&self) {
        let _turn = self.turn();
        if std::mem::take(&mut locked(&self.state).started_here)
            && let Err(Refused(why)) = self.remove(true)
        {
            self.emit.event(EventKind::Note, "target", format!("it could not be removed: {why}"));
        }
        locked(&self.state).followed = None;
    }

    /// Removes the project's containers and networks, and its volumes if they are wanted gone.
    ///
    /// # Errors
    /// When Compose fails.
    pub fn remove(&self, volumes: bool) -> Result<(), Refused> {
        let seconds = STOP_LIMIT.as_secs().to_string();
        let mut arguments = vec!["down", "--remove-orphans", "--timeout", &seconds];
        arguments.extend(volumes.then_some("--volumes"));
        let overrides = locked(&self.state).overrides.clone();
        locked(&self.doings).whole = true;
        let outcome = self.stack.stream_compose(&arguments, overrides.as_deref(), &|_| {});
        locked(&self.doings).whole = false;
        outcome
    }

    /// What is in force, for the result. An error when the engine does not tell: a result without a container would say that there was none.
    fn tell(&self, examined: &Examined) -> Result<(), String> {
        let containers = self.containers()?;
        for Container { name, pid, service, .. } in &containers {
            self.emit.event(EventKind::Started, service, format!("container {name}, process {pid}"));
        }
        let about = self.engine.about().unwrap_or_else(|why| About {
            version: format!("unknown: {why}"),
            cgroup: "unknown".to_owned(),
            root: String::new(),
        });
        let in_force = in_force::in_force(examined, &containers, about, locked(&self.state).started_here);
        self.emit.entry(Entry::Target(TargetInForce { at: self.emit.now(), ..in_force }));
        Ok(())
    }

    fn remember_others(&self) -> Result<(), String> {
        if locked(&self.state).before.is_none() {
            let others = self.engine.others(self.name())?;
            locked(&self.state).before = Some(others);
        }
        Ok(())
    }

    /// Compares what else is on the engine with what was there before the target was started, and tells what differs.
    ///
    /// # Errors
    /// When the engine does not answer, or the target was never started.
    pub fn compare_others(&self) -> Result<(), String> {
        let before = locked(&self.state).before.clone().ok_or("the target was never started")?;
        let after = self.engine.others(self.name())?;
        let changed = before.changes(&after);
        for (thing, how) in &changed {
            self.emit.event(EventKind::OtherChanged, thing, how);
        }
        let detail = format!("{} things of others, {} changed", before.len(), changed.len());
        self.emit.event(EventKind::OthersCompared, "engine", detail);
        self.emit.entry(Entry::Neighbours(NeighboursCompared {
            at: self.emit.now(),
            things: before.len() as u64,
            sha256_before: before.sha256(),
            sha256_after: after.sha256(),
            changed,
        }));
        Ok(())
    }

    /// Follows the engine's events from the first start on.
    fn follow(&self) {
        let mut state = locked(&self.state);
        if state.followed.is_some() {
            return;
        }
        let (emit, doings) = (self.emit.clone(), Arc::clone(&self.doings));
        state.followed = Some(self.engine.follow(self.name(), move |happened| {
            let mut doings = locked(&doings);
            let ours = |doings: &Doings, service: &String| doings.whole || doings.down.contains(service);
            match happened {
                Happened::OutOfMemory { service } => {
                    emit.event(EventKind::OutOfMemory, &service, "a process of the container was killed by the kernel");
                }
                Happened::Died { service, code } => {
                    doings.ended.insert(service.clone(), format!("exit {code}"));
                    if !ours(&doings, &service) {
                        emit.event(EventKind::UnexpectedExit, &service, format!("exit {code}"));
                    }
                }
                Happened::Started { service } if !ours(&doings, &service) => {
                    emit.event(EventKind::Restarted, &service, "by its restart policy, or by somebody else");
                }
                Happened::Started { .. } => {}
                Happened::Lost { why } => emit.event(EventKind::EngineLost, "engine", why),
            }
        }));
    }
}
