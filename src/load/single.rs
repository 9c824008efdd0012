//! Single readings on a topic of their own: a canary's, and the preflight of a load. Pure.

use serde_json::Value;

use super::{
    MqttLoad,
    fleet::Layout,
    message::Outgoing,
    segment::{Builder, Place, Segment},
    stamp::Stamp,
    template::{Envelope, Facts, escape},
    value,
};
use crate::plan::{load::TimestampFormat, watch::Canary};

/// Units of a value in one.
const UNITS: i64 = 1024;

/// A canary's reading with its number as the value.
///
/// # Errors
/// A placeholder that is not `value`, `ts` or `topic`.
pub fn canary(canary: &Canary, number: u64, unix_ms: u64) -> Result<Outgoing, String> {
    let mut builder = Builder::new(&["value", "ts", "topic"]);
    match &canary.payload {
        Value::String(text) => builder.text(text, Place::Raw),
        table => builder.json(table, canary.ts == TimestampFormat::Rfc3339),
    }
    .map_err(|error| format!("canary payload {}: {error}", canary.payload))?;
    let stamp = Stamp::at(canary.ts, unix_ms * 1_000_000);
    let mut payload = Vec::new();
    for segment in builder.finish() {
        match segment {
            Segment::Literal(text) => payload.extend_from_slice(&text),
            Segment::Topic => payload.extend_from_slice(canary.topic.as_bytes()),
            Segment::TopicJson => payload.extend_from_slice(escape(&canary.topic).as_bytes()),
            Segment::Ts => payload.extend_from_slice(stamp.text()),
            _ => value::write(number.cast_signed().saturating_mul(UNITS), &mut payload),
        }
    }
    Ok(Outgoing { topic: canary.topic.clone(), payload, qos: 1, retain: false })
}

/// A reading of a load's shape, quality and account on another topic; its point is the first one.
///
/// # Errors
/// A template that cannot be used.
pub fn preflight(load: &MqttLoad, topic: &str, unix_ms: u64) -> Result<Outgoing, String> {
    let layout = Layout::new(&load.fleet)?;
    let mut envelope = Envelope::compile(topic, &load.plan.payload, load.plan.ts, layout)?;
    let facts = Facts { point: 0, tick: 0, value: UNITS, unix_ns: unix_ms * 1_000_000 };
    let mut text = Vec::new();
    envelope.write_topic(&facts, &mut text);
    let place = 0..text.len();
    envelope.at(facts.unix_ns).write_payload(&facts, place.clone(), &mut text);
    let payload = text.split_off(place.end);
    let topic = String::from_utf8(text).map_err(|error| format!("topic {topic:?}: {error}"))?;
    Ok(Outgoing { topic, payload, qos: load.plan.qos, retain: load.plan.retain })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(topic: &str, payload: &Value) -> Canary {
        let table = json!({"connection": "b", "topic": topic, "payload": payload, "seen": "q"});
        serde_json::from_value(table).unwrap()
    }

    #[test]
    fn a_canary_carries_its_number() {
        let payload = json!({"point": "{{ topic }}", "value": "{{ value }}", "ts": "{{ ts }}"});
        let message = canary(&plan("c/\"lag\"", &payload), 7, 1_700_000_000_123).unwrap();
        let text = String::from_utf8(message.payload).unwrap();
        assert_eq!(text, r#"{"point":"c/\"lag\"","value":7,"ts":1700000000123}"#);
        let error = canary(&plan("c", &json!("{{ site }}")), 1, 0).unwrap_err();
        assert!(error.contains("unknown placeholder `site`"), "{error}");
    }

    #[test]
    fn a_preflight_reading_has_the_shape_of_the_load() {
        let load = MqttLoad {
            name: "readings".to_owned(),
            plan: serde_json::from_value(json!({
                "connection": "b", "interval": "5s", "topic": "t/{{ label }}", "retain": true,
                "payload": {"point": "{{ topic }}", "n": "{{ site }}", "value": "{{ value }}", "ts": "{{ ts }}"},
            }))
            .unwrap(),
            fleet: serde_json::from_value(json!({"points": 10})).unwrap(),
            mqtt: serde_json::from_value(json!({"url": "mqtt://h"})).unwrap(),
            ca_pem: None,
        };
        let message = preflight(&load, "t/preflight", 5).unwrap();
        let text = String::from_utf8(message.payload).unwrap();
        assert_eq!(text, r#"{"point":"t/preflight","n":0,"value":1,"ts":5}"#);
        assert_eq!((message.topic.as_str(), message.qos, message.retain), ("t/preflight", 1, true));
    }
}
