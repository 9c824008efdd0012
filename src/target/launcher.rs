//! The one thread that starts children.
//!
//! The kernel's parent-death signal fires when the *thread* that started a child ends (prctl(2)), so children are never started
//! from the short-lived threads of calls. The same property is a safety net: when this thread ends, what is left dies. A child that
//! changes its user has lost that tie; the guardian is the net below.

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        mpsc::{self, Sender},
    },
    thread,
};

use indexmap::IndexMap;

use super::{
    child::{Child, OnEnd},
    guardian::Guardian,
    launch::Launch,
    user::User,
};

/// What is passed on of scaler's own environment.
const PASSED_ON: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];

/// A child to be started.
pub struct Spec<'a> {
    /// The program and its arguments.
    pub command: &'a [String],
    /// The CPUs that it may use; all without it.
    pub cpuset: Option<&'a str>,
    /// Who it runs as; whoever runs scaler without it.
    pub user: Option<User>,
    /// Environment variables beside those that are passed on.
    pub env: &'a IndexMap<String, String>,
    /// The working folder.
    pub folder: &'a Path,
    /// Standard output.
    pub stdout: Stdio,
    /// Standard error.
    pub stderr: Stdio,
}

struct Job {
    command: Command,
    answer: Sender<io::Result<process::Child>>,
}

/// Starts children and knows those that live.
pub struct Launcher {
    scaler: PathBuf,
    guardian: Arc<Guardian>,
    jobs: Sender<Job>,
    children: Mutex<Children>,
}

#[derive(Default)]
struct Children {
    known: Vec<Weak<Child>>,
    /// No child may be started any more.
    closed: bool,
}

impl Launcher {
    /// Starts the guardian and the thread; `scaler` is this program.
    ///
    /// # Errors
    /// When either cannot be started.
    pub fn start(scaler: PathBuf) -> io::Result<Self> {
        let guardian = Arc::new(Guardian::start(&scaler)?);
        let watching = Arc::clone(&guardian);
        let (jobs, inbox) = mpsc::channel::<Job>();
        thread::Builder::new().name("launcher".to_owned()).spawn(move || {
            for mut job in inbox {
                let started = job.command.spawn().and_then(|child| watched(&watching, child));
                // Whoever asked may have gone; then the child is not wanted any more.
                if let Err(mpsc::SendError(Ok(orphan))) = job.answer.send(started) {
                    discard(orphan);
                }
            }
        })?;
        Ok(Self { scaler, guardian, jobs, children: Mutex::default() })
    }

    /// Starts a child; `on_end` runs once it was reaped, on a thread of its own. Output pipes, if asked for, are the second part.
    ///
    /// # Errors
    /// When the process cannot be made. That its command does not exist shows only in its exit status, 127.
    pub fn spawn(&self, spec: Spec<'_>, on_end: OnEnd) -> io::Result<(Arc<Child>, Pipes)> {
        let launch = Launch {
            parent: process::id(),
            cpuset: spec.cpuset.map(str::to_owned),
            user: spec.user,
            command: spec.command.iter().map(OsString::from).collect(),
        };
        let mut command = Command::new(&self.scaler);
        command
            .args(launch.arguments())
            .env_clear()
            .envs(passed_on())
            .envs(spec.env)
            .current_dir(spec.folder)
            .stdin(Stdio::null())
            .stdout(spec.stdout)
            .stderr(spec.stderr)
            .process_group(0);
        let (answer, reply) = mpsc::channel();
        let gone = |_| io::Error::other("the launcher has ended");
        self.jobs.send(Job { command, answer }).map_err(|_| io::Error::other("the launcher has ended"))?;
        let mut process = reply.recv().map_err(gone)??;
        let pipes = Pipes { stdout: process.stdout.take(), stderr: process.stderr.take() };
        let child = Child::watch(process, Arc::clone(&self.guardian), on_end)?;
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        if children.closed {
            child.kill();
        }
        children.known.retain(|known| known.upgrade().is_some_and(|known| known.ended().is_none()));
        children.known.push(Arc::downgrade(&child));
        Ok((child, pipes))
    }

    /// Kills every child that still lives, and whatever would still be started, and waits for their ends.
    pub fn kill_all(&self) {
        let children: Vec<Arc<Child>> = {
            let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
            children.closed = true;
            children.known.drain(..).filter_map(|child| child.upgrade()).collect()
        };
        for child in &children {
            child.kill();
        }
        for child in &children {
            child.wait();
        }
    }
}

/// A child that the guardian knows of, or none.
fn watched(guardian: &Guardian, child: process::Child) -> io::Result<process::Child> {
    match guardian.watch(child.id()) {
        Ok(()) => Ok(child),
        Err(error) => {
            discard(child);
            Err(io::Error::new(error.kind(), format!("the guardian is gone: {error}")))
        }
    }
}

fn discard(mut child: process::Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The ends of a child's pipes.
#[derive(Debug)]
pub struct Pipes {
    /// Standard output, if it is a pipe.
    pub stdout: Option<process::ChildStdout>,
    /// Standard error, if it is a pipe.
    pub stderr: Option<process::ChildStderr>,
}

fn passed_on() -> impl Iterator<Item = (&'static str, OsString)> {
    PASSED_ON.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
}
