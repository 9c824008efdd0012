//! Good or bad. Pure: what is decided live and what is decided again from an old result come from the same functions.

pub mod verdict;
