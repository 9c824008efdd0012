//! The guardian: a process beside scaler that ends what scaler leaves behind when it is killed itself.
//!
//! The kernel's parent-death signal ends children too, but a child that changes its user loses it (prctl(2)): a database that refuses
//! root, a broker that gives root up. So scaler tells a second process of every process group that it starts, through a pipe. When
//! scaler is gone, however it went, the kernel closes the pipe, and the guardian kills what was not reported as ended.

use std::{
    collections::BTreeSet,
    io::{self, BufRead, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use rustix::process::{Pid, Signal, kill_process_group};

/// The argument of scaler that leads to [`guard`].
pub const VERB: &str = "guardian";

/// The way to the guardian, and the guardian itself.
#[derive(Debug)]
pub struct Guardian {
    process: Mutex<Child>,
    pipe: Mutex<Option<ChildStdin>>,
}

impl Guardian {
    /// Starts the guardian in a process group of its own, where no key of the terminal reaches it; `scaler` is this program.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(scaler: &Path) -> io::Result<Self> {
        let mut command = Command::new(scaler);
        command.arg(VERB).env_clear().current_dir("/").process_group(0);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let pipe = process.stdin.take();
        Ok(Self { process: Mutex::new(process), pipe: Mutex::new(pipe) })
    }

    /// Tells it of a process group, by its leader.
    ///
    /// # Errors
    /// When there is no guardian any more.
    pub fn watch(&self, leader: u32) -> io::Result<()> {
        self.tell('+', leader)
    }

    /// Tells it that a process group has ended. Must be said while the leader is not yet reaped, so that its number is still its own.
    pub fn forget(&self, leader: u32) {
        // Without a guardian there is nobody who must forget.
        let _ = self.tell('-', leader);
    }

    fn tell(&self, what: char, leader: u32) -> io::Result<()> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let pipe = pipe.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        pipe.write_all(format!("{what}{leader}\n").as_bytes())
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        *self.pipe.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = self.process.lock().unwrap_or_else(PoisonError::into_inner).wait();
    }
}

/// What the guardian does: listens until scaler is gone, then kills every group that is left.
///
/// # Errors
/// When the pipe cannot be read; what is known by then is killed all the same.
pub fn guard(told: impl BufRead) -> io::Result<()> {
    let mut left = BTreeSet::new();
    let outcome = follow(told, &mut left);
    for leader in left.iter().copied().filter_map(Pid::from_raw) {
        // A group that has ended meanwhile is no fault.
        let _ = kill_process_group(leader, Signal::KILL);
    }
    outcome
}

/// Keeps the groups that were started and not ended. Only whole lines count: a word that was cut off could be another's number.
fn follow(mut told: impl BufRead, left: &mut BTreeSet<i32>) -> io::Result<()> {
    let mut line = String::new();
    while told.read_line(&mut line)? > 0 {
        let number = |text: &str| text.strip_suffix('\n').and_then(|digits| digits.parse::<i32>().ok());
        match line.split_at_checked(1) {
            Some(("+", rest)) => left.extend(number(rest).filter(|leader| *leader > 1)),
            Some(("-", rest)) => left.retain(|leader| Some(*leader) != number(rest)),
            _ => {}
        }
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_ended_and_lines_that_were_cut_are_not_killed() {
        let mut left = BTreeSet::new();
        follow("+10\n+11\n-10\n+1\n+0\n+-5\nnonsense\n\n+12\n+1".as_bytes(), &mut left).unwrap();
        assert_eq!(left, BTreeSet::from([11, 12]));
    }
}
