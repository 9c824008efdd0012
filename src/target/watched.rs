//! A child that is meant to live until it is stopped: an end that nobody asked for is an event.

use std::{
    io,
    path::Path,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use indexmap::IndexMap;

use super::{
    child::{Child, describe},
    launcher::{Launcher, Spec},
    log::Log,
    user::User,
};
use crate::{record::entry::EventKind, run::emit::Emit};

/// What such a child is started from.
pub struct Purpose<'a> {
    /// The name under which its end is reported.
    pub name: &'a str,
    /// The program and its arguments.
    pub command: &'a [String],
    /// The CPUs that it may use; all without it.
    pub cpuset: Option<&'a str>,
    /// Who it runs as; whoever runs scaler without it.
    pub user: Option<User>,
    /// Its environment beside what is passed on.
    pub env: &'a IndexMap<String, String>,
    /// Its working folder.
    pub folder: &'a Path,
    /// The file that it prints to.
    pub log: &'a Path,
}

/// A child whose end is watched.
#[derive(Clone)]
pub struct Watched {
    child: Arc<Child>,
    wanted: Arc<AtomicBool>,
    log: Log,
}

impl Watched {
    /// Starts the child. Its end is no event before [`Watched::want`].
    ///
    /// # Errors
    /// When its log cannot be opened or the process cannot be made.
    pub fn spawn(launcher: &Launcher, purpose: &Purpose<'_>, emit: Emit) -> io::Result<Self> {
        let (log, file) = Log::open(purpose.log)?;
        let wanted = Arc::new(AtomicBool::new(false));
        let spec = Spec {
            command: purpose.command,
            cpuset: purpose.cpuset,
            user: purpose.user,
            env: purpose.env,
            folder: purpose.folder,
            stdout: Stdio::from(file.try_clone()?),
            stderr: Stdio::from(file),
        };
        let (name, still_wanted, printed) = (purpose.name.to_owned(), Arc::clone(&wanted), log.clone());
        let on_end = Box::new(move |status| {
            if still_wanted.swap(false, Ordering::SeqCst) {
                let detail = format!("{}; {}", describe(status), printed.quote());
                emit.event(EventKind::UnexpectedExit, &name, detail);
            }
        });
        let (child, _) = launcher.spawn(spec, on_end)?;
        Ok(Self { child, wanted, log })
    }

    /// The child.
    #[must_use]
    pub fn child(&self) -> &Child {
        &self.child
    }

    /// From now on its end is unexpected.
    pub fn want(&self) {
        self.wanted.store(true, Ordering::SeqCst);
    }

    /// From now on its end was asked for.
    pub fn unwant(&self) {
        self.wanted.store(false, Ordering::SeqCst);
    }

    /// What it printed, at most the first mebibyte of it.
    ///
    /// # Errors
    /// When its log cannot be read.
    pub fn printed(&self) -> io::Result<String> {
        self.log.beginning()
    }

    /// The last lines that it printed.
    #[must_use]
    pub fn last_words(&self) -> String {
        self.log.quote()
    }
}
