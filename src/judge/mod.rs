//! Good or bad. Pure: what is decided live and what is decided again from an old result come from the same functions.

#![cfg_attr(test, expect(clippy::float_cmp, reason = "the tests compare values that are exact by construction"))]

mod bottleneck;
mod caveats;
mod cell;
mod gate;
mod histograms;
pub mod ladder;
pub mod live_safety;
mod order;
pub mod rejudge;
pub mod result;
pub mod schema;
mod told;
pub mod verdict;

pub use cell::judge_cell;
pub use ladder::judge_run;
