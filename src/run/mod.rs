//! Doing it: the interpreter and the world it acts on.
//!
//! [`experiment`] climbs the [`ladder`], a cell runs its phases in order (`phase/`, one file a kind), [`interpreter`] asks the
//! [`world`] and journals what comes back. [`real`] is the world outside.

mod cell;
pub mod emit;
mod expect;
pub mod experiment;
pub mod interpreter;
pub mod ladder;
mod live;
mod phase;
mod preflight;
pub mod real;
mod subjects;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod virtual_load;
#[cfg(test)]
mod virtual_store;
#[cfg(test)]
mod virtual_world;
mod wal;
pub mod world;
