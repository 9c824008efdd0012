//! `scaler launch --parent PID [--cpuset LIST] [--user UID:GID] -- COMMAND…`: becomes COMMAND, tied to its parent.
//!
//! A child of scaler may not outlive it, not even a `kill -9`. The kernel offers that (`PR_SET_PDEATHSIG`, prctl(2)), but only a
//! process can ask it for itself, and doing so between fork and exec needs code that this crate forbids. So scaler starts itself
//! with this verb, which asks and then becomes the command.

use std::{ffi::OsString, io, os::unix::process::CommandExt, process::Command};

use rustix::{
    process::{Pid, Signal, getppid, set_parent_process_death_signal},
    thread::{CpuSet, sched_setaffinity},
};

use super::user::User;

/// The argument of scaler that leads to [`Launch::exec`].
pub const VERB: &str = "launch";

/// What is to become of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The process that must still be the parent.
    pub parent: u32,
    /// The CPUs that the command may use, as in `2-5,7`; all without it.
    pub cpuset: Option<String>,
    /// Who the command runs as; whoever runs this process without it.
    pub user: Option<User>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

impl Launch {
    /// The arguments of scaler that lead to [`Launch::exec`].
    #[must_use]
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![VERB.into(), "--parent".into(), self.parent.to_string().into()];
        if let Some(cpuset) = &self.cpuset {
            arguments.extend(["--cpuset".into(), cpuset.into()]);
        }
        if let Some(user) = &self.user {
            arguments.extend(["--user".into(), user.to_string().into()]);
        }
        arguments.push("--".into());
        arguments.extend(self.command.iter().cloned());
        arguments
    }

    /// Reads what [`Launch::arguments`] wrote behind the verb.
    ///
    /// # Errors
    /// When it is anything else, in words.
    pub fn parse(arguments: &[OsString]) -> Result<Self, String> {
        let split = arguments.iter().position(|argument| argument == "--").ok_or("there is no command behind `--`")?;
        let (options, command) = (&arguments[..split], arguments[split + 1..].to_vec());
        let (mut parent, mut cpuset, mut user) = (None, None, None);
        for pair in options.chunks(2) {
            let value = pair.get(1).and_then(|value| value.to_str());
            match (pair[0].to_str(), value) {
                (Some("--parent"), Some(pid)) => parent = pid.parse().ok(),
                (Some("--cpuset"), Some(cpus)) => cpuset = Some(cpus.to_owned()),
                (Some("--user"), Some(numbers)) => user = Some(numbers.parse()?),
                _ => return Err(format!("{} is not understood", pair[0].display())),
            }
        }
        let parent = parent.ok_or("--parent PID is missing")?;
        if command.is_empty() {
            return Err("no command was given".to_owned());
        }
        Ok(Self { parent, cpuset, user, command })
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
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(user) = &self.user {
            // A process that changes its user is no longer tied to its parent by the kernel; the guardian ends it all the same.
            command.uid(user.uid).gid(user.gid);
        }
        let error = command.exec();
        Err(io::Error::new(error.kind(), format!("{}: {error}", program.display())))
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
        let launch = Launch {
            parent: 7,
            cpuset: Some("0".to_owned()),
            user: "5:6".parse().ok(),
            command: vec!["sleep".into(), "1".into()],
        };
        let arguments = launch.arguments();
        assert_eq!(
            arguments.join(OsString::from(" ").as_os_str()),
            "launch --parent 7 --cpuset 0 --user 5:6 -- sleep 1"
        );
        assert_eq!(Launch::parse(&arguments[1..]), Ok(launch));
    }

    #[test]
    fn what_is_no_launch_is_refused() {
        let parse = |text: &str| Launch::parse(&text.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        for bad in [
            "",
            "sleep 1",
            "--parent 7 --",
            "-- sleep 1",
            "--parent x -- sleep",
            "--cpu 7 -- sleep",
            "--parent -- sleep",
            "--parent 7 --user root -- sleep",
        ] {
            assert!(parse(bad).is_err(), "{bad:?} was accepted");
        }
        assert_eq!(parse("--parent 7 -- --parent --").unwrap().command, ["--parent", "--"]);
    }
}
