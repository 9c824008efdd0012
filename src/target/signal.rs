//! The signals that a plan may name, as the system knows them.

use rustix::process::Signal;

use crate::plan::phase;

/// The system's signal.
pub(super) fn number(signal: phase::Signal) -> Signal {
    match signal {
        phase::Signal::SigKill => Signal::KILL,
        phase::Signal::SigTerm => Signal::TERM,
        phase::Signal::SigAbrt => Signal::ABORT,
        phase::Signal::SigInt => Signal::INT,
        phase::Signal::SigQuit => Signal::QUIT,
        phase::Signal::SigHup => Signal::HUP,
    }
}
