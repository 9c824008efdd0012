//! scaler finds out, honestly, how far one telemetry server goes and why it stopped there.

pub mod cli;
pub mod ends;
pub mod engine;
pub mod guard;
pub mod host;
pub mod judge;
pub mod load;
pub mod measure;
pub mod plan;
pub mod problem;
pub mod record;
pub mod reference;
pub mod report;
pub mod run;
pub mod store;
pub mod target;
pub mod watch;
pub mod web;
