//! What the plan file says. Pure: no file, network, clock or chance in here.

pub mod blueprint;
mod bound_fit;
pub mod bounds;
mod check;
pub mod checked;
pub mod connection;
pub mod diff;
pub mod document;
pub mod env_file;
pub mod estimate;
mod extend;
pub mod fill;
pub mod fleet;
pub mod gate;
pub mod isolation;
pub mod ladder;
pub mod load;
pub mod metric;
mod nearest;
pub(crate) mod one_of;
mod page;
pub mod phase;
pub mod probe;
pub mod quantity;
#[cfg(test)]
mod quantity_tests;
pub mod query;
mod read;
mod repair;
mod resolve;
pub mod safety;
pub mod schema;
mod scope;
pub mod secret;
mod sets;
pub mod subject;
pub mod target;
mod template;
pub mod touches;
mod tree;
mod validate;
pub mod watch;
pub mod workflow;

pub use read::load;
