//! The system under test: child processes (most of this folder) or a Docker Compose project ([`compose`]).
//!
//! Child processes are started in order, watched, taken down, brought back, and ended without a trace.
//! Each child is its own process group in a working folder of its own. It is started from one thread that lives as long as
//! scaler ([`launcher`]) through `scaler launch` ([`launch`]), so that the kernel ends it when scaler is killed. What
//! escapes the kernel's tie, the [`guardian`] ends.

pub mod child;
pub mod command;
pub mod compose;
mod files;
pub mod folder;
pub mod guardian;
pub mod launch;
pub mod launcher;
pub mod log;
pub mod order;
mod outage;
pub mod ports;
pub mod ready;
pub mod services;
mod signal;
mod step;
pub mod user;
pub mod watched;
