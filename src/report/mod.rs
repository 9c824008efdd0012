//! What people see. Pure: everything returns text.

mod columns;
mod evidence;
pub mod layout;
pub mod list;
pub mod number;
pub mod plan_diff;
pub mod plan_estimate;
pub mod plan_show;
pub mod progress;
pub mod rejudged;
pub mod show;
pub mod summary;
mod surroundings;
pub mod table;

#[cfg(test)]
mod tests;
