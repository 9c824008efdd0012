//! Numbers from a record. Pure: the same record gives the same numbers, live or years later.
//!
//! [`metric`] finds who computes a metric; [`scope`] says over which time. Each other file knows one kind of subject.
//! Whatever the record does not support is [`measured::Measured::Unmeasured`] with its reason.

pub mod histogram;
pub mod measured;
#[cfg(test)]
pub(crate) mod sample_cell;
mod scope;
pub mod stats;
