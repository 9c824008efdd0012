//! The exit codes: the one list, from which `--help`, the manual and the program itself take them.

use std::process::ExitCode;

/// How scaler ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The experiment passed, or the command did what it was asked.
    Pass = 0,
    /// The system does not meet a bar.
    Fail = 1,
    /// Nothing can be said of the system.
    Inconclusive = 2,
    /// The plan or the arguments are wrong.
    BadPlan = 3,
    /// The target cannot or must not be used.
    Refused = 4,
    /// The user stopped the run.
    Interrupted = 5,
    /// Scaler itself failed.
    Internal = 70,
}

impl Exit {
    /// All of them, by code.
    pub const ALL: [Self; 7] =
        [Self::Pass, Self::Fail, Self::Inconclusive, Self::BadPlan, Self::Refused, Self::Interrupted, Self::Internal];

    /// The number that the shell sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// What the number means.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Pass => "pass; or the command did what it was asked",
            Self::Fail => "fail: the system does not meet a bar",
            Self::Inconclusive => "inconclusive: nothing can be said of the system, and the cause is printed",
            Self::BadPlan => "the plan or the arguments are wrong; nothing was started",
            Self::Refused => "the target was refused: it cannot or must not be used",
            Self::Interrupted => "interrupted; the results so far are kept",
            Self::Internal => "internal error of scaler",
        }
    }

    /// The list as `--help` prints it.
    #[must_use]
    pub fn table() -> String {
        let lines = Self::ALL.iter().map(|exit| format!("  {:>2}  {}\n", exit.code(), exit.meaning()));
        format!("Exit codes:\n{}", lines.collect::<String>())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn the_codes_are_the_documented_ones() {
        assert_eq!(Exit::ALL.map(Exit::code), [0, 1, 2, 3, 4, 5, 70]);
    }
}
