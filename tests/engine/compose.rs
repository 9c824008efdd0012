//! The compose target on a real engine: started, taken down, watched, compared with its neighbours, removed.

pub(crate) mod bench;
mod faults;
mod in_force;
mod inside;
mod neighbours;
mod plans;
mod verbs;
mod watch;
