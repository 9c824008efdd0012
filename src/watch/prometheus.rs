//! Numbers of a Prometheus exposition, selected by name and labels.

use crate::{
    ends::Ends,
    plan::watch::{PrometheusSelector, PrometheusWatch},
    watch::{
        exposition::{self, Metric},
        sampler::{Reader, Reading},
    },
    web::Web,
};

/// Scrapes a path.
pub(super) struct PrometheusReader {
    web: Web,
    watch: PrometheusWatch,
}

impl PrometheusReader {
    pub(super) fn new(watch: &PrometheusWatch, ends: &Ends) -> Result<Self, String> {
        Ok(Self { web: ends.web(&watch.connection)?, watch: watch.clone() })
    }
}

impl Reader for PrometheusReader {
    fn read(&mut self) -> Reading {
        let text = match self.web.text(&self.watch.path) {
            Ok(text) => text,
            Err(why) => return Reading::gap(why),
        };
        let metrics = match exposition::parse(&text) {
            Ok(metrics) => metrics,
            Err(why) => return Reading::gap(format!("GET {}: {why}", self.watch.path)),
        };
        let mut reading = Reading::default();
        for (series, selector) in &self.watch.series {
            reading.put(series, total(&metrics, selector));
        }
        reading
    }
}

/// The sum of all that a selector matches.
fn total(metrics: &[Metric], selector: &PrometheusSelector) -> Result<f64, String> {
    let matches = |metric: &&Metric| {
        let has = |(name, value): (&String, &String)| metric.labels.iter().any(|(key, is)| key == name && is == value);
        metric.name == selector.name && selector.labels.iter().all(has)
    };
    let mut values = metrics.iter().filter(matches).map(|metric| metric.value).peekable();
    if values.peek().is_none() {
        let labels: Vec<String> = selector.labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        return Err(format!("no sample {}{{{}}}", selector.name, labels.join(",")));
    }
    Ok(values.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(name: &str, labels: &[(&str, &str)]) -> PrometheusSelector {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        PrometheusSelector { name: name.to_owned(), labels }
    }

    #[test]
    fn several_matches_are_added_and_none_is_an_error() {
        let metrics = exposition::parse("q{s=\"a\",k=\"1\"} 2\nq{s=\"b\",k=\"1\"} 3\nq_total 9\n").unwrap();
        assert_eq!(total(&metrics, &selector("q", &[])), Ok(5.0));
        assert_eq!(total(&metrics, &selector("q", &[("s", "b")])), Ok(3.0));
        assert_eq!(total(&metrics, &selector("q", &[("s", "c")])), Err("no sample q{s=\"c\"}".to_owned()));
        assert_eq!(total(&metrics, &selector("gone", &[])), Err("no sample gone{}".to_owned()));
    }
}
