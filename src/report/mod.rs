//! What people see. Pure: a result in, text out.

mod columns;
mod evidence;
pub mod layout;
pub mod list;
pub mod number;
pub mod progress;
pub mod rejudged;
pub mod show;
pub mod summary;
pub mod table;
