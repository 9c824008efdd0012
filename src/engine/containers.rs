//! Containers of a project: as they are, and what can be done to them.

use std::{collections::HashMap, path::PathBuf};

use bollard::{
    errors::Error,
    models::{ContainerInspectResponse, HealthStatusEnum, NetworkConnectRequest, NetworkDisconnectRequest},
    query_parameters::{
        KillContainerOptionsBuilder, ListContainersOptionsBuilder, LogsOptions, LogsOptionsBuilder,
        StopContainerOptionsBuilder,
    },
};
use futures_util::{StreamExt, future::join_all};
use jiff::Timestamp;

use super::{Engine, FOLDER_LABEL, PROJECT_LABEL, SERVICE_LABEL};

/// The most that is read of a log, in bytes.
const LOG_LIMIT: usize = 1 << 20;

/// One container as the engine sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// Its identifier.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The project that it belongs to; empty when it was not started by Compose.
    pub project: String,
    /// Its service in the project.
    pub service: String,
    /// The folder that its project was started from.
    pub folder: PathBuf,
    /// The identifier of its image.
    pub image: String,
    /// `running`, `exited`, `paused`, ….
    pub status: String,
    /// `healthy`, `starting`, `unhealthy`; empty when nothing checks its health.
    pub health: String,
    /// Its first process on the host; 0 when it does not run.
    pub pid: u32,
    /// When it was last started.
    pub started_at: String,
    /// How it last ended.
    pub exit_code: i64,
    /// How often the restart policy started it again.
    pub restarts: u64,
    /// Networks by name, with its names in each.
    pub networks: Vec<(String, Vec<String>)>,
    /// Volumes by name.
    pub volumes: Vec<String>,
    /// The cap on its CPUs, in billionths of one.
    pub nano_cpus: Option<u64>,
    /// The cap on its memory.
    pub memory_bytes: Option<u64>,
    /// The CPUs that it is confined to.
    pub cpuset: Option<String>,
}

impl Container {
    /// Whether its process runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.status == "running"
    }

    /// Whether it runs and its health check, if it has one, is content.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_running() && matches!(self.health.as_str(), "" | "healthy")
    }

    /// When it was last started, in seconds before now; none when it never was.
    #[must_use]
    pub fn started_s_ago(&self) -> Option<f64> {
        let started: Timestamp = self.started_at.parse().ok()?;
        Some(Timestamp::now().duration_since(started).as_secs_f64().max(0.0))
    }
}

impl Engine {
    /// All containers, or those of one project, stopped ones included, by name.
    ///
    /// # Errors
    /// When the engine does not answer, or cannot tell of one of them: a list with a hole would look as if that one were gone.
    pub fn containers(&self, project: Option<&str>) -> Result<Vec<Container>, String> {
        let filters = project.map(|project| HashMap::from([("label", vec![format!("{PROJECT_LABEL}={project}")])]));
        let mut options = ListContainersOptionsBuilder::new().all(true);
        if let Some(filters) = &filters {
            options = options.filters(filters);
        }
        let listed = self.wait(self.docker.list_containers(Some(options.build())))?;
        let ids: Vec<String> = listed.into_iter().filter_map(|summary| summary.id).collect();
        // All at once: one after the other takes a busy engine seconds, in which a watch would be silent.
        let inspected = self.runtime.block_on(join_all(ids.iter().map(|id| self.docker.inspect_container(id, None))));
        let inspected = ids.iter().map(String::as_str).zip(inspected);
        let mut containers: Vec<Container> = still_there(inspected)?.into_iter().map(container).collect();
        containers.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(containers)
    }

    /// One container.
    ///
    /// # Errors
    /// When it is not there.
    pub fn container(&self, id: &str) -> Result<Container, String> {
        self.wait(self.docker.inspect_container(id, None)).map(container)
    }

    /// Sends a signal to its first process. The engine then counts it as stopped by hand: no restart policy brings it back.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill(&self, id: &str, signal: &str) -> Result<(), String> {
        let options = KillContainerOptionsBuilder::new().signal(signal).build();
        self.wait(self.docker.kill_container(id, Some(options)))
    }

    /// Stops it in its own way: its stop signal, then SIGKILL after this many seconds.
    ///
    /// # Errors
    /// When it is not there.
    pub fn stop(&self, id: &str, seconds: i32) -> Result<(), String> {
        let options = StopContainerOptionsBuilder::new().t(seconds).build();
        self.wait(self.docker.stop_container(id, Some(options)))
    }

    /// Starts it; one that runs is left alone.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(&self, id: &str) -> Result<(), String> {
        self.wait(self.docker.start_container(id, None))
    }

    /// Freezes all its processes.
    ///
    /// # Errors
    /// When it does not run.
    pub fn pause(&self, id: &str) -> Result<(), String> {
        self.wait(self.docker.pause_container(id))
    }

    /// Thaws all its processes.
    ///
    /// # Errors
    /// When it is not frozen.
    pub fn unpause(&self, id: &str) -> Result<(), String> {
        self.wait(self.docker.unpause_container(id))
    }

    /// Takes it off a network.
    ///
    /// # Errors
    /// When it is not on it.
    pub fn disconnect(&self, id: &str, network: &str) -> Result<(), String> {
        let request = NetworkDisconnectRequest { container: id.to_owned(), force: Some(true) };
        self.wait(self.docker.disconnect_network(network, request))
    }

    /// Puts it on a network under these names.
    ///
    /// # Errors
    /// When the network is not there.
    pub fn connect_to(&self, id: &str, network: &str, aliases: &[String]) -> Result<(), String> {
        let endpoint = bollard::models::EndpointSettings { aliases: Some(aliases.to_vec()), ..Default::default() };
        let request = NetworkConnectRequest { container: id.to_owned(), endpoint_config: Some(endpoint) };
        self.wait(self.docker.connect_network(network, request))
    }

    /// The last lines that it wrote.
    ///
    /// # Errors
    /// When the engine keeps no log of it.
    pub fn last_lines(&self, id: &str, lines: usize) -> Result<String, String> {
        self.log(id, LogsOptionsBuilder::new().stdout(true).stderr(true).tail(&lines.to_string()).build())
    }

    /// What it wrote since a moment, as the engine writes moments; at most the first mebibyte of it. The engine knows moments to a second
    /// here, so lines of that second may belong to what was before.
    ///
    /// # Errors
    /// When the engine keeps no log of it, or the moment is none.
    pub fn log_since(&self, id: &str, moment: &str) -> Result<String, String> {
        let since: Timestamp = moment.parse().map_err(|error| format!("{moment:?} is no moment: {error}"))?;
        let second = i32::try_from(since.as_second()).map_err(|error| format!("{moment}: {error}"))?;
        self.log(id, LogsOptionsBuilder::new().stdout(true).stderr(true).since(second).build())
    }

    fn log(&self, id: &str, options: LogsOptions) -> Result<String, String> {
        let mut stream = self.docker.logs(id, Some(options));
        self.wait(async {
            let mut text = String::new();
            while let Some(output) = stream.next().await.filter(|_| text.len() < LOG_LIMIT) {
                text.push_str(&output?.to_string());
            }
            Ok(text)
        })
    }
}

/// What is left of a list: one that is gone since it was listed is not there any more, and any other failure leaves the list unknown.
fn still_there<'a, T>(inspected: impl Iterator<Item = (&'a str, Result<T, Error>)>) -> Result<Vec<T>, String> {
    let left = inspected.filter_map(|(id, answer)| match answer {
        Err(Error::DockerResponseServerError { status_code: 404, .. }) => None,
        answer => Some(answer.map_err(|error| format!("the engine does not tell of container {id}: {error}"))),
    });
    left.collect()
}

fn container(inspected: ContainerInspectResponse) -> Container {
    let state = inspected.state.unwrap_or_default();
    let labels = inspected.config.and_then(|config| config.labels).unwrap_or_default();
    let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
    let health = match state.health.and_then(|health| health.status) {
        None | Some(HealthStatusEnum::EMPTY | HealthStatusEnum::NONE) => String::new(),
        Some(status) => status.to_string(),
    };
    let networks = inspected.network_settings.and_then(|settings| settings.networks).unwrap_or_default();
    let mut networks: Vec<(String, Vec<String>)> =
        networks.into_iter().map(|(name, endpoint)| (name, endpoint.aliases.unwrap_or_default())).collect();
    networks.sort();
    let limits = inspected.host_config.unwrap_or_default();
    let volumes = inspected.mounts.unwrap_or_default().into_iter().filter_map(|mount| mount.name).collect();
    Container {
        id: inspected.id.unwrap_or_default(),
        name: inspected.name.unwrap_or_default().trim_start_matches('/').to_owned(),
        project: label(PROJECT_LABEL),
        service: label(SERVICE_LABEL),
        folder: PathBuf::from(label(FOLDER_LABEL)),
        image: inspected.image.unwrap_or_default(),
        status: state.status.map(|status| status.to_string()).unwrap_or_default(),
        health,
        pid: state.pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default(),
        started_at: state.started_at.unwrap_or_default(),
        exit_code: state.exit_code.unwrap_or_default(),
        restarts: inspected.restart_count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default(),
        networks,
        volumes,
        nano_cpus: cap(limits.nano_cpus),
        memory_bytes: cap(limits.memory),
        cpuset: limits.cpuset_cpus.filter(|cpuset| !cpuset.is_empty()),
    }
}

/// A cap of the engine; 0 stands for none.
fn cap(cap: Option<i64>) -> Option<u64> {
    cap.and_then(|cap| u64::try_from(cap).ok()).filter(|cap| *cap > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_container_that_is_not_found_is_gone() {
        let answered = |status_code| Error::DockerResponseServerError { status_code, message: "no".to_owned() };
        let gone = [("a", Ok(1)), ("b", Err(answered(404))), ("c", Ok(3))];
        assert_eq!(still_there(gone.into_iter()), Ok(vec![1, 3]));
        for failure in [answered(500), answered(409), Error::RequestTimeoutError] {
            let why = still_there([("a", Ok(1)), ("b", Err(failure))].into_iter()).unwrap_err();
            assert!(why.starts_with("the engine does not tell of container b: "), "{why}");
        }
    }
}
