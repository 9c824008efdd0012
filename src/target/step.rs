//! A step: a process of the target that must end by itself before the ones behind it start, such as the making of a database cluster.

use std::time::{Duration, Instant};

use super::{child::describe, services::Services};
use crate::{plan::target::Service, run::world::Failure};

/// How often a step that runs is looked at, so that a stop of the target need not wait for it.
const LOOK: Duration = Duration::from_millis(50);

impl Services {
    /// Runs a step to its end and gives how long it took; it is killed when that is longer than `within`, or the target is stopped.
    pub(super) fn run_step(
        &self,
        name: &str,
        service: &Service,
        within: Duration,
        stops: u64,
    ) -> Result<Duration, Failure> {
        let refused = |why: String| Failure::Refused(format!("the step {name} did not succeed: {why}"));
        let begun = Instant::now();
        let running = self.spawn(name, service).map_err(|error| refused(error.to_string()))?;
        loop {
            match running.child().wait_within(LOOK) {
                Some(status) if status.success() => return Ok(begun.elapsed()),
                Some(status) => return Err(refused(format!("{}; {}", describe(status), running.last_words()))),
                None if self.stops_so_far() != stops => {
                    running.child().kill();
                    return Err(Failure::Failed(format!("the step {name} was given up")));
                }
                None if begun.elapsed() >= within => {
                    running.child().kill();
                    let words = running.last_words();
                    return Err(refused(format!("killed after {} s; {words}", within.as_secs_f64())));
                }
                None => {}
            }
        }
    }
}
