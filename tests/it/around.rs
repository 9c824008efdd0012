//! Faults around the target, through the real binary: the generator that is held up, the path, the disks, the live service, the limits.
//!
//! Each test knows the truth from somewhere else than scaler, and demands exactly that truth, the right word and cause, and nothing else broken.

mod broker;
mod clock;
mod database;
mod disk;
mod generator;
mod limits;
mod live;
mod path;

use crate::{
    end_to_end::Bench,
    ran::{Going, assert_custody_is_whole, assert_no_ceiling, cause, events, standing, stderr, total},
};

impl Going {
    fn start(bench: &Bench, plan: &str, sets: &[&str]) -> Self {
        Self::of(bench.results.path(), bench.command(plan, sets))
    }
}
