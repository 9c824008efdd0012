//! Gates: the pass conditions, written before the run.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::quantity::{Bytes, Count, Length, QuantityError, Rate, Share, decimal};

/// One pass condition. Exactly one of the comparisons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// A name, for merging with `extends`; needed when two gates look at the same metric and window. Default: the metric and window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The metric: `SUBJECT.METRIC`, where the subject is a load, watch, probe, workflow or phase of this plan.
    pub metric: String,
    /// The window: a phase's name, and `/first_half`, `/last_half`, `/first_third`, `/middle_third` or `/last_third` behind it for a part.
    /// Default: all phases with `measure = true`, or the whole cell for metrics that have no window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// The value must not be below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Bound>,
    /// The value must not be above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Bound>,
    /// The value must be above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Bound>,
    /// The value must be below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Bound>,
    /// The value must be exactly this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<Bound>,
    /// What a miss means.
    #[serde(default)]
    pub miss: Miss,
    /// The cause that an `inconclusive` miss is reported with; needed then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// A broken gate that is a proof fails the cell whatever else is unclear. Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proof: bool,
    /// Another gate, by name, that must hold; otherwise a pass of this one is a caveat only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<String>,
    /// Why the bar is where it is; printed when it is missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// What a gate that does not hold means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Miss {
    /// The system does not meet the bar.
    #[default]
    Fail,
    /// The measurement is not valid: nothing can be said of the system.
    Inconclusive,
    /// Worth saying, but no reason to stop.
    Caveat,
}

/// The comparison of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// `value >= bound`
    AtLeast,
    /// `value <= bound`
    AtMost,
    /// `value > bound`
    Above,
    /// `value < bound`
    Below,
    /// `value == bound`
    Equals,
}

impl Comparison {
    /// Whether the value satisfies the bound.
    #[must_use]
    #[expect(clippy::float_cmp, reason = "`equals` is for counts and means exactly equal")]
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtLeast => value >= bound,
            Self::AtMost => value <= bound,
            Self::Above => value > bound,
            Self::Below => value < bound,
            Self::Equals => value == bound,
        }
    }

    /// The key that a plan writes it with.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::AtLeast => "at_least",
            Self::AtMost => "at_most",
            Self::Above => "above",
            Self::Below => "below",
            Self::Equals => "equals",
        }
    }

    /// The sign that reports print.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => "≥",
            Self::AtMost => "≤",
            Self::Above => ">",
            Self::Below => "<",
            Self::Equals => "=",
        }
    }
}

/// What a gate is called that has no name of its own: its metric, and its window behind `@`.
#[must_use]
pub fn default_name(metric: &str, window: Option<&str>) -> String {
    match window {
        Some(window) => format!("{metric}@{window}"),
        None => metric.to_owned(),
    }
}

impl Gate {
    /// The comparisons that are given; checking demands exactly one.
    #[must_use]
    pub fn comparisons(&self) -> Vec<(Comparison, &Bound)> {
        [
            (Comparison::AtLeast, &self.at_least),
            (Comparison::AtMost, &self.at_most),
            (Comparison::Above, &self.above),
            (Comparison::Below, &self.below),
            (Comparison::Equals, &self.equals),
        ]
        .into_iter()
        .filter_map(|(comparison, bound)| Some((comparison, bound.as_ref()?)))
        .collect()
    }
}

/// What kind of quantity a bound or a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// A ratio; 1 is the whole, written in percent.
    Ratio,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Events per second.
    PerSecond,
    /// Percent of one core, or of the whole machine, as the metric says.
    Percent,
    /// Bytes per minute.
    BytesPerMinute,
    /// A bare number whose unit the plan knows and scaler does not.
    Number,
}

/// The bound of a gate: a quantity with its unit, or a bare number for counts and for series without a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The bound in the metric's base unit: seconds, ratio, bytes, events per second or a number.
    pub value: f64,
    /// The unit that the text carried; [`Unit::Number`] for a bare number.
    pub unit: Unit,
    /// The text as it was written.
    pub text: String,
}

impl Bound {
    /// What a bound should be, as errors name it.
    pub const TITLE: &'static str = "a bound";

    /// Reads the bound's text.
    ///
    /// # Errors
    /// When the text is neither a number nor a quantity.
    #[expect(clippy::cast_precision_loss, reason = "quantities stay below 2^53")]
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let bound = |value, unit| Ok(Self { value, unit, text: text.to_owned() });
        let (sign, size) = text.strip_prefix('-').map_or((1.0, text), |size| (-1.0, size));
        if let Some(number) = decimal(size) {
            return bound(sign * number, Unit::Number);
        }
        if text.ends_with('%') {
            let share: Share = text.parse()?;
            return bound(share.0, Unit::Ratio);
        }
        if text.ends_with("/s") {
            return text.parse::<Rate>().and_then(|rate| bound(rate.0, Unit::PerSecond));
        }
        if text.ends_with('B') {
            return text.parse::<Bytes>().and_then(|bytes| bound(bytes.0 as f64, Unit::Bytes));
        }
        if let Ok(count) = text.parse::<Count>() {
            return bound(count.0 as f64, Unit::Count);
        }
        text.parse::<Length>().and_then(|length| bound(length.as_secs_f64(), Unit::Seconds))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.unit {
            Unit::Number => serializer.serialize_f64(self.value),
            _ => serializer.serialize_str(&self.text),
        }
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        match (&value, value.as_f64()) {
            (serde_json::Value::String(text), _) => Self::parse(text).map_err(de::Error::custom),
            (_, Some(number)) => Ok(Self { value: number, unit: Unit::Number, text: value.to_string() }),
            _ => Err(de::Error::custom(format!("expected a number or a quantity, found {value}"))),
        }
    }
}

impl JsonSchema for Bound {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Bound".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["number", "string"],
            "title": "a bound",
            "pattern": r"^(-?[0-9][0-9_]*(\.[0-9]+)?(%|/s|k/s|M/s|ms|s|m|h|d|B|kB|MB|GB|TB|KiB|MiB|GiB|TiB|k|M|G)?)$",
            "examples": ["99%", "30s", 0]
        })
    }
}
