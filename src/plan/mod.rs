//! What the plan file says. Pure: no file, network, clock or chance in here.

mod bound_fit;
mod check;
pub mod checked;
pub mod connection;
pub mod document;
pub mod estimate;
mod extend;
pub mod fill;
pub mod fleet;
pub mod gate;
pub mod ladder;
pub mod load;
pub mod metric;
mod nearest;
pub(crate) mod one_of;
mod page;
pub mod phase;
pub mod probe;
pub mod quantity;
pub mod query;
mod read;
mod resolve;
pub mod safety;
pub mod schema;
mod scope;
pub mod secret;
mod sets;
pub mod show;
pub mod subject;
pub mod target;
mod template;
mod tree;
mod validate;
pub mod watch;
pub mod workflow;

pub use read::load;
