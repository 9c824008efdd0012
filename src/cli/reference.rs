//! `scaler reference …`: the servers of the reference target.

use super::{Exit, Outcome, screen};
use crate::reference::{self, ReferenceCommand};

pub(super) fn run(command: ReferenceCommand) -> Outcome {
    if let Some(text) = reference::run(command)? {
        screen::print(&text);
    }
    Ok(Exit::Pass)
}
