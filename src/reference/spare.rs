//! Which messages faults spare: a run cannot proceed without its tags, and a canary that is dropped by design would tell of lag.

use clap::Args;

/// Endings and prefixes of topics that are no readings.
#[derive(Clone, Debug, Args)]
pub struct Spare {
    /// Topics with this ending are no readings and are spared by faults; may be repeated
    #[arg(long = "fault-spare-ending", value_name = "ENDING", default_value = "/tags")]
    endings: Vec<String>,
    /// Topics under this prefix are spared by faults; may be repeated
    #[arg(long = "fault-spare-prefix", value_name = "PREFIX", default_values = ["fbf/canary", "fbf/scale/canary", "fbf/scale/preflight"])]
    prefixes: Vec<String>,
}

impl Spare {
    /// Whether faults leave a topic alone.
    pub(super) fn covers(&self, topic: &str) -> bool {
        self.endings.iter().any(|ending| topic.ends_with(ending.as_str()))
            || self.prefixes.iter().any(|prefix| topic.starts_with(prefix.as_str()))
    }
}
