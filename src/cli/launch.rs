//! `scaler launch -- COMMAND`: becomes the command, in a process that the kernel ends together with its parent.
//!
//! Scaler starts its children through this verb, so that none outlives it, not even `kill -9`. The kernel sends the signal when
//! the *thread* that started the process ends: whoever starts children keeps that thread alive as long as they shall live.

use std::{ffi::OsString, os::unix::process::CommandExt, process::Command};

use rustix::{
    process::{Signal, getppid, set_parent_process_death_signal},
    thread::{CpuSet, sched_setaffinity},
};

use super::{Failure, Outcome};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Do not start unless this process is still the parent.
    #[arg(long, value_name = "PID")]
    parent: Option<i32>,
    /// The CPUs that the command may use, as in `0-1` or `2-5,7`.
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    cpuset: Option<Cpus>,
    /// The program and its arguments.
    #[arg(last = true, required = true, num_args = 1..)]
    command: Vec<OsString>,
}

/// Numbers of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cpus(Vec<usize>);

pub(super) fn run(args: &Args) -> Outcome {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failure::refused(format!("cannot tie the process to its parent: {error}")))?;
    // The parent may have ended before the line above took effect; then the signal will never come.
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get());
    if args.parent.is_some_and(|expected| parent != Some(expected)) {
        return Err(Failure::refused("the process that asked for this one is gone"));
    }
    if let Some(Cpus(numbers)) = &args.cpuset {
        let mut set = CpuSet::new();
        for number in numbers {
            set.set(*number);
        }
        sched_setaffinity(None, &set)
            .map_err(|error| Failure::refused(format!("cannot keep to the CPUs {numbers:?}: {error}")))?;
    }
    let (program, arguments) =
        args.command.split_first().ok_or_else(|| Failure::arguments("no command", "name one behind `--`"))?;
    let error = Command::new(program).args(arguments).exec();
    Err(Failure::refused(format!("cannot start {}: {error}", program.display())))
}

/// Reads `2-5,7`.
fn cpus(text: &str) -> Result<Cpus, String> {
    let wrong = || format!("{text:?} names no CPUs; write them as in 0-1 or 2-5,7");
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.trim().parse().map_err(|_| wrong())?;
        let last: usize = last.trim().parse().map_err(|_| wrong())?;
        if first > last || last >= CpuSet::MAX_CPU {
            return Err(wrong());
        }
        numbers.extend(first..=last);
    }
    Ok(Cpus(numbers))
}

#[cfg(test)]
mod tests {
    use super::{Cpus, cpus};

    #[test]
    fn cpus_are_lists_of_ranges() {
        assert_eq!(cpus("2-5,7"), Ok(Cpus(vec![2, 3, 4, 5, 7])));
        assert_eq!(cpus("0"), Ok(Cpus(vec![0])));
        for wrong in ["", "a", "3-1", "1-", "-1", "0,,1", "99999999"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }
}
