//! Doing it: the interpreter and the world it acts on.

mod cell;
pub mod emit;
mod expect;
pub mod experiment;
pub mod interpreter;
mod ladder;
mod live;
mod phase;
pub mod real;
mod subjects;
pub mod world;
