//! Jobs: begun by a POST, run beside the reads, and asked for by their number until they report.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::reference::store::{Reader, StoreError, Whose};

/// The most jobs that are remembered; the oldest is forgotten for a new one.
const REMEMBERED: usize = 1_000;
/// The newest readings of each point that a job looks at.
const DEPTH: u32 = 1_000;

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

/// A job as it is told at `/jobs/ID`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Job {
    /// Its number.
    pub(super) id: u64,
    /// Where it is.
    pub(super) state: State,
    /// What it found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) report: Option<Report>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// What a job finds: a look at the newest readings of every point that has tags.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Report {
    /// Points with tags.
    points: u64,
    /// Those of them without a reading.
    silent: u64,
    /// Readings looked at.
    rows: u64,
    /// The mean of their values; none without a reading.
    mean: Option<f64>,
}

impl Report {
    /// Reads and sums up.
    pub(super) fn make(reader: &mut dyn Reader) -> Result<Self, StoreError> {
        let histories = reader.history(&Whose::All, DEPTH)?;
        let (mut rows, mut sum, mut silent) = (0_u32, 0.0, 0);
        for history in &histories {
            silent += u64::from(history.readings.is_empty());
            for (_, value) in &history.readings {
                (rows, sum) = (rows.saturating_add(1), sum + value);
            }
        }
        let mean = (rows > 0).then(|| sum / f64::from(rows));
        Ok(Self { points: histories.len() as u64, silent, rows: rows.into(), mean })
    }
}

/// All jobs.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    known: BTreeMap<u64, Job>,
    begun: u64,
}

impl Jobs {
    /// A new job that runs.
    pub(super) fn begin(&mut self) -> Job {
        self.begun += 1;
        let job = Job { id: self.begun, state: State::Running, report: None, error: None };
        self.known.insert(job.id, job.clone());
        if self.known.len() > REMEMBERED {
            self.known.pop_first();
        }
        job
    }

    /// A job has ended.
    pub(super) fn end(&mut self, id: u64, outcome: Result<Report, String>) {
        let Some(job) = self.known.get_mut(&id) else { return };
        match outcome {
            Ok(report) => (job.state, job.report) = (State::Done, Some(report)),
            Err(error) => (job.state, job.error) = (State::Failed, Some(error)),
        }
    }

    /// A job by its number.
    pub(super) fn get(&self, id: u64) -> Option<&Job> {
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
        let report = Report { points: 1, silent: 0, rows: 2, mean: Some(0.5) };
        jobs.end(first, Ok(report));
        let second = jobs.begin().id;
        jobs.end(second, Err("the store is away".to_owned()));
        assert_eq!(jobs.get(first).and_then(|job| job.report), Some(report));
        assert_eq!(jobs.get(second).map(|job| &job.state), Some(&State::Failed));
        assert_eq!(jobs.counts(), (2, 1));
        (0..REMEMBERED).for_each(|_| drop(jobs.begin()));
        assert_eq!(jobs.get(second), None);
        jobs.end(second, Ok(report));
        assert_eq!(jobs.get(second), None);
    }
}
