//! The broker's own counters. A topic that was never seen, or a connection that is down, is a gap.

use indexmap::IndexMap;

use crate::{
    ends::Ends,
    load::subscription::Subscription,
    plan::watch::MqttSysWatch,
    watch::sampler::{Reader, Reading},
};

/// Keeps the latest message of each topic.
pub(super) struct MqttSysReader {
    subscription: Subscription,
    series: IndexMap<String, String>,
}

impl MqttSysReader {
    pub(super) fn new(name: &str, watch: &MqttSysWatch, ends: &Ends) -> Result<Self, String> {
        let mqtt = ends.mqtt(&watch.connection)?;
        let topics = watch.series.values().cloned().collect();
        let ca_pem = ends.ca_pem(mqtt)?;
        let subscription = Subscription::start(mqtt, ca_pem.as_deref(), &format!("watch-{name}"), topics)?;
        Ok(Self { subscription, series: watch.series.clone() })
    }
}

impl Reader for MqttSysReader {
    fn read(&mut self) -> Reading {
        // What arrived before the connection was lost says nothing of now.
        if let Some(trouble) = self.subscription.trouble() {
            return Reading::gap(trouble);
        }
        let mut reading = Reading::default();
        for (series, topic) in &self.series {
            let latest = self.subscription.latest(topic);
            let value = latest.ok_or_else(|| format!("no message on {topic} so far"));
            reading.put(series, value.and_then(|latest| number(topic, &latest.payload)));
        }
        reading
    }
}

/// The number at the start of a payload; some counters have a unit behind it, as in `12 seconds`.
fn number(topic: &str, payload: &[u8]) -> Result<f64, String> {
    let text = String::from_utf8_lossy(payload);
    let word = text.split_whitespace().next().unwrap_or_default();
    word.parse().map_err(|_| format!("{topic} holds no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_counters() {
        assert_eq!(number("t", b"12"), Ok(12.0));
        assert_eq!(number("t", b"12.5 seconds"), Ok(12.5));
        assert_eq!(number("t", b"mosquitto version 2"), Err("t holds no number".to_owned()));
        assert_eq!(number("t", b""), Err("t holds no number".to_owned()));
    }
}
