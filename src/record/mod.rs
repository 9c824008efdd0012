//! What happened, as data. Says nothing about good or bad.

pub mod cell;
pub mod entry;
pub mod fold;
pub mod redact;
