//! Quantities carry their unit in the text: `"5s"`, `"6GiB"`, `"99%"`, `"10k"`, `"200k/s"`.
//!
//! Each quantity is a newtype with one parser, one canonical spelling and one JSON schema. That schema is of the filled plan;
//! [`super::schema`] widens it for editors, which see `{{ … }}` placeholders.

use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What is wrong with the text of a quantity, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    /// The short reason, for the line under the text.
    pub reason: String,
    /// A spelling that would be accepted, when one can be guessed.
    pub remedy: Option<String>,
}

impl QuantityError {
    fn new(reason: impl Into<String>, remedy: Option<String>) -> Self {
        Self { reason: reason.into(), remedy }
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.remedy {
            Some(remedy) => write!(out, "{}; write {remedy:?}", self.reason),
            None => out.write_str(&self.reason),
        }
    }
}

impl std::error::Error for QuantityError {}

/// Splits `"15m"` into its number and its unit; the number is finite and not negative.
fn number_and_unit(text: &str) -> Result<(f64, &str), QuantityError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    match decimal(digits) {
        Some(number) => Ok((number, unit)),
        None => Err(QuantityError::new(format!("expected a number with a unit, found {text:?}"), None)),
    }
}

/// Reads `1_000.5`: digits, among them `_`, and at most one point with digits on both sides, as the patterns of the schemas say.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let whole_is_plain =
        whole.starts_with(|c: char| c.is_ascii_digit()) && whole.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let fraction_is_plain = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    (whole_is_plain && fraction_is_plain).then(|| text.replace('_', "").parse().ok()).flatten()
}

/// Looks a unit up in a table; an unknown unit is an error that lists the known ones.
fn scale(unit: &str, table: &[(&str, f64)], bare: &str, guess: &str) -> Result<f64, QuantityError> {
    if let Some((_, factor)) = table.iter().find(|(name, _)| *name == unit) {
        return Ok(*factor);
    }
    let known: Vec<&str> = table.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
    let list = known.join(", ");
    let (spaced, unit) = (unit, unit.trim());
    let near = table
        .iter()
        .map(|(name, _)| *name)
        .find(|name| !name.is_empty() && unit.to_ascii_lowercase().starts_with(&name.to_ascii_lowercase()));
    // `us` for `s` would be wrong by a million: where no unit is meant for sure, none is offered.
    let (reason, offered) = if unit.is_empty() {
        (format!("{bare} needs a unit: {list}"), Some(guess))
    } else if spaced != unit && known.contains(&unit) {
        ("no space stands between a number and its unit".to_owned(), Some(unit))
    } else {
        (format!("unknown unit `{unit}`; use {list}"), near)
    };
    Err(QuantityError::new(reason, offered.map(str::to_owned)))
}

fn scaled(text: &str, table: &[(&str, f64)], bare: &str, guess: &str) -> Result<f64, QuantityError> {
    let (number, unit) = number_and_unit(text)?;
    let factor = scale(unit, table, bare, guess).map_err(|mut error| {
        error.remedy = error.remedy.map(|unit| format!("{number}{unit}"));
        error
    })?;
    Ok(number * factor)
}

/// In microseconds, so that every length of up to ten years is exact.
const LENGTH_UNITS: &[(&str, f64)] = &[("ms", 1e3), ("s", 1e6), ("m", 60e6), ("h", 3_600e6), ("d", 86_400e6)];
const COUNT_UNITS: &[(&str, f64)] = &[("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)];
const RATE_UNITS: &[(&str, f64)] = &[("/s", 1.0), ("k/s", 1e3), ("M/s", 1e6)];
const BYTE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// Ten years in microseconds.
const TEN_YEARS: f64 = 10.0 * 365.0 * 86_400e6;

/// The largest whole number that every step of the arithmetic keeps exact (2^53).
const EXACT: f64 = 9_007_199_254_740_992.0;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by EXACT and not negative")]
fn whole(value: f64, what: &str) -> Result<u64, QuantityError> {
    let rounded = value.round();
    if (value - rounded).abs() > 1e-6 || rounded > EXACT {
        return Err(QuantityError::new(format!("{what} must be a whole number"), None));
    }
    Ok(rounded as u64)
}

/// Picks the largest unit that divides the value without a remainder.
#[expect(clippy::cast_precision_loss, reason = "values stay below 2^53")]
fn spell(value: u64, table: &[(&str, f64)]) -> String {
    let value = value as f64;
    let fit = table.iter().filter(|(_, factor)| value >= *factor && (value / factor).fract() == 0.0);
    let (unit, factor) = fit.max_by(|a, b| a.1.total_cmp(&b.1)).copied().unwrap_or(table[0]);
    format!("{}{unit}", value / factor)
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty), schema: $title:literal, pattern: $pattern:literal, examples: [$($example:literal),+], bare_number: $bare:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(pub $inner);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                        out.write_str($title)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_u64<E: de::Error>(self, number: u64) -> Result<$name, E> {
                        number.to_string().parse().map_err(E::custom)
                    }
                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$name, E> {
                        number.to_string().parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let pattern = concat!("^(", $pattern, ")$");
                let kind = if $bare { serde_json::json!(["string", "integer"]) } else { serde_json::json!("string") };
                json_schema!({ "type": kind, "minimum": 0, "pattern": pattern, "title": $title, "examples": [$($example),+] })
            }
        }

        impl $name {
            /// What a text or a bare number should be, as errors name it.
            pub const TITLE: &'static str = $title;
            /// Spellings that are accepted.
            pub const EXAMPLES: &'static [&'static str] = &[$($example),+];
        }
    };
}

quantity! {
    /// A length of time. Units: `ms`, `s`, `m`, `h`, `d`.
    Length(Duration), schema: "a length of time",
    pattern: r"[0-9][0-9_]*(\.[0-9]+)?(ms|s|m|h|d)", examples: ["5s", "15m", "250ms"], bare_number: false
}
quantity! {
    /// A number of things. A bare whole number, or one with `k`, `M` or `G`.
    Count(u64), schema: "a count",
    pattern: r"[0-9][0-9_]*(\.[0-9]+)?(k|M|G)?", examples: ["10k", "1M", "2500"], bare_number: true
}
quantity! {
    /// A number of bytes. Decimal (`kB`, `MB`, `GB`) or binary (`KiB`, `MiB`, `GiB`) units.
    Bytes(u64), schema: "a number of bytes",
    pattern: r"[0-9][0-9_]*(\.[0-9]+)?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)", examples: ["6GB", "512MiB"], bare_number: false
}
quantity! {
    /// A share of a whole, written in percent; the inner number is the ratio (`"99%"` is 0.99).
    Share(f64), schema: "a percentage",
    pattern: r"[0-9][0-9_]*(\.[0-9]+)?%", examples: ["99%", "0.5%"], bare_number: false
}
quantity! {
    /// Events per second.
    Rate(f64), schema: "a rate per second",
    pattern: r"[0-9][0-9_]*(\.[0-9]+)?(k|M)?/s", examples: ["200k/s", "50/s"], bare_number: false
}

impl Length {
    /// A length of whole seconds, for defaults.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// A length of whole milliseconds, for defaults.
    #[must_use]
    pub const fn millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// The length in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0.as_secs_f64()
    }
}

impl FromStr for Length {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let micros = scaled(text, LENGTH_UNITS, "a length of time", "s")?.round();
        if micros > TEN_YEARS {
            return Err(QuantityError::new("longer than ten years", None));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded and not negative")]
        Ok(Self(Duration::from_micros(micros as u64)))
    }
}

impl fmt::Display for Length {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.subsec_nanos().is_multiple_of(1_000_000) {
            return write!(out, "{}ms", self.0.as_secs_f64() * 1e3);
        }
        let micros = u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX);
        if micros == 0 { out.write_str("0s") } else { out.write_str(&spell(micros, LENGTH_UNITS)) }
    }
}

impl FromStr for Count {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        whole(scaled(text, COUNT_UNITS, "a count", "k")?, "a count").map(Self)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&spell(self.0, COUNT_UNITS))
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        whole(scaled(text, BYTE_UNITS, "a number of bytes", "B")?, "a number of bytes").map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&spell(self.0, BYTE_UNITS))
    }
}

impl FromStr for Share {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        scaled(text, &[("%", 0.01)], "a percentage", "%").map(Self)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}%", (self.0 * 1e8).round() / 1e6)
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        scaled(text, RATE_UNITS, "a rate", "/s").map(Self)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/s", self.0)
    }
}
