//! Integration tests: one binary, real processes, real sockets.

mod reference;
