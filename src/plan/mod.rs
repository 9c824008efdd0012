//! What the plan file says. Pure: no file, network, clock or chance in here.

pub mod checked;
pub mod connection;
pub mod document;
mod extend;
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
pub mod schema;
mod scope;
mod sets;
pub mod secret;
pub mod target;
mod template;
mod tree;
mod validate;
pub mod watch;
pub mod workflow;
