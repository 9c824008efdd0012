//! What can go wrong with the results folder, and what to do about it.

use std::{fmt, io, path::PathBuf};

use crate::problem::Problem;

/// What went wrong with the results folder, and what to do about it.
#[derive(Debug)]
pub enum FolderError {
    /// A file or the folder could not be used: what was tried, the path, and the system's reason.
    Io(&'static str, PathBuf, io::Error),
    /// Another run uses the folder: its description.
    Locked(PathBuf, String),
    /// Nothing has this name.
    NotFound(String, PathBuf),
    /// Several runs begin with this name.
    Ambiguous(String, Vec<String>),
    /// The file is no result.
    NoResult(PathBuf, String),
    /// The run has a journal and no result: it was killed.
    OnlyJournal(PathBuf),
    /// The run goes on: its journal is being written.
    GoesOn(PathBuf),
}

impl fmt::Display for FolderError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(what, path, error) => write!(out, "cannot {what} {}: {error}", path.display()),
            Self::Locked(path, who) => write!(out, "{} is in use by {who}", path.display()),
            Self::NotFound(name, path) => write!(out, "no run {name:?} in {}", path.display()),
            Self::Ambiguous(name, runs) => write!(out, "{name:?} may mean {}", runs.join(", ")),
            Self::NoResult(path, why) => write!(out, "{} is no result: {why}", path.display()),
            Self::OnlyJournal(path) => write!(out, "the run did not end; there is only its journal {}", path.display()),
            Self::GoesOn(path) => write!(out, "the run still goes on and writes {}", path.display()),
        }
    }
}

impl std::error::Error for FolderError {}

impl FolderError {
    /// What to do about it.
    fn advice(&self) -> Option<String> {
        match self {
            Self::Io(_, _, error) => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("free some space, or choose another folder with --results".to_owned())
                }
                io::ErrorKind::PermissionDenied
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::AlreadyExists => Some("choose another folder with --results".to_owned()),
                _ => None,
            },
            Self::Locked(..) => Some("wait for it, or choose another folder with --results".to_owned()),
            Self::NotFound(..) => Some("`scaler results list` shows the runs that there are".to_owned()),
            Self::Ambiguous(..) => Some("write more of the name".to_owned()),
            Self::NoResult(..) => None,
            Self::GoesOn(_) => Some("wait for its end".to_owned()),
            Self::OnlyJournal(path) => {
                Some(format!("`scaler results recover {}` makes a result of it", path.display()))
            }
        }
    }
}

impl From<FolderError> for Problem {
    fn from(error: FolderError) -> Self {
        Self { help: error.advice(), ..Self::error(error.to_string()) }
    }
}
