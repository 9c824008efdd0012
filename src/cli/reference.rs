//! `scaler reference …`: the servers of the reference target.

use super::{Exit, Outcome};
use crate::reference::{self, ReferenceCommand};

pub(super) fn run(command: ReferenceCommand) -> Outcome {
    reference::run(command)?;
    Ok(Exit::Pass)
}
