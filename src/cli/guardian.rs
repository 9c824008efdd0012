//! `scaler guardian`: listens on standard input to what its scaler starts, and kills what is left when that scaler is gone.

use super::{Failure, Outcome, exit::Exit};
use crate::target::guardian::guard;

pub(super) fn run() -> Outcome {
    guard(std::io::stdin().lock())
        .map_err(|error| Failure::internal(format!("the guardian lost its scaler: {error}")))?;
    Ok(Exit::Pass)
}
