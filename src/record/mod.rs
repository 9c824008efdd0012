//! What happened, as data. Says nothing about good or bad.

pub mod entry;
