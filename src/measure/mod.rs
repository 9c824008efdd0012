//! Numbers from a record. Pure: the same record gives the same numbers, live or years later.
//!
//! [`metric`] finds who computes a metric, `scope` says over which time, and each other file knows one kind of subject.
//! Whatever the record does not support is [`measured::Measured::Unmeasured`] with its reason.

#![cfg_attr(test, expect(clippy::float_cmp, reason = "the tests compare values that are exact by construction"))]

mod asked;
#[cfg(test)]
mod complete;
pub mod custody;
#[cfg(test)]
mod custody_tests;
mod durability;
mod growth;
pub mod histogram;
mod identity;
pub mod kills;
mod lag;
pub mod live;
pub mod measured;
pub mod metric;
mod outages;
mod pace;
mod percentile;
mod phases;
mod probes;
mod reconcile;
#[cfg(test)]
pub(crate) mod sample_cell;
mod scope;
pub mod series;
pub mod stats;

pub use metric::{all, measure};
