//! What the tests of the real world share.

#[expect(dead_code, reason = "the tests on an engine need a part of it")]
#[path = "../it/world/bench.rs"]
pub(crate) mod bench;
