//! A measured value, or the reason why there is none. There is no default, no zero and no NaN: what was not measured can
//! never look good.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::gate::Unit;

/// A figure, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "Row", try_from = "Row")]
#[schemars(with = "Row")]
pub enum Measured {
    /// It was measured.
    Value(Figure),
    /// It was not.
    Unmeasured {
        /// The reason, in words without a full stop.
        why: String,
    },
}

/// A number with all that is needed to read it. Only [`Figure::new`] makes one, and it refuses what is not finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    value: f64,
    /// The unit of `value`, `low` and `high`.
    pub unit: Unit,
    /// How many observations it rests on.
    pub n: u64,
    /// The window that it was taken over, in words, such as `soak` or `soak/last_half`.
    pub window: String,
    /// When that window began, seconds since the start of the run.
    pub from: f64,
    /// When it ended.
    pub to: f64,
    /// The lower end of the 95% interval, where one is known.
    pub low: Option<f64>,
    /// The upper end of the 95% interval, where one is known.
    pub high: Option<f64>,
    /// Whether `value` is the real one or bounds it.
    pub exactness: Exactness,
    /// What the reader must know to read it right, such as `max of 12`.
    pub note: Option<String>,
}

/// How a value stands to the real one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exactness {
    /// It is the real one.
    #[default]
    Exact,
    /// The real one is this or more: what was waited for had not come when the waiting ended, or only a part could be counted.
    AtLeast,
    /// The real one is this or less: the longest of a few stands for a percentile that the few cannot support.
    AtMost,
}

/// The window that a figure was taken over: its name in words and its ends in seconds since the start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// The window in words.
    pub window: String,
    /// Its beginning.
    pub from: f64,
    /// Its end.
    pub to: f64,
}

impl Figure {
    /// A figure from its value, or none when the value is not finite.
    #[must_use]
    pub fn new(value: f64, unit: Unit, n: u64, extent: &Extent) -> Option<Self> {
        let Extent { window, from, to } = extent.clone();
        value.is_finite().then_some(Self {
            value,
            unit,
            n,
            window,
            from,
            to,
            low: None,
            high: None,
            exactness: Exactness::Exact,
            note: None,
        })
    }

    /// The value; always finite.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }
}

impl Measured {
    /// A measured value; one that is not finite is unmeasured.
    #[must_use]
    pub fn value(value: f64, unit: Unit, n: u64, extent: &Extent) -> Self {
        Figure::new(value, unit, n, extent)
            .map_or_else(|| Self::unmeasured(format!("the arithmetic gave {value}")), Self::Value)
    }

    /// Something that was not measured, and why.
    #[must_use]
    pub fn unmeasured(why: impl Into<String>) -> Self {
        Self::Unmeasured { why: why.into() }
    }

    /// The same figure with a note; the note of what was not measured is its reason.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        if let Self::Value(figure) = &mut self {
            figure.note = Some(note.into());
        }
        self
    }

    /// The same figure as a bound of the real one.
    #[must_use]
    pub fn bounding(mut self, exactness: Exactness) -> Self {
        if let Self::Value(figure) = &mut self {
            figure.exactness = exactness;
        }
        self
    }

    /// The same figure with the ends of its 95% interval.
    #[must_use]
    pub fn between(mut self, low: f64, high: f64) -> Self {
        if let Self::Value(figure) = &mut self
            && low.is_finite()
            && high.is_finite()
        {
            (figure.low, figure.high) = (Some(low), Some(high));
        }
        self
    }

    /// The figure, if there is one.
    #[must_use]
    pub fn figure(&self) -> Option<&Figure> {
        match self {
            Self::Value(figure) => Some(figure),
            Self::Unmeasured { .. } => None,
        }
    }
}

/// How a [`Measured`] is written: `{value, unit, n, window, …}`, or `{unmeasured: WHY}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Measured")]
struct Row {
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    /// Its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<Unit>,
    /// How many observations it rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n: Option<u64>,
    /// The window in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<String>,
    /// When the window began, seconds since the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<f64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<f64>,
    /// The lower end of the 95% interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    /// The upper end of the 95% interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    /// How the value stands to the real one.
    #[serde(default, skip_serializing_if = "is_exact")]
    exactness: Exactness,
    /// What the reader must know to read it right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Why there is no value; everything else is absent then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unmeasured: Option<String>,
}

impl From<Measured> for Row {
    fn from(measured: Measured) -> Self {
        match measured {
            Measured::Unmeasured { why } => Self { unmeasured: Some(why), ..Self::default() },
            Measured::Value(Figure { value, unit, n, window, from, to, low, high, exactness, note }) => Self {
                value: Some(value),
                unit: Some(unit),
                n: Some(n),
                window: Some(window),
                from: Some(from),
                to: Some(to),
                low,
                high,
                exactness,
                note,
                unmeasured: None,
            },
        }
    }
}

impl TryFrom<Row> for Measured {
    type Error = &'static str;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        match row {
            Row { unmeasured: Some(why), value: None, .. } => Ok(Self::Unmeasured { why }),
            Row {
                unmeasured: None,
                value: Some(value),
                unit: Some(unit),
                n: Some(n),
                window: Some(window),
                from: Some(from),
                to: Some(to),
                low,
                high,
                exactness,
                note,
            } if value.is_finite() => {
                Ok(Self::Value(Figure { value, unit, n, window, from, to, low, high, exactness, note }))
            }
            _ => Err("a measured value is either `value`, `unit`, `n`, `window`, `from`, `to`, or `unmeasured`"),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_exact(exactness: &Exactness) -> bool {
    *exactness == Exactness::Exact
}

/// A value in words with its unit, to three or four significant figures: `7.31 s`, `98.4%`, `1.25 GB`, `12 340/s`.
/// A whole count is never rounded.
#[must_use]
pub fn in_words(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds if value != 0.0 && value.abs() < 1.0 => format!("{} ms", figures(value * 1e3)),
        Unit::Seconds => format!("{} s", figures(value)),
        Unit::Ratio => format!("{}%", figures_of_share(value)),
        Unit::Bytes => bytes_in_words(value),
        Unit::BytesPerMinute => format!("{}/min", bytes_in_words(value)),
        Unit::PerSecond => format!("{}/s", figures(value)),
        Unit::Percent => format!("{}%", figures(value)),
        Unit::Count | Unit::Number => figures(value),
    }
}

fn bytes_in_words(value: f64) -> String {
    let scale = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let fit = scale.into_iter().find(|(factor, _)| value.abs() >= *factor);
    let (factor, unit) = fit.unwrap_or((1.0, "B"));
    format!("{} {unit}", figures(value / factor))
}

/// A share in percent that is never rounded up to a bar that it does not reach: 99.996% does not print as 100%.
fn figures_of_share(share: f64) -> String {
    let percent = share * 100.0;
    for digits in [1_usize, 3, 6] {
        let text = format!("{percent:.digits$}");
        let is_round = matches!(text.trim_end_matches('0').trim_end_matches('.'), "100" | "99");
        if !is_round || (percent - percent.round()).abs() < 1e-9 {
            return trimmed(&text);
        }
    }
    format!("{percent}")
}

fn figures(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return grouped(&format!("{value:.0}"));
    }
    let digits = match value.abs() {
        size if size >= 1_000.0 => return grouped(&format!("{value:.0}")),
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 0.1 => 3,
        _ => 6,
    };
    trimmed(&format!("{value:.digits$}"))
}

fn trimmed(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
}

/// Puts a thin gap between groups of three digits from five digits on.
fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    if digits.len() < 5 {
        return text.to_owned();
    }
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soak() -> Extent {
        Extent { window: "soak".into(), from: 3.0, to: 18.0 }
    }

    #[test]
    fn what_is_not_finite_is_unmeasured() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Figure::new(value, Unit::Seconds, 5, &soak()).is_none());
            assert!(Measured::value(value, Unit::Seconds, 5, &soak()).figure().is_none());
        }
    }

    #[test]
    fn it_is_written_as_value_or_unmeasured_and_read_back() {
        let value = Measured::value(7.25, Unit::Seconds, 30, &soak()).note("max of 30");
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(
            text,
            r#"{"value":7.25,"unit":"seconds","n":30,"window":"soak","from":3.0,"to":18.0,"note":"max of 30"}"#
        );
        assert_eq!(serde_json::from_str::<Measured>(&text).unwrap(), value);

        let nothing = Measured::unmeasured("no sample");
        assert_eq!(serde_json::to_string(&nothing).unwrap(), r#"{"unmeasured":"no sample"}"#);
        assert_eq!(serde_json::from_str::<Measured>(r#"{"unmeasured":"no sample"}"#).unwrap(), nothing);
    }

    #[test]
    fn neither_both_nor_nothing_is_read() {
        for text in ["{}", r#"{"value":1.0}"#, r#"{"value":1.0,"unmeasured":"x"}"#] {
            assert!(serde_json::from_str::<Measured>(text).is_err(), "{text} was read");
        }
    }

    #[test]
    fn words_carry_units_and_never_round_a_share_up_to_its_bar() {
        let cases = [
            (7.314, Unit::Seconds, "7.314 s"),
            (0.05, Unit::Seconds, "50 ms"),
            (0.0, Unit::Seconds, "0 s"),
            (0.99, Unit::Ratio, "99%"),
            (0.999_96, Unit::Ratio, "99.996%"),
            (0.989_999, Unit::Ratio, "98.9999%"),
            (0.983_7, Unit::Ratio, "98.4%"),
            (1.0, Unit::Ratio, "100%"),
            (12_345.0, Unit::Count, "12 345"),
            (1_234.0, Unit::Count, "1234"),
            (9_998.7, Unit::PerSecond, "9999/s"),
            (1.25e9, Unit::Bytes, "1.25 GB"),
            (97.3, Unit::Percent, "97.3%"),
            (-3.5, Unit::Number, "-3.5"),
        ];
        for (value, unit, words) in cases {
            assert_eq!(in_words(value, unit), words);
        }
    }
}
