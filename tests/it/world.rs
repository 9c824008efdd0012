//! The real world: processes that are killed, databases that restart, brokers that forget.
#![expect(clippy::float_cmp, reason = "the numbers are counts, and exact")]

pub(crate) mod bench;
mod kill;
mod mqtt;
mod postgres;
mod target;
mod watch;
mod web;
