//! The system under test: how it is started, stopped and proven.

pub mod compose;
