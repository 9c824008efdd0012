//! What an experiment costs, over all its steps.

use crate::plan::checked::StepEstimate;

/// The sum of time and traffic, and the largest need of disk and memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// The number of steps.
    pub steps: usize,
    /// Seconds, all steps, when each wait takes a tenth of its limit.
    pub seconds: f64,
    /// Seconds, all steps, when each wait takes its limit.
    pub seconds_at_most: f64,
    /// MQTT messages, all steps.
    pub messages: u64,
    /// Rows stored, all steps.
    pub rows: u64,
    /// Bytes on disk of the largest step.
    pub disk_bytes: Option<u64>,
    /// Bytes of the target's memory at the largest step.
    pub memory_bytes: Option<u64>,
}

impl Cost {
    /// Adds the steps up.
    #[must_use]
    pub fn of(steps: &[StepEstimate]) -> Self {
        Self {
            steps: steps.len(),
            seconds: steps.iter().map(|step| step.seconds).sum(),
            seconds_at_most: steps.iter().map(|step| step.seconds_at_most).sum(),
            messages: steps.iter().map(|step| step.messages).sum(),
            rows: steps.iter().map(|step| step.rows).sum(),
            disk_bytes: steps.iter().filter_map(|step| step.disk_bytes).max(),
            memory_bytes: steps.iter().filter_map(|step| step.memory_bytes).max(),
        }
    }
}
