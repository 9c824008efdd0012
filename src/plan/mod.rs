//! What the plan file says. Pure: no file, network, clock or chance in here.

pub mod blueprint;
pub mod checked;
pub mod connection;
pub mod diff;
pub mod document;
pub mod env_file;
pub mod fill;
pub mod fleet;
pub mod gate;
pub mod ladder;
pub mod load;
pub mod metric;
mod nearest;
pub(crate) mod one_of;
pub mod phase;
pub mod probe;
pub mod quantity;
pub mod query;
pub mod safety;
mod scope;
pub mod secret;
pub mod target;
mod template;
mod tree;
pub mod watch;
pub mod workflow;
