//! The processes of the target, from the first start to the last end.

use std::{
    fs, io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use indexmap::IndexMap;

use super::{
    child::{Child, describe},
    files,
    folder::RunFolder,
    launch::VERB,
    launcher::Launcher,
    order::starting_order,
    ports,
    ready::{Waited, wait_until_ready},
    user::User,
    watched::{Purpose, Watched},
};
use crate::{
    plan::target::{Processes, Service},
    record::entry::EventKind,
    run::{emit::Emit, world::Failure},
};

/// How long a port may still be held by a process that was just killed.
const PORT_RELEASE: Duration = Duration::from_secs(2);
/// How long a process without a sign of readiness may take to become its command.
const LAUNCH_LIMIT: Duration = Duration::from_secs(10);

/// What a watch sees of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The service's name.
    pub name: String,
    /// Its process, if it runs.
    pub pid: Option<u32>,
    /// How often it was started.
    pub starts: u64,
}

struct Slot {
    service: Service,
    running: Option<Watched>,
    starts: u64,
    /// Whether a step has ended well since the folder was emptied.
    done: bool,
}

/// The target's processes. Whatever takes time happens under no lock; operations on the whole target are taken one at a time.
pub struct Services {
    launcher: Arc<Launcher>,
    folder: RunFolder,
    emit: Emit,
    slots: Mutex<IndexMap<String, Slot>>,
    one_at_a_time: Mutex<()>,
    /// Counts the stops, so that a start that is under way gives up.
    stops: AtomicU64,
}

impl Services {
    /// No processes yet.
    #[must_use]
    pub fn new(launcher: Arc<Launcher>, folder: RunFolder, emit: Emit) -> Self {
        Self {
            launcher,
            folder,
            emit,
            slots: Mutex::default(),
            one_at_a_time: Mutex::default(),
            stops: AtomicU64::new(0),
        }
    }

    fn slots(&self) -> MutexGuard<'_, IndexMap<String, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses these commands for what is started from now on; processes that run are kept until they are stopped.
    pub fn use_plan(&self, processes: &Processes) {
        let mut slots = self.slots();
        let mut old = std::mem::take(&mut *slots);
        for (name, service) in &processes.services {
            let service = service.clone();
            let slot = match old.shift_remove(name) {
                Some(slot) => Slot { service, ..slot },
                None => Slot { service, running: None, starts: 0, done: false },
            };
            slots.insert(name.clone(), slot);
        }
        slots.extend(old.into_iter().filter(|(_, slot)| slot.running.is_some()));
    }

    /// The services as they are, without the steps.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        let seen = |(name, slot): (&String, &Slot)| {
            let alive = slot.running.as_ref().filter(|running| running.child().ended().is_none());
            Seen { name: name.clone(), pid: alive.map(|running| running.child().pid()), starts: slot.starts }
        };
        self.slots().iter().filter(|(_, slot)| slot.service.ends_within.is_none()).map(seen).collect()
    }

    /// What a process printed since it was last started, at most the first mebibyte of it.
    ///
    /// # Errors
    /// When it was never started, or its log cannot be read.
    pub fn log(&self, name: &str) -> Result<String, String> {
        let running = self.running(name).ok_or_else(|| format!("{name} was never started"))?;
        running.printed().map_err(|error| format!("the log of {name} cannot be read: {error}"))
    }

    /// Starts what does not run, in order; `fresh` stops everything and empties the folder first.
    ///
    /// # Errors
    /// Refused when a port is held, a process does not become ready or ends before.
    pub fn start(&self, fresh: bool) -> Result<(), Failure> {
        let stops = self.stops.load(Ordering::SeqCst);
        let _turn = self.turn();
        if fresh {
            self.stop_all();
            self.folder.empty().map_err(|error| Failure::Refused(format!("no fresh start: {error}")))?;
            self.slots().values_mut().for_each(|slot| slot.done = false);
        }
        let plan: IndexMap<String, Service> =
            self.slots().iter().map(|(name, slot)| (name.clone(), slot.service.clone())).collect();
        let mut order = starting_order(&plan).map_err(Failure::Refused)?;
        order.retain(|name| self.running(name).is_none_or(|running| running.child().ended().is_some()));
        // All of them before the first: a target that cannot be started whole is not started at all.
        for name in &order {
            self.await_ports(name, &plan[name])?;
        }
        for name in order {
            if let Some(within) = plan[&name].ends_within {
                self.step(&name, &plan[&name], within.0, stops)?;
                continue;
            }
            let (pid, took) = self.start_one(&name, &plan[&name], None, stops)?;
            self.emit.event(
                EventKind::Started,
                &name,
                format!("process {pid}, ready after {:.3} s", took.as_secs_f64()),
            );
        }
        Ok(())
    }

    /// Runs a step that has not been done in this folder.
    fn step(&self, name: &str, service: &Service, within: Duration, stops: u64) -> Result<(), Failure> {
        if self.slots().get(name).is_some_and(|slot| slot.done) {
            return Ok(());
        }
        let took = self.run_step(name, service, within, stops)?;
        if let Some(slot) = self.slots().get_mut(name) {
            slot.done = true;
        }
        self.emit.event(EventKind::Started, name, format!("a step, done after {:.3} s", took.as_secs_f64()));
        Ok(())
    }

    /// Stops everything in reverse order. A start that is under way gives up first.
    pub fn stop(&self) {
        self.stops.fetch_add(1, Ordering::SeqCst);
        let _turn = self.turn();
        self.stop_all();
    }

    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop_all(&self) {
        let plan: IndexMap<String, Service> =
            self.slots().iter().map(|(name, slot)| (name.clone(), slot.service.clone())).collect();
        let mut order = starting_order(&plan).unwrap_or_else(|_| plan.keys().cloned().collect());
        order.reverse();
        for name in order {
            let running = self.slots().get_mut(&name).and_then(|slot| slot.running.take());
            if let Some(running) = running {
                running.unwant();
                running.child().stop(plan[&name].stop_within.0);
            }
        }
    }

    pub(super) fn running(&self, name: &str) -> Option<Watched> {
        self.slots().get(name)?.running.clone()
    }

    pub(super) fn service(&self, name: &str) -> Result<Service, Failure> {
        let slots = self.slots();
        let slot = slots.get(name).ok_or_else(|| Failure::Failed(format!("the target has no process `{name}`")))?;
        Ok(slot.service.clone())
    }

    pub(super) fn emit(&self) -> &Emit {
        &self.emit
    }

    pub(super) fn stops_so_far(&self) -> u64 {
        self.stops.load(Ordering::SeqCst)
    }

    /// Starts one service and waits until it is ready; `within` replaces the plan's limit. Gives its identifier and how long it took.
    pub(super) fn start_one(
        &self,
        name: &str,
        service: &Service,
        within: Option<Duration>,
        stops: u64,
    ) -> Result<(u32, Duration), Failure> {
        let refused = |why: String| Failure::Refused(format!("{name} did not start: {why}"));
        self.await_ports(name, service)?;
        let begun = Instant::now();
        let running = self.spawn(name, service).map_err(|error| refused(error.to_string()))?;
        if let Some(slot) = self.slots().get_mut(name) {
            slot.running = Some(running.clone());
            slot.starts += 1;
        }
        let stopped = || self.stops.load(Ordering::SeqCst) != stops;
        let give_up = || running.child().ended().is_some() || stopped();
        let waited = match &service.ready {
            Some(ready) => wait_until_ready(ready, within.unwrap_or(ready.within.0), &give_up),
            None => wait_until_launched(running.child(), &give_up),
        };
        if waited == Waited::Ready {
            running.want();
        }
        // Looked at after `wanted` was set, so that an end is reported here or by the event, never by nobody.
        if let Some(status) = running.child().ended() {
            running.unwant();
            let log = running.last_words();
            return Err(refused(format!("it ended with {} before it was ready; {log}", describe(status))));
        }
        match waited {
            Waited::Ready => Ok((running.child().pid(), begun.elapsed())),
            Waited::GivenUp => Err(Failure::Failed(format!("the start of {name} was given up"))),
            Waited::TimedOut(why) => Err(refused(format!("not ready in time ({why}); {}", running.last_words()))),
        }
    }

    fn await_ports(&self, name: &str, service: &Service) -> Result<(), Failure> {
        let free = service.ports.iter().try_for_each(|port| self.await_port(*port));
        free.map_err(|why| Failure::Refused(format!("{name} did not start: {why}")))
    }

    fn await_port(&self, port: u16) -> Result<(), String> {
        let deadline = Instant::now() + PORT_RELEASE;
        loop {
            match ports::require_free(port) {
                // Only a port that one of our own processes just lost may be waited for; a stranger's is refused at once.
                Err(_) if self.anything_was_started() && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                answer => return answer,
            }
        }
    }

    fn anything_was_started(&self) -> bool {
        self.slots().values().any(|slot| slot.starts > 0)
    }

    pub(super) fn spawn(&self, name: &str, service: &Service) -> io::Result<Watched> {
        let folder = self.folder.service(name)?;
        let user = User::asked_for(service.user.as_deref())?;
        files::prepare(&folder, &service.files, user)?;
        let purpose = Purpose {
            name,
            command: &service.command,
            cpuset: service.cpuset.as_deref(),
            user,
            env: &service.env,
            folder: &folder,
            log: &self.folder.log(name)?,
        };
        Watched::spawn(&self.launcher, &purpose, self.emit.clone())
    }
}

/// Without a sign of readiness a process counts as ready once it is no longer the launcher but its command.
fn wait_until_launched(child: &Child, give_up: &dyn Fn() -> bool) -> Waited {
    let deadline = Instant::now() + LAUNCH_LIMIT;
    loop {
        if give_up() {
            return Waited::GivenUp;
        }
        let arguments = fs::read(format!("/proc/{}/cmdline", child.pid())).unwrap_or_default();
        let launcher = arguments.split(|byte| *byte == 0).nth(1) == Some(VERB.as_bytes());
        if !launcher && !arguments.is_empty() {
            return Waited::Ready;
        }
        if Instant::now() >= deadline {
            return Waited::TimedOut("the command was not run".to_owned());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
