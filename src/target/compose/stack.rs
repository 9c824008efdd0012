//! One Compose project as the plan means it, and the look at it before anything starts.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Overridden, Refused, command, overrides, sources};
use crate::{
    guard::{self, Facts, Guarded, Refusal},
    plan::{isolation::Isolation, target::Compose},
};

/// A Compose project with its paths resolved.
#[derive(Clone, Debug)]
pub struct Stack {
    /// What the plan says.
    pub plan: Compose,
    /// What it may not touch.
    pub isolation: Isolation,
    /// The folder of the first Compose file: where relative paths begin.
    pub folder: PathBuf,
    /// The Compose files.
    pub files: Vec<PathBuf>,
    /// The env file.
    pub env_file: PathBuf,
    /// The plan's folder.
    pub plan_folder: PathBuf,
}

/// What the engine knows of the project already, for the guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Folders from which containers of this project were started.
    pub project_folders: Vec<PathBuf>,
}

/// A target that was looked at and may be started.
#[derive(Clone, Debug)]
pub struct Examined {
    /// What it consists of.
    pub guarded: Guarded,
    /// The effective config.
    pub config: Value,
    /// The override in force.
    pub overridden: Overridden,
    /// The version of Compose.
    pub compose_version: String,
}

impl Stack {
    /// Resolves the plan's paths.
    ///
    /// # Errors
    /// When a Compose file or the env file is not there.
    pub fn resolve(plan: &Compose, isolation: &Isolation, plan_folder: &Path) -> Result<Self, Refused> {
        let mut files = Vec::new();
        for file in &plan.files {
            let path = plan_folder.join(file);
            let real = path
                .canonicalize()
                .map_err(|error| Refused(format!("the Compose file {file} cannot be read: {error}")))?;
            files.push(real);
        }
        let folder = files.first().and_then(|file| file.parent()).map(Path::to_owned);
        let folder = folder.ok_or_else(|| Refused("target.compose.files names no file".to_owned()))?;
        let env_name = &plan.env_file;
        let env_file = plan_folder.join(env_name).canonicalize().map_err(|error| {
            Refused(format!("the env file {env_name} cannot be read: {error}; `scaler plan init` writes it"))
        })?;
        Ok(Self {
            plan: plan.clone(),
            isolation: isolation.clone(),
            folder,
            files,
            env_file,
            plan_folder: plan_folder.to_owned(),
        })
    }

    /// Reads the effective config and asks the guard.
    ///
    /// # Errors
    /// Every reason to refuse the target, one a line.
    pub fn examine(&self, host_cpus: u64, neighbours: &Neighbours) -> Result<Examined, Refused> {
        let compose_version = command::require_v2(&self.folder)?;
        let environment = |name: &str| std::env::var(name).ok();
        let base = self.effective(None)?;
        let overridden = overrides(&self.plan, &base.config, host_cpus, &environment).map_err(Refused)?;
        let effective = self.effective(Some(&overridden.text))?;
        let facts = self.facts(&effective.config, effective.unset, neighbours)?;
        let guarded = guard::check(&effective.config, &self.isolation, &facts).map_err(|refusals| all(&refusals))?;
        Ok(Examined { guarded, config: effective.config, overridden, compose_version })
    }

    /// What the guard has to know of this host.
    fn facts(&self, config: &Value, unset: Vec<String>, neighbours: &Neighbours) -> Result<Facts, Refused> {
        let first = self.files.first().map_or(self.folder.as_path(), PathBuf::as_path);
        let checkout = sources::checkout_of(first);
        let folder_name = |folder: &Path| folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let text = fs::read_to_string(&self.env_file)
            .map_err(|error| Refused(format!("the env file {} cannot be read: {error}", self.env_file.display())))?;
        let live = self.isolation.env_files_refused.iter();
        let real = |path: &str| (path.to_owned(), sources::real(Path::new(path)).display().to_string());
        let elsewhere = neighbours.project_folders.iter().filter(|folder| sources::real(folder) != self.folder);
        Ok(Facts {
            project: self.plan.project.clone(),
            folder_names: [folder_name(&checkout), folder_name(&self.folder)].into_iter().flatten().collect(),
            capped: self.plan.caps.keys().cloned().collect(),
            checkout: checkout.display().to_string(),
            env_file: self.env_file.display().to_string(),
            variables: sources::variables(&text).into_iter().chain(self.plan.variables.keys().cloned()).collect(),
            live_env_files: live
                .map(|file| sources::real(&self.plan_folder.join(file)).display().to_string())
                .collect(),
            unset,
            drawn_in: sources::drawn_in(&self.files, &self.plan.files, &self.folder)?,
            real: guard::paths(config).iter().map(|path| real(path)).collect(),
            sockets: engine_sockets(),
            running_from: elsewhere.map(|folder| folder.display().to_string()).collect(),
        })
    }
}

/// Where container engines listen, and where this one does.
fn engine_sockets() -> Vec<String> {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    let known = ["/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"];
    let sockets = known.into_iter().chain(host.strip_prefix("unix://"));
    sockets.map(|socket| sources::real(Path::new(socket)).display().to_string()).collect()
}

/// All refusals, one a line.
fn all(refusals: &[Refusal]) -> Refused {
    Refused(refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}
