//! scaler finds out, honestly, how far one telemetry server goes and why it stopped there.

pub mod guard;
pub mod plan;
pub mod problem;
pub mod record;
pub mod run;
pub mod target;
