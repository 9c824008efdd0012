//! The target of the plan in use: child processes, or containers.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use crate::{
    plan::{
        checked::CellPlan,
        target::{Compose, Target},
    },
    run::{
        emit::Emit,
        world::{Answer, Failure, TakeDown},
    },
    target::{
        compose::{Project, Refused, Stack},
        services::Services,
    },
};

/// Starts, takes down and stops the target, whatever it is made of.
pub(super) struct Subject {
    services: Arc<Services>,
    project: RwLock<Option<Result<Arc<Project>, String>>>,
    plan_folder: PathBuf,
    host_cpus: u64,
    emit: Emit,
}

impl Subject {
    pub(super) fn new(services: Arc<Services>, plan_folder: PathBuf, host_cpus: u64, emit: Emit) -> Self {
        Self { services, project: RwLock::default(), plan_folder, host_cpus, emit }
    }

    pub(super) fn use_plan(&self, plan: &CellPlan) {
        match &plan.target {
            Target::Processes(processes) => self.services.use_plan(processes),
            Target::Compose(compose) => self.use_project(compose, plan),
            Target::External(_) => {}
        }
    }

    /// The project is the same in all cells: what a run started, it must also find again.
    fn use_project(&self, compose: &Compose, plan: &CellPlan) {
        let mut project = self.project.write().unwrap_or_else(PoisonError::into_inner);
        if project.is_none() {
            let stack = Stack::resolve(compose, &plan.isolation, &self.plan_folder);
            let made = stack.and_then(|stack| Project::new(stack, self.host_cpus, self.emit.clone()));
            *project = Some(made.map(Arc::new).map_err(|Refused(why)| why));
        }
    }

    /// The child processes, if the target has some.
    pub(super) fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// The containers, if the target has some.
    pub(super) fn project(&self) -> Result<Option<Arc<Project>>, Failure> {
        let project = self.project.read().unwrap_or_else(PoisonError::into_inner);
        project.clone().transpose().map_err(Failure::Refused)
    }

    pub(super) fn start(&self, fresh: bool) -> Result<Answer, Failure> {
        match self.project()? {
            Some(project) => project.start(fresh)?,
            None => self.services.start(fresh)?,
        }
        Ok(Answer::Done)
    }

    pub(super) fn stop(&self) {
        match self.project() {
            Ok(Some(project)) => project.stop(),
            _ => self.services.stop(),
        }
    }

    pub(super) fn take_down(&self, service: &str, how: TakeDown) -> Result<Answer, Failure> {
        match self.project()? {
            Some(project) => project.take_down(service, how),
            None => self.services.take_down(service, how),
        }
    }

    pub(super) fn bring_back(&self, service: &str, within: Duration) -> Result<Answer, Failure> {
        match self.project()? {
            Some(project) => project.bring_back(service, within),
            None => self.services.bring_back(service, within),
        }
    }

    /// What a process printed since it was last started.
    pub(super) fn log(&self, service: &str) -> Result<String, String> {
        match self.project().map_err(|failure| failure.reason().to_owned())? {
            Some(project) => project.log(service),
            None => self.services.log(service),
        }
    }

    pub(super) fn compare_others(&self) -> Result<Answer, Failure> {
        if let Some(project) = self.project()? {
            project.compare_others().map_err(Failure::Failed)?;
        }
        Ok(Answer::Done)
    }
}
