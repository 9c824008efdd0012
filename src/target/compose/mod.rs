//! The target `compose`: a Docker Compose project, driven by `docker compose` v2 for what Compose alone knows (the effective
//! config, building, starting in order, removing) and by the engine for everything else.

mod command;
mod effective;
mod in_force;
mod outage;
mod overrides;
mod project;
mod sources;
mod stack;
mod whole;

pub use command::Refused;
pub use overrides::{Origin, Overridden, overrides};
pub use project::Project;
pub use stack::{Examined, Neighbours, Stack};
