//! `exec`: run a command to its end.

use super::super::{
    interpreter::{Halt, Interpreter},
    world::{Answer, Call},
};
use crate::{
    plan::phase::ExecPhase,
    record::entry::{Entry, Ran},
};

/// How much of what a command printed is kept.
const KEPT_CHARS: usize = 4_000;

impl Interpreter<'_> {
    pub(super) fn exec(&mut self, name: &str, exec: &ExecPhase) -> Result<(), Halt> {
        let begun = self.now();
        let call = Call::Command { command: exec.command.clone(), within: exec.within.0 };
        let (wrong, output) = match self.try_ask(call)? {
            Ok(Answer::Output { status: 0, stdout, .. }) => (None, stdout),
            Ok(Answer::Output { status, stdout, stderr, .. }) => {
                (Some(format!("exit status {status}: {}", stderr.trim())), stdout)
            }
            Ok(_) => (Some("the world gave an answer of another kind".to_owned()), String::new()),
            Err(failure) => (Some(failure.reason().to_owned()), String::new()),
        };
        let seconds = self.now() - begun;
        self.ran(Ran { window: name.to_owned(), seconds, wrong, output: output.chars().take(KEPT_CHARS).collect() })
    }

    /// Journals the end of a command or statement; one that failed ends the cell.
    pub(super) fn ran(&mut self, ran: Ran) -> Result<(), Halt> {
        let wrong = ran.wrong.clone();
        self.record(Entry::Ran(ran))?;
        wrong.map_or(Ok(()), |reason| Err(Halt::PhaseFailed(reason)))
    }
}
