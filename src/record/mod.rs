//! What happened, as data. Says nothing about good or bad.

pub mod cell;
pub mod entry;
#[cfg(test)]
pub(crate) mod fixture;
pub mod fold;
pub mod folder;
pub mod folder_error;
pub mod journal;
mod reading;
pub mod redact;
pub mod resume;
pub mod target;
