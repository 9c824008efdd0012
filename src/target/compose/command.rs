//! Running `docker compose`: with an emptied environment, so that nothing of the caller's shell reaches the target.

use std::{
    fmt,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use super::{Stack, effective::SENSOR};

/// What of the caller's environment Compose may see: how to find itself and the engine.
const PASSED_ON: &[&str] = &["PATH", "HOME", "DOCKER_HOST", "DOCKER_CONFIG"];

/// Why the target cannot be used. Nothing was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// `docker` with nothing in its environment that could steer Compose.
fn docker(folder: &Path) -> Command {
    let mut command = Command::new("docker");
    command.current_dir(folder).env_clear();
    command.envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    // A config of another machine or registry is not in the checkout; Compose must not fetch it.
    command.env("COMPOSE_EXPERIMENTAL_GIT_REMOTE", "false").env("COMPOSE_EXPERIMENTAL_OCI_REMOTE", "false");
    command
}

/// Compose's version; refuses a machine without Compose v2. It is asked once.
pub(super) fn require_v2(folder: &Path) -> Result<String, Refused> {
    static FOUND: OnceLock<String> = OnceLock::new();
    match FOUND.get() {
        Some(version) => Ok(version.clone()),
        None => ask_version(folder).inspect(|version| _ = FOUND.set(version.clone())),
    }
}

fn ask_version(folder: &Path) -> Result<String, Refused> {
    let output = docker(folder).args(["compose", "version", "--short"]).output();
    let output = output.map_err(|error| Refused(format!("`docker` cannot be run: {error}; install Docker")))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().trim_start_matches('v').to_owned();
    match version.split('.').next().and_then(|major| major.parse::<u32>().ok()) {
        Some(2..) if output.status.success() => Ok(version),
        Some(_) => Err(Refused(format!(
            "Docker Compose {version} is too old: v1 cannot print its effective config as JSON, so nothing can be guarded; install v2"
        ))),
        None => Err(Refused(
            "`docker compose` is not there; install Docker Compose v2 (v1, `docker-compose`, cannot print its effective config as JSON)"
                .to_owned(),
        )),
    }
}

impl Stack {
    /// `docker compose` for this project, by its files, its env file and an override on standard input, if there is one.
    pub(super) fn compose(&self, arguments: &[&str], with_override: bool) -> Command {
        let mut command = docker(&self.folder);
        command.envs(&self.plan.variables);
        command.args(["compose", "--ansi", "never", "--progress", "plain"]);
        command.arg("--project-name").arg(&self.plan.project);
        command.arg("--project-directory").arg(&self.folder);
        command.arg("--env-file").arg(&self.env_file);
        for file in &self.files {
            command.arg("--file").arg(file);
        }
        if with_override {
            command.args(["--file", "-"]);
        }
        command.args(arguments);
        command.stdin(if with_override { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `docker compose` to its end.
    pub(super) fn run_compose(&self, arguments: &[&str], overrides: Option<&str>) -> Result<Output, Refused> {
        let failed = |error: std::io::Error| Refused(format!("`docker compose` cannot be run: {error}"));
        let mut child = self.compose(arguments, overrides.is_some()).spawn().map_err(failed)?;
        if let (Some(text), Some(mut stdin)) = (overrides, child.stdin.take()) {
            stdin.write_all(text.as_bytes()).map_err(failed)?;
        }
        child.wait_with_output().map_err(failed)
    }

    /// Runs `docker compose` to its end and hands on each line that it says.
    pub(super) fn stream_compose(
        &self,
        arguments: &[&str],
        overrides: Option<&str>,
        progress: &dyn Fn(&str),
    ) -> Result<(), Refused> {
        let failed = |error: std::io::Error| Refused(format!("`docker compose` cannot be run: {error}"));
        let mut child = self.compose(arguments, overrides.is_some()).stdout(Stdio::null()).spawn().map_err(failed)?;
        if let (Some(text), Some(mut stdin)) = (overrides, child.stdin.take()) {
            stdin.write_all(text.as_bytes()).map_err(failed)?;
        }
        let mut said = Vec::new();
        for line in
            child.stderr.take().into_iter().flat_map(|stderr| BufReader::new(stderr).lines()).map_while(Result::ok)
        {
            // The sensor is ours; the guard has looked at all other warnings.
            if !line.contains(SENSOR) {
                progress(line.trim());
            }
            said.push(line);
        }
        let status = child.wait().map_err(failed)?;
        if status.success() {
            return Ok(());
        }
        let last =
            said.iter().rev().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or("it gave no reason");
        Err(Refused(format!("`docker compose {}` failed: {last}", arguments.first().unwrap_or(&""))))
    }
}
