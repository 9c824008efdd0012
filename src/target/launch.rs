//! `scaler launch --parent PID [--cpuset LIST] -- COMMAND…`: becomes COMMAND, tied to its parent.
//!
//! A child of scaler may not outlive it, not even a `kill -9`. The kernel offers that (`PR_SET_PDEATHSIG`, prctl(2)), but only a
//! process can ask it for itself, and doing so between fork and exec needs code that this crate forbids. So scaler starts itself
//! with this verb, which asks and then becomes the command.

use std::{io, os::unix::process::CommandExt, process::Command};

use rustix::{
    process::{Pid, Signal, getppid, set_parent_process_death_signal},
    thread::{CpuSet, sched_setaffinity},
};

/// What is to become of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The process that must still be the parent.
    pub parent: u32,
    /// The CPUs that the command may use, as in `2-5,7`; all without it.
    pub cpuset: Option<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
}

impl Launch {
    /// The arguments of scaler that lead to [`Launch::exec`].
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["launch".to_owned(), "--parent".to_owned(), self.parent.to_string()];
        if let Some(cpuset) = &self.cpuset {
            arguments.extend(["--cpuset".to_owned(), cpuset.clone()]);
        }
        arguments.push("--".to_owned());
        arguments.extend(self.command.iter().cloned());
        arguments
    }

    /// Becomes the command; returns only when that fails, with the reason.
    #[must_use]
    pub fn exec(&self) -> io::Error {
        let Err(error) = self.tie_to_parent().and_then(|()| self.confine());
        error
    }

    fn tie_to_parent(&self) -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the kernel was asked; then nobody would ever end this process.
        let parent = getppid().map(Pid::as_raw_pid);
        if parent != i32::try_from(self.parent).ok() {
            return Err(io::Error::other("the process that started this one is gone"));
        }
        Ok(())
    }

    fn confine(&self) -> io::Result<std::convert::Infallible> {
        if let Some(list) = &self.cpuset {
            let mut cpus = CpuSet::new();
            for cpu in parse_cpus(list).map_err(io::Error::other)? {
                cpus.set(cpu);
            }
            sched_setaffinity(None, &cpus)
                .map_err(|error| io::Error::other(format!("the CPUs {list} cannot be used: {error}")))?;
        }
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Err(io::Error::other("no command was given"));
        };
        let error = Command::new(program).args(arguments).exec();
        Err(io::Error::new(error.kind(), format!("{program}: {error}")))
    }
}

/// Reads a list of CPUs such as `2-5,7`, the form of cpuset(7).
///
/// # Errors
/// When the text is no such list, or names a CPU above 1023.
pub fn parse_cpus(text: &str) -> Result<Vec<usize>, String> {
    let number = |digits: &str| -> Result<usize, String> {
        let cpu: usize = digits.trim().parse().map_err(|_| format!("`{text}` is no list of CPUs such as `2-5,7`"))?;
        if cpu < CpuSet::MAX_CPU { Ok(cpu) } else { Err(format!("there is no CPU {cpu}")) }
    };
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("`{part}` runs backwards"));
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(parse_cpus("0"), Ok(vec![0]));
        assert_eq!(parse_cpus("2-5,7"), Ok(vec![2, 3, 4, 5, 7]));
        for bad in ["", "a", "5-2", "1,,2", "-1", "2-", "99999"] {
            assert!(parse_cpus(bad).is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn the_arguments_end_with_the_command() {
        let launch =
            Launch { parent: 7, cpuset: Some("0".to_owned()), command: vec!["sleep".to_owned(), "1".to_owned()] };
        assert_eq!(launch.arguments().join(" "), "launch --parent 7 --cpuset 0 -- sleep 1");
    }
}
