//! What a message means: a reading, the tags of a point, or the tags of an equipment. Pure.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, Visitor},
};
use serde_json::Value;

/// A message's meaning.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// A value at a time.
    Reading {
        /// Unix milliseconds.
        ts: i64,
        /// The value.
        value: f64,
    },
    /// The tags of the point with this topic.
    PointTags {
        /// The point's topic.
        topic: String,
        /// JSON.
        tags: String,
    },
    /// The tags of the equipment with this topic.
    EquipTags {
        /// The equipment's topic.
        topic: String,
        /// JSON.
        tags: String,
        /// The labels of its points, JSON.
        points: String,
    },
}

/// Reads a message; `None` when it means nothing.
pub(super) fn meaning(topic: &str, payload: &[u8]) -> Option<Meaning> {
    if let Some(equip) = topic.strip_suffix("/equip/tags") {
        let Tags { tags, points } = serde_json::from_slice(payload).ok()?;
        return Some(Meaning::EquipTags { topic: equip.to_owned(), tags: text(tags)?, points: text(points)? });
    }
    if let Some(point) = topic.strip_suffix("/tags") {
        let Tags { tags, .. } = serde_json::from_slice(payload).ok()?;
        return Some(Meaning::PointTags { topic: point.to_owned(), tags: text(tags)? });
    }
    let Reading { value, ts: Millis(ts) } = serde_json::from_slice(payload).ok()?;
    Some(Meaning::Reading { ts, value })
}

#[derive(Deserialize)]
struct Reading {
    value: f64,
    ts: Millis,
}

#[derive(Deserialize)]
struct Tags {
    tags: Value,
    #[serde(default)]
    points: Value,
}

/// JSON as it was written when it came as a text, which is how the envelope carries it. A NUL is refused: PostgreSQL could never store it.
fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.contains('\0')).then_some(text),
        other => Some(other.to_string()),
    }
}

/// Unix milliseconds, written as a whole number of them, as seconds with a decimal point, or as RFC 3339.
struct Millis(i64);

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MillisVisitor)
    }
}

struct MillisVisitor;

impl Visitor<'_> for MillisVisitor {
    type Value = Millis;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Unix milliseconds, seconds with a decimal point, or RFC 3339")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Millis, E> {
        Ok(Millis(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Millis, E> {
        i64::try_from(number).map(Millis).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Millis, E> {
        let millis = (seconds * 1000.0).round();
        // Beyond 2^53 a double no longer tells milliseconds apart.
        if millis.abs() > 9_007_199_254_740_992.0 {
            return Err(E::custom("too far from now"));
        }
        #[expect(clippy::cast_possible_truncation, reason = "rounded, and within 2^53")]
        Ok(Millis(millis as i64))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Millis, E> {
        text.parse::<jiff::Timestamp>().map(|time| Millis(time.as_millisecond())).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reading(payload: &str) -> Option<(i64, f64)> {
        match meaning("fbf/scale/s0/e0/flow", payload.as_bytes()) {
            Some(Meaning::Reading { ts, value }) => Some((ts, value)),
            _ => None,
        }
    }

    #[test]
    fn times_are_read_in_three_spellings() {
        let expected = Some((1_790_000_000_250, 0.5));
        assert_eq!(reading(r#"{"point":"x","value":0.5,"ts":1790000000250}"#), expected);
        assert_eq!(reading(r#"{"value":0.5,"ts":1790000000.25}"#), expected);
        assert_eq!(reading(r#"{"ts":"2026-09-21T14:13:20.250Z","value":0.5}"#), expected);
        assert_eq!(reading(r#"{"value":3,"ts":0}"#), Some((0, 3.0)));
        for bad in [
            "",
            "1",
            "{}",
            r#"{"value":1}"#,
            r#"{"value":"a","ts":1}"#,
            r#"{"value":1,"ts":1e300}"#,
            r#"{"value":1,"ts":"now"}"#,
        ] {
            assert_eq!(reading(bad), None, "{bad}");
        }
    }

    #[test]
    fn tags_belong_to_a_point_or_an_equipment() {
        let payload = br#"{"tags":"{\"equip\":true}","points":["a","b"]}"#;
        let (topic, tags, points) = ("s0/e0".into(), r#"{"equip":true}"#.into(), r#"["a","b"]"#.into());
        assert_eq!(meaning("s0/e0/equip/tags", payload), Some(Meaning::EquipTags { topic, tags, points }));
        let point = Meaning::PointTags { topic: "s0/e0/flow".into(), tags: r#"{"point":true}"#.into() };
        assert_eq!(meaning("s0/e0/flow/tags", br#"{"tags":{"point":true}}"#), Some(point));
        assert_eq!(meaning("s0/e0/flow/tags", b"{}"), None);
        assert_eq!(meaning("s0/e0/flow/tags", br#"{"tags":"\u0000"}"#), None);
    }

    proptest! {
        #[test]
        fn hostile_payloads_never_panic(topic in "[a-z/]{0,9}(/equip)?(/tags)?", payload in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = meaning(&topic, &payload);
        }
    }
}
