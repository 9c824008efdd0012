//! Tests on a real container engine and the real Compose: `tests/run` starts what they need and runs them.

mod compose;
mod guard;
mod pipeline;
#[expect(dead_code, reason = "the tests on an engine need a part of it")]
#[path = "../it/ran.rs"]
mod ran;
mod world;
