//! Jobs: begun by a POST, run beside the reads, and asked for by their number until they report, whatever the report is.

use std::collections::BTreeMap;

use serde::Serialize;

/// The most jobs that are remembered; the oldest is forgotten for a new one.
const REMEMBERED: usize = 1_000;

/// Where a job is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It works.
    Running,
    /// It has reported.
    Done,
    /// It could not do its work.
    Failed,
}

/// A job as it is told, with a report of kind `R`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Job<R> {
    /// Its number.
    pub(super) id: u64,
    /// Where it is.
    pub(super) state: State,
    /// What it found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) report: Option<R>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// All jobs.
#[derive(Debug)]
pub(super) struct Jobs<R> {
    known: BTreeMap<u64, Job<R>>,
    begun: u64,
}

impl<R> Default for Jobs<R> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), begun: 0 }
    }
}

impl<R: Clone> Jobs<R> {
    /// A new job that runs.
    pub(super) fn begin(&mut self) -> Job<R> {
        self.begun += 1;
        let job = Job { id: self.begun, state: State::Running, report: None, error: None };
        self.known.insert(job.id, job.clone());
        if self.known.len() > REMEMBERED {
            self.known.pop_first();
        }
        job
    }

    /// A job has ended.
    pub(super) fn end(&mut self, id: u64, outcome: Result<R, String>) {
        let Some(job) = self.known.get_mut(&id) else { return };
        match outcome {
            Ok(report) => (job.state, job.report) = (State::Done, Some(report)),
            Err(error) => (job.state, job.error) = (State::Failed, Some(error)),
        }
    }

    /// A job by its number.
    pub(super) fn get(&self, id: u64) -> Option<&Job<R>> {
        self.known.get(&id)
    }

    /// How many were begun, and how many of those that are remembered have reported.
    pub(super) fn counts(&self) -> (u64, u64) {
        let done = self.known.values().filter(|job| job.state == State::Done).count();
        (self.begun, done as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_runs_and_ends_and_the_oldest_is_forgotten() {
        let mut jobs = Jobs::default();
        let first = jobs.begin().id;
        assert_eq!(jobs.get(first).map(|job| &job.state), Some(&State::Running));
        jobs.end(first, Ok(7));
        let second = jobs.begin().id;
        jobs.end(second, Err("the store is away".to_owned()));
        assert_eq!(jobs.get(first).and_then(|job| job.report), Some(7));
        assert_eq!(jobs.get(second).map(|job| &job.state), Some(&State::Failed));
        assert_eq!(jobs.counts(), (2, 1));
        (0..REMEMBERED).for_each(|_| drop(jobs.begin()));
        assert_eq!(jobs.get(second), None);
        jobs.end(second, Ok(7));
        assert_eq!(jobs.get(second), None);
    }
}
