//! Metrics in the Prometheus text format, version 0.0.4.

use std::fmt::{Display, Write};

/// Collects metrics into a text.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    text: String,
    family: String,
}

impl Metrics {
    /// The format's content type.
    pub(super) const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4";

    /// Adds a counter.
    pub(super) fn counter(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        self.add(name, "counter", help, labels, value);
    }

    /// Adds a gauge.
    pub(super) fn gauge(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        self.add(name, "gauge", help, labels, value);
    }

    fn add(&mut self, name: &str, kind: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        // Writing to a String cannot fail, so the results of `write!` are dropped.
        if self.family != name {
            let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            name.clone_into(&mut self.family);
        }
        self.text.push_str(name);
        for (index, (key, label)) in labels.iter().enumerate() {
            let label = label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{}{key}=\"{label}\"", if index == 0 { '{' } else { ',' });
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{close} {value}");
    }

    /// The whole text.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_described_once_and_labels_are_escaped() {
        let mut metrics = Metrics::default();
        metrics.gauge("depth", "Messages.", &[("session", "a\"b\\")], 3);
        metrics.gauge("depth", "Messages.", &[("session", "c"), ("kind", "d")], 4);
        metrics.counter("total", "All.", &[], 5);
        let expected = "# HELP depth Messages.\n# TYPE depth gauge\ndepth{session=\"a\\\"b\\\\\"} 3\ndepth{session=\"c\",kind=\"d\"} 4\n\
                        # HELP total All.\n# TYPE total counter\ntotal 5\n";
        assert_eq!(metrics.into_text(), expected);
    }
}
