//! Doing it: the interpreter and the world it acts on.

pub mod emit;
pub mod ladder;
pub mod real;
pub mod world;
