//! The one integration-test binary: one module for each area. The real program, real files, real processes.

mod around;
mod bad_plans;
mod clean;
mod cli;
mod end_to_end;
mod ending;
mod house;
mod load;
mod native;
mod plans;
mod ran;
mod reference;
mod results;
mod taplo;
mod truth;
mod world;
