//! What the plan file says. Pure: no file, network, clock or chance in here.

pub mod checked;
pub mod connection;
pub mod document;
pub mod fleet;
pub mod gate;
pub mod isolation;
pub mod ladder;
pub mod load;
pub mod metric;
pub(crate) mod one_of;
pub mod phase;
pub mod probe;
pub mod quantity;
pub mod query;
pub mod safety;
pub mod secret;
pub mod target;
pub mod watch;
pub mod workflow;
