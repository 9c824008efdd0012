//! Isolation: what a Docker Compose target may never touch. Checked on the effective Compose config before anything starts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is live on the same engine, and the names that are ours. The guard refuses a target that touches the first or leaves
/// the second; [`Hazard`]s are refused in any plan, unless one is allowed here by its name and place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Isolation {
    /// Compose projects that are live. The folder names of the checkout and of the first Compose file are always refused as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects_refused: Vec<String>,
    /// What the name of each volume begins with. Default: the project and `_`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2))]
    pub volume_prefix: Option<String>,
    /// Host ports that are live.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports_refused: Vec<u16>,
    /// Env files that are live, relative to this file: not to be used, mounted or included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_files_refused: Vec<String>,
    /// Hazards that this plan accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Allowance>,
}

/// One hazard that the plan accepts at one place. One that matches nothing is refused, so that none outlives its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Allowance {
    /// The hazard.
    pub hazard: Hazard,
    /// Where, as `plan guard` prints it: `services.NAME`, `volumes.NAME`, `networks.NAME`, `files`, `env_file` or `project`.
    pub at: String,
    /// Why it is acceptable.
    #[schemars(length(min = 1))]
    pub because: String,
}

/// What is refused in every plan unless it is allowed by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hazard {
    /// A fixed container name takes the place of another project's container.
    ContainerName,
    /// A volume that exists outside this project.
    ExternalVolume,
    /// A volume driver other than `local`, whose data may be anywhere.
    VolumeDriver,
    /// A network that exists outside this project, or whose name belongs to another one.
    ForeignNetwork,
    /// The host's network: `network_mode: host`, a driver on the host's interfaces, a bridge with a name of its own.
    HostNetwork,
    /// The host's process, IPC, UTS, user or cgroup namespace, or a cgroup outside the engine's own.
    HostNamespace,
    /// The namespace, volumes or links of a container that is not in this project.
    ForeignContainer,
    /// `privileged`.
    Privileged,
    /// An added capability.
    AddedCapability,
    /// A security option that weakens the container's confinement.
    SecurityOption,
    /// The engine's own socket, or a folder that holds it.
    EngineSocket,
    /// A device of the host.
    Device,
    /// A bind mount that can write outside the checkout, or that propagates mounts to the host.
    BindMount,
    /// A service without a cap on CPU or memory.
    Uncapped,
    /// A service that the kernel spares when memory is short, so that it kills a live one.
    OomProtected,
    /// An image that is built here under a name outside this project.
    ImageName,
    /// A file outside the checkout that the Compose files extend or include.
    OutsideFile,
    /// A variable of the Compose files that nothing sets.
    UnsetVariable,
    /// A variable of the env file that steers Compose or the engine's client.
    SteeringVariable,
    /// A label that belongs to Compose.
    ReservedLabel,
    /// A key of the Compose config whose effect scaler does not know.
    UnknownKey,
    /// The project already runs from another folder.
    RunningElsewhere,
}

impl Hazard {
    /// The name as plans spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ContainerName => "container_name",
            Self::ExternalVolume => "external_volume",
            Self::VolumeDriver => "volume_driver",
            Self::ForeignNetwork => "foreign_network",
            Self::HostNetwork => "host_network",
            Self::HostNamespace => "host_namespace",
            Self::ForeignContainer => "foreign_container",
            Self::Privileged => "privileged",
            Self::AddedCapability => "added_capability",
            Self::SecurityOption => "security_option",
            Self::EngineSocket => "engine_socket",
            Self::Device => "device",
            Self::BindMount => "bind_mount",
            Self::Uncapped => "uncapped",
            Self::OomProtected => "oom_protected",
            Self::ImageName => "image_name",
            Self::OutsideFile => "outside_file",
            Self::UnsetVariable => "unset_variable",
            Self::SteeringVariable => "steering_variable",
            Self::ReservedLabel => "reserved_label",
            Self::UnknownKey => "unknown_key",
            Self::RunningElsewhere => "running_elsewhere",
        }
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hazard_is_printed_as_plans_spell_it() {
        let schema = schemars::schema_for!(Hazard);
        let spelt = |hazard: Hazard| serde_json::to_value(hazard).expect("a plain enum");
        let names: Vec<String> = schema.as_value()["oneOf"]
            .as_array()
            .expect("one entry for each hazard")
            .iter()
            .map(|entry| entry["const"].as_str().expect("a name").to_owned())
            .collect();
        assert_eq!(names.len(), 22);
        for name in names {
            let hazard: Hazard = serde_json::from_value(name.clone().into()).expect("its own spelling");
            assert_eq!((hazard.name(), spelt(hazard)), (name.as_str(), name.clone().into()));
        }
    }
}
