//! `scaler launch -- COMMAND`: becomes the command, in a process that the kernel ends together with its parent.
//!
//! Scaler starts its children through this verb, so that none outlives it, not even `kill -9`. The kernel sends the signal when
//! the *thread* that started the process ends: whoever starts children keeps that thread alive as long as they shall live.

use super::{Failure, Outcome};
use crate::target::{
    launch::{Launch, parse_cpus},
    user::User,
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Do not start unless this process is still the parent.
    #[arg(long, value_name = "PID")]
    parent: Option<u32>,
    /// The CPUs that the command may use, as in `0-1` or `2-5,7`.
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    cpuset: Option<String>,
    /// The numbers of the user and group that the command runs as.
    #[arg(long, value_name = "UID:GID")]
    user: Option<User>,
    /// The program and its arguments.
    #[arg(last = true, required = true, num_args = 1..)]
    command: Vec<String>,
}

pub(super) fn run(args: &Args) -> Outcome {
    let Args { parent, cpuset, user, command } = args;
    let launch = Launch { parent: *parent, cpuset: cpuset.clone(), user: *user, command: command.clone() };
    Err(Failure::refused(launch.exec().to_string()))
}

fn cpus(text: &str) -> Result<String, String> {
    parse_cpus(text).map(|_| text.to_owned())
}
