//! What people see. Pure: everything returns text.

pub mod plan_diff;
pub mod plan_estimate;
