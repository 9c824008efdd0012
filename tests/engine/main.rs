//! Tests on a real container engine and the real Compose: `tests/on-engine` starts what they need and runs them.

mod compose;
mod guard;
mod world;
