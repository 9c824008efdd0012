//! `scaler guardian`: listens on standard input to what its scaler starts, and kills what is left when that scaler is gone.
//!
//! Like `scaler launch` it is no verb for people, so it stands beside the arguments that they give and not among them.

use std::ffi::OsString;

use super::{Failure, Outcome, exit::Exit};
use crate::target::guardian::{VERB, guard};

/// Whether these are the arguments of a guardian.
pub(super) fn is_meant(arguments: &[OsString]) -> bool {
    matches!(arguments, [_, verb] if verb == VERB)
}

/// Returns when the scaler that started it is gone and nothing of it is left.
pub(super) fn run() -> Outcome {
    guard(std::io::stdin().lock())
        .map_err(|error| Failure::internal(format!("the guardian lost its scaler: {error}")))?;
    Ok(Exit::Pass)
}
