//! `scaler launch --parent PID -- COMMAND`: how scaler starts its children; see [`crate::target::launch`].

use super::{Failure, Outcome};
use crate::target::launch::{Launch, parse_cpus};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Do not start unless this process is still the parent.
    #[arg(long, value_name = "PID")]
    parent: u32,
    /// The CPUs that the command may use, as in `0-1` or `2-5,7`.
    #[arg(long, value_name = "CPUS", value_parser = |text: &str| parse_cpus(text).map(|_| text.to_owned()))]
    cpuset: Option<String>,
    /// The program and its arguments.
    #[arg(last = true, required = true, num_args = 1..)]
    command: Vec<String>,
}

pub(super) fn run(args: Args) -> Outcome {
    let Args { parent, cpuset, command } = args;
    Err(Failure::refused(Launch { parent, cpuset, command }.exec().to_string()))
}
