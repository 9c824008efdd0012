//! What people see. Pure: everything returns text.

pub mod layout;
pub mod number;
pub mod plan_diff;
pub mod plan_estimate;
pub mod plan_show;
