//! What each call does.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use super::{RealWorldConfig, live, loads::Loads, pool::Pool, publish::Courier, target::Subject};
use crate::{
    ends::{Ends, NumberQuery},
    load::retained::{self, Retained},
    plan::checked::CellPlan,
    run::{
        emit::Emit,
        world::{Answer, Call, Failure, Request},
    },
    store::Store,
    target::{
        command::{self, Output},
        folder::RunFolder,
        launcher::Launcher,
        services::Services,
    },
    watch::{self, Surroundings, usage::float},
    web::Web,
};

/// How long a statement of a phase may take: a year of rows is counted in minutes.
const STATEMENT_LIMIT: Duration = Duration::from_mins(10);

/// Everything that calls act with.
pub(super) struct Hands {
    config: RealWorldConfig,
    emit: Emit,
    folder: RunFolder,
    launcher: Arc<Launcher>,
    target: Subject,
    plan: RwLock<Option<Arc<InUse>>>,
    loads: Loads,
    courier: Courier,
    watches: Mutex<HashMap<String, watch::Running>>,
}

/// A plan and the ends that were opened for it.
struct InUse {
    ends: Ends,
    stores: Pool<Store>,
    queries: Pool<NumberQuery>,
    webs: Mutex<HashMap<String, Arc<Web>>>,
}

impl Hands {
    pub(super) fn new(config: RealWorldConfig, folder: RunFolder, launcher: Arc<Launcher>, emit: Emit) -> Self {
        let services = Arc::new(Services::new(Arc::clone(&launcher), folder.clone(), emit.clone()));
        let target = Subject::new(services, config.plan_folder.clone(), config.host_cpus, emit.clone());
        let loads = Loads::new(emit.clone(), config.clock, Arc::clone(&launcher), folder.clone());
        Self {
            loads,
            courier: Courier::default(),
            config,
            emit,
            folder,
            launcher,
            target,
            plan: RwLock::default(),
            watches: Mutex::default(),
        }
    }

    fn use_plan(&self, plan: CellPlan) {
        self.target.use_plan(&plan);
        let ends = Ends::new(Arc::new(plan), self.config.plan_folder.clone());
        let in_use = InUse { ends, stores: Pool::default(), queries: Pool::default(), webs: Mutex::default() };
        *self.plan.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(in_use));
    }

    fn plan(&self) -> Result<Arc<InUse>, String> {
        let plan = self.plan.read().unwrap_or_else(PoisonError::into_inner);
        plan.clone().ok_or_else(|| "no plan is in use".to_owned())
    }

    /// Does what a call asks for.
    pub(super) fn answer(&self, call: Call) -> Result<Answer, Failure> {
        let answer = match call {
            Call::StartTarget { fresh } => return self.start_target(fresh),
            Call::TakeDown { service, how } => {
                self.close_idle();
                return self.target.take_down(&service, how);
            }
            Call::BringBack { service, within } => return self.target.bring_back(&service, within),
            Call::Log { service } => self.target.log(&service).map(Answer::Text),
            Call::Retained { connection, topics, wanted, within } => {
                self.retained(&connection, &topics, wanted, within)
            }
            Call::CompareOthers => return self.target.compare_others(),
            Call::UsePlan(plan) => {
                self.use_plan(*plan);
                Ok(Answer::Done)
            }
            Call::StopTarget => {
                self.stop_target();
                Ok(Answer::Done)
            }
            Call::StartLoad(name) => self.plan().and_then(|plan| self.loads.start(&name, &plan.ends)).map(done),
            Call::StopLoad(name) => self.loads.stop(&name).map(done),
            Call::CutSlices => {
                self.loads.cut();
                Ok(Answer::Done)
            }
            Call::StartWatch(name) => self.start_watch(&name).map(done),
            Call::StopWatch(name) => self.stop_watch(&name).map(done),
            Call::CanaryUnseen(name) => self.canary_unseen(&name),
            Call::QuietCanary(name) => self.quiet_canary(&name).map(done),
            Call::Query(name) => self.query(&name),
            Call::Rows { connection, statement } => self.rows(&connection, &statement),
            Call::Execute { connection, statement } => self.execute(&connection, &statement),
            Call::Request(request) => self.request(&request),
            Call::Command { command, within } => self.command(&command, within),
            Call::Publish { connection, messages } => self.publish(&connection, &messages),
            Call::Preflight { load, topic } => self.preflight(&load, &topic),
            Call::SampleLive => self.sample_live(),
        };
        answer.map_err(Failure::Failed)
    }

    fn retained(
        &self,
        connection: &str,
        topics: &str,
        wanted: Option<u64>,
        within: Duration,
    ) -> Result<Answer, String> {
        let plan = self.plan()?;
        let mqtt = plan.ends.mqtt(connection)?;
        let ca_pem = plan.ends.ca_pem(mqtt)?;
        let Retained { messages, at } = retained::count(mqtt, ca_pem.as_deref(), topics, wanted, within)?;
        Ok(Answer::Retained { messages, at: at.saturating_duration_since(self.config.clock.start).as_secs_f64() })
    }

    fn start_target(&self, fresh: bool) -> Result<Answer, Failure> {
        if fresh {
            self.close_idle();
        }
        self.target.start(fresh)
    }

    fn stop_target(&self) {
        self.close_idle();
        self.target.stop();
    }

    fn query(&self, name: &str) -> Result<Answer, String> {
        let plan = self.plan()?;
        plan.queries.using(name, |name| plan.ends.query(name, STATEMENT_LIMIT), NumberQuery::read).map(Answer::Number)
    }

    fn rows(&self, connection: &str, statement: &str) -> Result<Answer, String> {
        let plan = self.plan()?;
        let open = |name: &str| plan.ends.store(name, STATEMENT_LIMIT);
        let rows = plan.stores.using(connection, open, |store| store.rows(statement))?;
        Ok(Answer::Rows { rows: rows.rows, seconds: rows.seconds })
    }

    fn execute(&self, connection: &str, statement: &str) -> Result<Answer, String> {
        let plan = self.plan()?;
        let open = |name: &str| plan.ends.store(name, STATEMENT_LIMIT);
        plan.stores.using(connection, open, |store| store.execute(statement)).map(done)
    }

    fn request(&self, request: &Request) -> Result<Answer, String> {
        let web = self.plan()?.web(&request.connection)?;
        let fetched = web.request(request.method, &request.path, request.body.as_ref())?;
        Ok(Answer::Response { status: fetched.status, body: fetched.body, seconds: fetched.seconds })
    }

    fn command(&self, command: &[String], within: Duration) -> Result<Answer, String> {
        let Output { status, stdout, stderr, seconds } =
            command::run(&self.launcher, command, &self.config.plan_folder, within)?;
        Ok(Answer::Output { status, stdout, stderr, seconds })
    }

    fn sample_live(&self) -> Result<Answer, String> {
        let plan = self.plan()?;
        let url = plan.ends.plan().live_safety.as_ref().and_then(|safety| safety.url.as_deref());
        let url = url.filter(|_| self.config.live_check);
        live::look(url, self.folder.path()).map(Answer::Live)
    }

    fn watches(&self) -> MutexGuard<'_, HashMap<String, watch::Running>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_watch(&self, name: &str) -> Result<(), String> {
        let plan = self.plan()?;
        let watch = plan.ends.plan().watches.get(name).ok_or_else(|| format!("the plan has no watch `{name}`"))?;
        let around = Surroundings {
            emit: self.emit.clone(),
            clock: self.config.clock,
            ends: plan.ends.clone(),
            services: Arc::clone(self.target.services()),
            project: self.target.project().map_err(|failure| failure.reason().to_owned())?,
            launcher: Arc::clone(&self.launcher),
            folder: self.folder.path().to_owned(),
        };
        let mut watches = self.watches();
        if watches.contains_key(name) {
            return Err(format!("watch `{name}` runs already"));
        }
        watches.insert(name.to_owned(), watch::start(name, watch, &around)?);
        Ok(())
    }

    fn stop_watch(&self, name: &str) -> Result<(), String> {
        let watch = self.watches().remove(name).ok_or_else(|| format!("watch `{name}` does not run"))?;
        watch.stop();
        Ok(())
    }

    fn quiet_canary(&self, name: &str) -> Result<(), String> {
        let watches = self.watches();
        let watch = watches.get(name).ok_or_else(|| format!("canary `{name}` does not run"))?;
        watch.quiet();
        Ok(())
    }

    fn canary_unseen(&self, name: &str) -> Result<Answer, String> {
        let watches = self.watches();
        let watch = watches.get(name).ok_or_else(|| format!("canary `{name}` does not run"))?;
        let unseen = watch.unseen().ok_or_else(|| format!("watch `{name}` is no canary"))?;
        Ok(Answer::Number(float(unseen)))
    }

    fn publish(&self, connection: &str, messages: &[String]) -> Result<Answer, String> {
        let sent = self.courier.publish(&self.plan()?.ends, connection, messages, self.config.clock)?;
        Ok(Answer::Published { messages: sent.messages, acked: sent.acked, seconds: sent.seconds })
    }

    fn preflight(&self, load: &str, topic: &str) -> Result<Answer, String> {
        self.courier.preflight(&self.plan()?.ends, load, topic, self.config.clock).map(done)
    }

    /// Closes connections that nobody uses, so that a server which waits for its clients can end.
    fn close_idle(&self) {
        if let Ok(plan) = self.plan() {
            plan.stores.clear();
            plan.queries.clear();
        }
    }

    /// Ends everything that was started.
    pub(super) fn let_go(&self) {
        self.courier.let_go();
        self.loads.let_go();
        let watches: Vec<_> = self.watches().drain().map(|(_, watch)| watch).collect();
        watches.into_iter().for_each(watch::Running::stop);
        self.stop_target();
        self.launcher.kill_all();
    }
}

/// The answer of what gives none.
fn done((): ()) -> Answer {
    Answer::Done
}

impl InUse {
    fn web(&self, name: &str) -> Result<Arc<Web>, String> {
        let mut webs = self.webs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(web) = webs.get(name) {
            return Ok(Arc::clone(web));
        }
        let web = Arc::new(self.ends.web(name)?);
        webs.insert(name.to_owned(), Arc::clone(&web));
        Ok(web)
    }
}
