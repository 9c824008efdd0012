//! All integration tests, in one binary: real sockets, real processes, real files.

mod guard;
