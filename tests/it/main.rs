//! The one integration-test binary: one module for each area.

mod bad_plans;
mod plans;
