//! The integration tests: the real program, real files, real processes.

mod load;
