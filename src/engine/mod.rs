//! The container engine, asked by its own protocol: what runs, what it uses, what happens to it. The protocol's version is
//! negotiated, so engines since 20.10 answer. Calls block; streams run on a thread of the engine's own.

mod containers;
mod events;
mod exec;
mod others;
mod owned;
mod stats;
mod usage;

use bollard::Docker;
use tokio::runtime::{Builder, Runtime};

pub use containers::Container;
pub use events::{Followed, Happened};
pub use exec::Executed;
pub use others::Others;
pub use owned::Owned;
pub use stats::Streams;
pub use usage::{Rates, Usage};

/// The label by which Compose marks what belongs to a project.
pub(crate) const PROJECT_LABEL: &str = "com.docker.compose.project";
/// The label with the name of a container's service.
pub(crate) const SERVICE_LABEL: &str = "com.docker.compose.service";
/// The label with the folder that a project was started from.
pub(crate) const FOLDER_LABEL: &str = "com.docker.compose.project.working_dir";

/// A connection to the engine.
pub struct Engine {
    docker: Docker,
    runtime: Runtime,
}

/// What the engine is, for the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its version.
    pub version: String,
    /// The version of cgroups: `1` or `2`.
    pub cgroup: String,
    /// Where it keeps images and volumes.
    pub root: String,
}

impl Engine {
    /// Connects to the engine of this machine, or to the one that `DOCKER_HOST` names.
    ///
    /// # Errors
    /// When no engine answers.
    pub fn connect() -> Result<Self, String> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("engine").enable_all().build();
        let runtime = runtime.map_err(|error| format!("no thread for the engine: {error}"))?;
        let connected = runtime.block_on(async { Docker::connect_with_defaults()?.negotiate_version().await });
        let docker = connected.map_err(|error| format!("no container engine answers: {error}; start Docker"))?;
        Ok(Self { docker, runtime })
    }

    /// Runs one request to its end.
    fn wait<T>(&self, request: impl Future<Output = Result<T, bollard::errors::Error>>) -> Result<T, String> {
        self.runtime.block_on(request).map_err(|error| error.to_string())
    }

    /// What the engine is.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn about(&self) -> Result<About, String> {
        let info = self.wait(self.docker.info())?;
        Ok(About {
            version: info.server_version.unwrap_or_default(),
            cgroup: info.cgroup_version.map_or_else(|| "1".to_owned(), |version| version.to_string()),
            root: info.docker_root_dir.unwrap_or_default(),
        })
    }
}
