//! Stands in for the generator until it is merged.

use std::time::Instant;

/// The clock of the run.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    /// The start of the run.
    pub start: Instant,
    /// The wall clock at that moment, Unix milliseconds.
    pub wall_unix_ms_at_start: u64,
}
