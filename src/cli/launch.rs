//! `scaler launch --parent PID [--cpuset CPUS] -- COMMAND…`: what scaler calls itself with to start a child that cannot outlive it.
//!
//! It is no verb for people, so it stands beside the arguments that they give and not among them; every probe of a command goes through
//! it, and building the whole tree of arguments would be on its clock.

use std::ffi::OsString;

use super::{Failure, Outcome};
use crate::target::launch::{Launch, VERB};

/// Whether these are the arguments of a child that is to be started.
pub(super) fn is_meant(arguments: &[OsString]) -> bool {
    arguments.get(1).is_some_and(|verb| verb == VERB)
}

/// Becomes the command; returns only when that fails.
pub(super) fn run(arguments: &[OsString]) -> Outcome {
    let help = "scaler starts its children through this; to run a plan, see `scaler plan run --help`";
    let launch = Launch::parse(&arguments[2..]).map_err(|why| Failure::arguments(why, help))?;
    let error = launch.exec();
    Err(Failure::refused(format!("the command was not started: {error}")))
}
