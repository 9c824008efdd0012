//! A load's topic and payload, compiled once into segments, so that the hot loop formats numbers and nothing else. Pure.
//!
//! A payload that is a text is sent as it stands. A table becomes compact JSON; in it, a string that is only one placeholder keeps the
//! value's type (`"{{ value }}"` is a number, `"{{ topic }}"` a string), and every other string is filled and escaped.

use serde_json::Value;

use super::{
    fleet::Layout,
    segment::{Builder, Place, Segment},
    stamp::Stamp,
    value,
};
use crate::plan::load::TimestampFormat;

/// The placeholders of a reading.
pub const PLACEHOLDERS: [&str; 8] = ["site", "equip", "label", "point", "value", "ts", "sequence", "topic"];

/// The longest topic that MQTT can carry, bytes.
const LONGEST_TOPIC: usize = 65_535;

/// What distinguishes one reading from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The point's index.
    pub point: u64,
    /// How many readings of the point came before it; `{{ sequence }}`.
    pub tick: u64,
    /// The value in units of 1/1024.
    pub value: i64,
    /// The due time, Unix nanoseconds.
    pub unix_ns: u64,
}

/// A compiled topic and payload.
#[derive(Clone, Debug)]
pub struct Envelope {
    topic: Vec<Segment>,
    payload: Vec<Segment>,
    layout: Layout,
    labels: Vec<Label>,
    /// Whether a topic can be copied into JSON as it is.
    plain_topic: bool,
    stamp: Stamp,
}

#[derive(Clone, Debug)]
struct Label {
    raw: Box<[u8]>,
    escaped: Box<[u8]>,
}

impl Envelope {
    /// Compiles the templates of a fleet's readings.
    ///
    /// # Errors
    /// An unknown placeholder, an expression where only names are filled, or a topic that MQTT does not allow; says which.
    pub fn compile(topic: &str, payload: &Value, ts: TimestampFormat, layout: Layout) -> Result<Self, String> {
        let mut builder = Builder::new(&PLACEHOLDERS[..7]);
        builder.text(topic, Place::Raw).map_err(|error| format!("topic {topic:?}: {error}"))?;
        let topic_segments = builder.finish();
        let mut builder = Builder::new(&PLACEHOLDERS);
        let quoted = ts == TimestampFormat::Rfc3339;
        match payload {
            Value::String(text) => builder.text(text, Place::Raw),
            table => builder.json(table, quoted),
        }
        .map_err(|error| format!("payload {payload}: {error}"))?;
        let labels: Vec<Label> = layout.labels().iter().map(|label| Label::new(label)).collect();
        check_topic(topic, &topic_segments, &labels)?;
        let plain = |segment: &Segment| !matches!(segment, Segment::Literal(text) if needs_escape(text));
        let uses_label = topic_segments.iter().any(|segment| matches!(segment, Segment::Label | Segment::LabelJson));
        let plain_topic =
            topic_segments.iter().all(plain) && (!uses_label || labels.iter().all(|label| label.raw == label.escaped));
        Ok(Self {
            topic: topic_segments,
            payload: builder.finish(),
            layout,
            labels,
            plain_topic,
            stamp: Stamp::new(ts),
        })
    }

    /// Writes a reading's topic.
    pub fn write_topic(&self, facts: &Facts, out: &mut Vec<u8>) {
        for segment in &self.topic {
            self.write_common(segment, facts, out);
        }
    }

    /// A reading's topic.
    #[must_use]
    pub fn topic(&self, facts: &Facts) -> String {
        let mut out = Vec::new();
        self.write_topic(facts, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The envelope with its timestamp at this time, Unix nanoseconds; the text of a timestamp is kept as long as its millisecond lasts.
    #[inline]
    pub fn at(&mut self, unix_ns: u64) -> &Self {
        self.stamp.advance(unix_ns);
        self
    }

    /// Writes a reading's payload, with the timestamp of [`Envelope::at`]; the topic was written to the same buffer, at the place `topic`.
    pub fn write_payload(&self, facts: &Facts, topic: std::ops::Range<usize>, out: &mut Vec<u8>) {
        for segment in &self.payload {
            match segment {
                Segment::Topic => out.extend_from_within(topic.clone()),
                Segment::TopicJson if self.plain_topic => out.extend_from_within(topic.clone()),
                Segment::TopicJson => {
                    let escaped = escape(&String::from_utf8_lossy(&out[topic.clone()]));
                    out.extend_from_slice(escaped.as_bytes());
                }
                Segment::Ts => out.extend_from_slice(self.stamp.text()),
                Segment::Value => value::write(facts.value, out),
                other => self.write_common(other, facts, out),
            }
        }
    }

    #[inline]
    fn write_common(&self, segment: &Segment, facts: &Facts, out: &mut Vec<u8>) {
        let number = match segment {
            Segment::Literal(text) => return out.extend_from_slice(text),
            Segment::Label => return out.extend_from_slice(&self.labels[self.layout.label_index(facts.point)].raw),
            Segment::LabelJson => {
                return out.extend_from_slice(&self.labels[self.layout.label_index(facts.point)].escaped);
            }
            Segment::Value => return value::write(facts.value, out),
            Segment::Ts => return out.extend_from_slice(Stamp::at(self.stamp.format(), facts.unix_ns).text()),
            Segment::Topic | Segment::TopicJson => return,
            Segment::Site => self.layout.site(self.layout.equip(facts.point)),
            Segment::Equip => self.layout.equip(facts.point),
            Segment::Point => facts.point,
            Segment::Sequence => facts.tick,
        };
        out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }
}

impl Label {
    fn new(label: &str) -> Self {
        Self { raw: label.as_bytes().into(), escaped: escape(label).into_bytes().into() }
    }
}

fn check_topic(topic: &str, segments: &[Segment], labels: &[Label]) -> Result<(), String> {
    let longest_label = labels.iter().map(|label| label.raw.len()).max().unwrap_or_default();
    let longest: usize = segments
        .iter()
        .map(|segment| match segment {
            Segment::Literal(text) => text.len(),
            Segment::Label | Segment::LabelJson => longest_label,
            _ => 24, // no number and no timestamp is longer
        })
        .sum();
    if longest == 0 || longest > LONGEST_TOPIC {
        return Err(format!("topic {topic:?}: a topic has 1 to {LONGEST_TOPIC} bytes"));
    }
    let forbidden = |text: &[u8]| text.iter().any(|byte| matches!(byte, b'+' | b'#' | 0));
    let in_literal = segments.iter().any(|segment| matches!(segment, Segment::Literal(text) if forbidden(text)));
    let uses_label = segments.iter().any(|segment| matches!(segment, Segment::Label));
    if in_literal || (uses_label && labels.iter().any(|label| forbidden(&label.raw))) {
        return Err(format!("topic {topic:?}: `+`, `#` and NUL are not allowed in the topic of a publish"));
    }
    Ok(())
}

fn needs_escape(text: &[u8]) -> bool {
    text.iter().any(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\')
}

/// The text as it stands between the quotes of a JSON string.
pub(super) fn escape(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::plan::{fleet::Fleet, quantity::Count};

    const FACTS: Facts = Facts { point: 512, tick: 3, value: 12_800, unix_ns: 1_700_000_000_123_999_999 };

    fn layout(labels: &[&str]) -> Layout {
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        Layout::new(&Fleet { points: Count(1000), points_per_equip: 10, equips_per_site: 50, labels }).unwrap()
    }

    fn compile(topic: &str, payload: &Value) -> Result<Envelope, String> {
        Envelope::compile(topic, payload, TimestampFormat::UnixMs, layout(&["temp", "flow"]))
    }

    fn render(envelope: &mut Envelope, facts: &Facts) -> (String, String) {
        let mut out = Vec::new();
        envelope.write_topic(facts, &mut out);
        let topic = 0..out.len();
        envelope.at(facts.unix_ns).write_payload(facts, topic.clone(), &mut out);
        let payload = out.split_off(topic.end);
        (String::from_utf8(out).unwrap(), String::from_utf8(payload).unwrap())
    }

    #[test]
    fn the_readings_of_the_quickstart() {
        let payload = json!({"point": "{{ topic }}", "value": "{{ value }}", "ts": "{{ts}}"});
        let mut envelope = compile("fbf/scale/s{{ site }}/e{{ equip }}/{{ label }}", &payload).unwrap();
        let (topic, payload) = render(&mut envelope, &FACTS);
        assert_eq!(topic, "fbf/scale/s1/e51/temp_2");
        assert_eq!(payload, r#"{"point":"fbf/scale/s1/e51/temp_2","value":12.5,"ts":1700000000123}"#);
    }

    #[test]
    fn types_are_kept_and_texts_are_escaped() {
        let payload = json!({"n": ["{{ site }}", "{{ point }}", "{{ sequence }}", "{{ label }}", 1.5, true, null],
            "t": "s\"{{ site }} {{ topic }}", "a\"b": {}});
        let (_, payload) = render(&mut compile("t/{{ point }}", &payload).unwrap(), &FACTS);
        let read: Value = serde_json::from_str(&payload).unwrap();
        assert_eq!(read, json!({"n": [1, 512, 3, "temp_2", 1.5, true, null], "t": "s\"1 t/512", "a\"b": {}}));
    }

    #[test]
    fn texts_are_sent_as_they_stand_and_timestamps_as_asked() {
        let rows = [
            (TimestampFormat::UnixMs, "1700000000123"),
            (TimestampFormat::UnixS, "1700000000.123"),
            (TimestampFormat::Rfc3339, "2023-11-14T22:13:20.123Z"),
        ];
        for (format, want) in rows {
            let mut text = Envelope::compile("t", &json!("{{ value }};\"{{ ts }}"), format, layout(&[])).unwrap();
            assert_eq!(render(&mut text, &FACTS).1, format!("12.5;\"{want}"));
            let mut table = Envelope::compile("t", &json!(["{{ ts }}"]), format, layout(&[])).unwrap();
            let quote = if format == TimestampFormat::Rfc3339 { "\"" } else { "" };
            assert_eq!(render(&mut table, &FACTS).1, format!("[{quote}{want}{quote}]"));
        }
    }

    #[test]
    fn mistakes_are_named() {
        let rows = [
            ("t/{{ lable }}", json!({}), "unknown placeholder `lable`; did you mean `label`?"),
            ("t/{{ topic }}", json!({}), "unknown placeholder `topic`"),
            ("t", json!({"v": "{{ value | round }}"}), "`{{ value | round }}` is an expression"),
            ("t", json!({"{{ label }}": 1}), "placeholders in keys are not filled"),
            ("t", json!("{{ value "), "`{{` without `}}`"),
            ("a/#", json!({}), "not allowed in the topic"),
            ("", json!({}), "a topic has 1 to"),
        ];
        for (topic, payload, want) in rows {
            let error = compile(topic, &payload).unwrap_err();
            assert!(error.contains(want), "{error}");
        }
    }

    proptest! {
        /// Whatever a table holds, what comes out is JSON with the same texts, placeholders apart.
        #[test]
        fn any_table_becomes_valid_json(key in "[^{}]*", before in "[^{}]*", after in "[^{}]*", label in "[^{}+#\0]{1,8}", topic in "[^{}+#\0]{1,20}") {
            let payload = json!({key.clone(): format!("{before}{{{{ label }}}}{after}"), "topic": "{{ topic }}"});
            let mut envelope = Envelope::compile(&topic, &payload, TimestampFormat::UnixMs, layout(&[&label])).unwrap();
            let facts = Facts { point: 0, ..FACTS };
            let read: Value = serde_json::from_str(&render(&mut envelope, &facts).1).unwrap();
            if key != "topic" {
                prop_assert_eq!(read[&key].as_str().unwrap(), format!("{before}{label}{after}"));
            }
            prop_assert_eq!(read["topic"].as_str().unwrap(), topic);
        }

        #[test]
        fn no_template_panics(text in "[ {}a-z|%#\"]{0,40}") {
            let _ = compile(&text, &json!({"v": text}));
        }
    }
}
