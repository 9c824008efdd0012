//! Watches: what is sampled on a period. A reading that fails leaves a gap with its reason, never a zero.

mod canary;
mod containers;
mod exec;
mod exposition;
mod fates;
pub mod host;
mod http_json;
mod mqtt_sys;
mod process;
mod prometheus;
mod sampler;
mod sql;
pub(crate) mod usage;

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::{
    ends::Ends,
    load::RunClock,
    plan::{checked::CheckedWatch, watch::Watch},
    run::emit::Emit,
    target::{compose::Project, launcher::Launcher, services::Services},
};
use canary::Singing;
use sampler::{Reader, Sampler};

/// How long a statement of a watch may take.
const STATEMENT_LIMIT: Duration = Duration::from_secs(10);

/// What watches read from and write to.
#[derive(Clone)]
pub struct Surroundings {
    /// Where samples go.
    pub emit: Emit,
    /// The clock of the run.
    pub clock: RunClock,
    /// The plan's ends.
    pub ends: Ends,
    /// The target's processes.
    pub services: Arc<Services>,
    /// The target's containers, if it has some.
    pub project: Option<Arc<Project>>,
    /// The starter of child processes.
    pub launcher: Arc<Launcher>,
    /// The target's working folder.
    pub folder: PathBuf,
}

/// A watch that runs until it is stopped.
pub enum Running {
    /// A watch whose samples are series.
    Series(Sampler),
    /// A canary.
    Canary(Singing),
}

impl Running {
    /// Ends the watch; no entry of it comes after this returns.
    pub fn stop(self) {
        match self {
            Self::Series(sampler) => sampler.stop(),
            Self::Canary(canary) => canary.stop(),
        }
    }

    /// Ends a canary's publishing, not its looking; other watches are left alone.
    pub fn quiet(&self) {
        if let Self::Canary(canary) = self {
            canary.quiet();
        }
    }

    /// A canary's readings whose fate is not known yet; none for other watches.
    #[must_use]
    pub fn unseen(&self) -> Option<u64> {
        match self {
            Self::Series(_) => None,
            Self::Canary(canary) => Some(canary.unseen()),
        }
    }
}

/// Starts a watch.
///
/// # Errors
/// When an end that it reads from is not in the plan or cannot be used at all; an end that is down is a gap, not an error.
pub fn start(name: &str, plan: &CheckedWatch, around: &Surroundings) -> Result<Running, String> {
    let reader: Box<dyn Reader> = match &plan.watch {
        Watch::Process(watch) => Box::new(process::ProcessReader::new(watch, Arc::clone(&around.services))),
        Watch::Containers(watch) => {
            let project = around.project.as_ref().ok_or("the target has no containers")?;
            let services = around.ends.plan().target.services();
            let engine = Arc::clone(project.engine());
            Box::new(containers::ContainersReader::new(watch, &services, project.name(), engine))
        }
        Watch::Host(watch) => Box::new(host::HostReader::new(watch, &around.folder, around.ends.plan_folder())),
        Watch::Sql(watch) => Box::new(sql::SqlReader::new(watch, &around.ends)?),
        Watch::HttpJson(watch) => Box::new(http_json::HttpJsonReader::new(watch, &around.ends)?),
        Watch::Prometheus(watch) => Box::new(prometheus::PrometheusReader::new(watch, &around.ends)?),
        Watch::Exec(watch) => Box::new(exec::ExecReader::new(watch, plan.every, around)?),
        Watch::MqttSys(watch) => Box::new(mqtt_sys::MqttSysReader::new(name, watch, &around.ends)?),
        Watch::Canary(canary) => {
            return Singing::start(name, plan.every.0, canary, around).map(Running::Canary);
        }
    };
    Ok(Running::Series(Sampler::start(name, plan.every.0, reader, around.emit.clone())))
}
