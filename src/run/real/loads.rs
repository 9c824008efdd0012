//! The loads that run: the generator's, and commands.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, TryRecvError},
    },
    thread,
    time::Duration,
};

use indexmap::IndexMap;

use crate::{
    ends::Ends,
    load::{self, LoadEvent, RunClock},
    plan::load::{ExecLoad, Load},
    run::emit::Emit,
    target::{
        folder::RunFolder,
        launcher::Launcher,
        watched::{Purpose, Watched},
    },
};

/// How often the generator's entries are passed on.
const PUMP: Duration = Duration::from_millis(20);
/// How long a command may take to end after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// The loads that run, by name.
pub(super) struct Loads {
    emit: Emit,
    clock: RunClock,
    launcher: Arc<Launcher>,
    folder: RunFolder,
    running: Mutex<HashMap<String, Running>>,
}

enum Running {
    Mqtt(load::Running, Arc<Outlet>),
    Exec(Watched),
}

/// The way of a generator's entries into the journal, in their order.
struct Outlet {
    inbox: Mutex<Receiver<LoadEvent>>,
    emit: Emit,
}

impl Outlet {
    /// Passes on all that has come so far; false when nothing will come any more.
    fn pass_on(&self) -> bool {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match inbox.try_recv() {
                Ok(LoadEvent(entry)) => self.emit.entry(entry),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }
}

impl Loads {
    pub(super) fn new(emit: Emit, clock: RunClock, launcher: Arc<Launcher>, folder: RunFolder) -> Self {
        Self { emit, clock, launcher, folder, running: Mutex::default() }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a load of the plan.
    pub(super) fn start(&self, name: &str, ends: &Ends) -> Result<(), String> {
        let plan = ends.plan().loads.get(name).ok_or_else(|| format!("the plan has no load `{name}`"))?;
        let mut running = self.running();
        if running.contains_key(name) {
            return Err(format!("load `{name}` runs already"));
        }
        let load = match plan {
            Load::MqttPublish(_) => self.start_mqtt(name, ends)?,
            Load::Exec(exec) => self.start_exec(name, exec, ends)?,
        };
        running.insert(name.to_owned(), load);
        Ok(())
    }

    fn start_mqtt(&self, name: &str, ends: &Ends) -> Result<Running, String> {
        let spec = ends.mqtt_load(name)?;
        let (out, inbox) = mpsc::channel();
        let load = load::start(&spec, self.clock, out)?;
        let outlet = Arc::new(Outlet { inbox: Mutex::new(inbox), emit: self.emit.clone() });
        let pump = Arc::clone(&outlet);
        thread::spawn(move || {
            while pump.pass_on() {
                thread::sleep(PUMP);
            }
        });
        Ok(Running::Mqtt(load, outlet))
    }

    fn start_exec(&self, name: &str, plan: &ExecLoad, ends: &Ends) -> Result<Running, String> {
        let log = self.folder.log(&format!("load-{name}")).map_err(|error| error.to_string())?;
        let purpose = Purpose {
            name,
            command: &plan.command,
            cpuset: None,
            user: None,
            env: &IndexMap::new(),
            folder: ends.plan_folder(),
            log: &log,
        };
        let spawned = Watched::spawn(&self.launcher, &purpose, self.emit.clone());
        let watched = spawned.map_err(|error| format!("load {name} was not started: {error}"))?;
        watched.want();
        Ok(Running::Exec(watched))
    }

    /// Stops a load; all its entries are written when this returns.
    pub(super) fn stop(&self, name: &str) -> Result<(), String> {
        let load = self.running().remove(name).ok_or_else(|| format!("load `{name}` does not run"))?;
        match load {
            Running::Mqtt(load, outlet) => {
                let stopped = load.stop();
                outlet.pass_on();
                stopped.map_err(|why| format!("load {name}: {why}"))
            }
            Running::Exec(watched) => {
                watched.unwant();
                watched.child().stop(STOP_LIMIT);
                Ok(())
            }
        }
    }

    /// Ends the present slice of every load; the slices are written when this returns.
    pub(super) fn cut(&self) {
        for load in self.running().values() {
            if let Running::Mqtt(load, outlet) = load {
                load.cut();
                outlet.pass_on();
            }
        }
    }

    /// Ends every load at once.
    pub(super) fn let_go(&self) {
        for (_, load) in self.running().drain() {
            if let Running::Exec(watched) = &load {
                watched.unwant();
                watched.child().kill();
            }
        }
    }
}
