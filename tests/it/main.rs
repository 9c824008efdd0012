//! The integration tests: one binary, one module an area.

mod load;
mod results;
