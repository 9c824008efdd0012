//! Which messages faults spare: a run cannot proceed without its tags, and a canary that is dropped by design would tell of lag.

/// Endings and prefixes of topics that are no readings.
#[derive(Clone, Debug)]
pub(super) struct Spare {
    endings: Vec<String>,
    prefixes: Vec<String>,
}

impl Spare {
    /// Spares topics with one of these endings or prefixes.
    pub(super) fn new(endings: &[String], prefixes: &[String]) -> Self {
        Self { endings: endings.to_vec(), prefixes: prefixes.to_vec() }
    }

    /// Whether faults leave a topic alone.
    pub(super) fn covers(&self, topic: &str) -> bool {
        self.endings.iter().any(|ending| topic.ends_with(ending.as_str()))
            || self.prefixes.iter().any(|prefix| topic.starts_with(prefix.as_str()))
    }
}
