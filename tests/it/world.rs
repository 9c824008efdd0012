//! The real world: processes that are killed, databases that restart, brokers that forget.

mod bench;
mod kill;
mod mqtt;
mod postgres;
mod target;
mod watch;
mod web;
