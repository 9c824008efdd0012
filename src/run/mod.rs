//! Doing it: the interpreter and the world it acts on.

pub mod ladder;
pub mod world;
