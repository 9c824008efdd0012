//! Why a verb did not do what it was asked, and what to do next.

use std::fmt::Display;

use super::exit::Exit;
use crate::problem::{Problem, Problems};

/// A verb's error: printed once, by [`super::main`], which ends with its exit code.
#[derive(Debug)]
pub(super) struct Failure {
    /// The exit code.
    pub(super) exit: Exit,
    /// What is wrong.
    pub(super) problems: Problems,
}

impl Failure {
    /// The arguments ask for something that cannot be done; `help` says what to do instead.
    pub(super) fn arguments(title: impl Into<String>, help: impl Into<String>) -> Self {
        Self { exit: Exit::BadPlan, problems: Problem::error(title).help(help).into() }
    }

    /// A file could not be read or written.
    pub(super) fn file(action: &str, path: impl Display, error: &std::io::Error) -> Self {
        let problem = Problem::error(format!("cannot {action} {path}: {error}"));
        Self { exit: Exit::BadPlan, problems: problem.into() }
    }

    /// The target was refused.
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        Self { exit: Exit::Refused, problems: Problem::error(reason).into() }
    }

    /// The target was refused for a reason that can be mended; `help` says how.
    pub(super) fn refused_with(title: impl Into<String>, help: impl Into<String>) -> Self {
        Self { exit: Exit::Refused, problems: Problem::error(title).help(help).into() }
    }

    /// Something that cannot happen did.
    pub(super) fn internal(title: impl Into<String>) -> Self {
        let problem =
            Problem::error(title).help("this is a defect of scaler: please report it with the command you gave");
        Self { exit: Exit::Internal, problems: problem.into() }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self { exit: Exit::BadPlan, problems }
    }
}

/// What every verb returns.
pub(super) type Outcome = Result<Exit, Failure>;
