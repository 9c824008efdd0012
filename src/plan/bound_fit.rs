//! Whether a bound's unit fits its metric's, and the bound in the metric's base unit.

use super::gate::{Bound, Unit};

/// A bound of another unit than its metric's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// What the metric is.
    pub(crate) wanted: &'static str,
    /// What is wrong with the bound.
    pub(crate) reason: String,
    /// A bound that would fit, as TOML spells it.
    pub(crate) remedy: String,
}

/// The bound in the metric's base unit. Counts and series without a unit take a bare number; a ratio takes a percentage; all else takes
/// its unit. A series whose unit only the plan knows takes any quantity.
pub(crate) fn fit(metric: Unit, bound: &Bound) -> Result<f64, Misfit> {
    match (metric, bound.unit) {
        (Unit::Number, _)
        | (Unit::Seconds, Unit::Seconds)
        | (Unit::Ratio, Unit::Ratio)
        | (Unit::Bytes | Unit::BytesPerMinute, Unit::Bytes)
        | (Unit::PerSecond, Unit::PerSecond)
        | (Unit::Count, Unit::Count | Unit::Number)
        | (Unit::Percent, Unit::Number) => Ok(bound.value),
        (Unit::Percent, Unit::Ratio) => Ok(100.0 * bound.value),
        _ => Err(misfit(metric, bound)),
    }
}

fn misfit(metric: Unit, bound: &Bound) -> Misfit {
    let number: String = bound.text.trim().chars().take_while(|c| c.is_ascii_digit() || ".-_".contains(*c)).collect();
    let (wanted, units, remedy) = match metric {
        Unit::Seconds => ("a length of time", "s, ms, m, h or d", format!("\"{number}s\"")),
        Unit::Ratio => ("a share, written in percent", "%", format!("\"{}%\"", as_percent(bound, &number))),
        Unit::Bytes => ("a number of bytes", "B, kB, MB, GB, KiB, MiB or GiB", format!("\"{number}B\"")),
        Unit::BytesPerMinute => {
            ("a number of bytes per minute", "B, kB or MB, meant per minute", format!("\"{number}B\""))
        }
        Unit::PerSecond => ("a rate per second", "/s, k/s or M/s", format!("\"{number}/s\"")),
        Unit::Percent => ("a percentage", "%", format!("\"{}%\"", as_percent(bound, &number))),
        Unit::Count | Unit::Number => ("a count", "", number),
    };
    let reason = match (bound.unit, units) {
        (_, "") => format!("`{}` is no count", bound.text),
        (Unit::Number | Unit::Count, _) => format!("a bare number; its unit must be {units}"),
        _ => format!("`{}` has another unit; expected {units}", bound.text),
    };
    Misfit { wanted, reason, remedy }
}

/// `0.99` was meant as 99%, `99` as well.
fn as_percent(bound: &Bound, number: &str) -> String {
    if bound.unit == Unit::Number && bound.value <= 1.0 {
        return ((bound.value * 1e6).round() / 1e4).to_string();
    }
    number.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(metric: Unit, text: &str) -> Result<f64, String> {
        fit(metric, &Bound::parse(text).unwrap()).map_err(|misfit| misfit.remedy)
    }

    #[test]
    fn a_bound_carries_its_metrics_unit() {
        assert_eq!(of(Unit::Seconds, "250ms"), Ok(0.25));
        assert_eq!(of(Unit::Seconds, "30"), Err("\"30s\"".to_owned()));
        assert_eq!(of(Unit::Ratio, "99%"), Ok(0.99));
        assert_eq!(of(Unit::Ratio, "0.99"), Err("\"99%\"".to_owned()));
        assert_eq!(of(Unit::Percent, "80%"), Ok(80.0));
        assert_eq!(of(Unit::Percent, "80"), Ok(80.0));
        assert_eq!(of(Unit::Count, "10k"), Ok(10_000.0));
        assert_eq!(of(Unit::Count, "10s"), Err("10".to_owned()));
        assert_eq!(of(Unit::Bytes, "1GiB"), Ok(1_073_741_824.0));
        assert_eq!(of(Unit::PerSecond, "2k/s"), Ok(2_000.0));
        assert_eq!(of(Unit::PerSecond, "2000"), Err("\"2000/s\"".to_owned()));
        assert_eq!(of(Unit::Number, "6GB"), Ok(6e9));
    }
}
