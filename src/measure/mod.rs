//! Numbers from a record. Pure: the same record gives the same numbers, live or years later.

pub mod measured;
