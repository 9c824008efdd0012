//! How figures, lengths of time and moments are written. Figures themselves are spelt by [`in_words`].

use crate::measure::measured::{Exactness, Figure, Measured, in_words};

/// What stands in a table where nothing was measured. Never a zero.
pub const UNMEASURED: &str = "–";

/// A figure in words; one that only bounds the real value says so.
#[must_use]
pub fn figure(figure: &Figure) -> String {
    let sign = match figure.exactness {
        Exactness::Exact => "",
        Exactness::AtLeast => "≥ ",
        Exactness::AtMost => "≤ ",
    };
    format!("{sign}{}", in_words(figure.value(), figure.unit))
}

/// What a table's cell says of a metric that may not be there.
#[must_use]
pub fn cell(measured: Option<&Measured>) -> String {
    measured.and_then(Measured::figure).map_or_else(|| UNMEASURED.to_owned(), figure)
}

/// A length of time to a second: `48s`, `3m 05s`, `2h 00m 07s`.
#[must_use]
pub fn length(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; saturates above 2^64")]
    let whole = seconds.max(0.0).round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m {seconds:02}s"),
        _ => format!("{hours}h {minutes:02}m {seconds:02}s"),
    }
}

/// A moment of the world's clock: `2026-11-30 18:00:00 UTC`.
#[must_use]
pub fn moment(unix_ms: u64) -> String {
    let time = i64::try_from(unix_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| format!("{unix_ms} ms"), |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// A moment of the run: `+12.3 s`.
#[must_use]
pub fn at(seconds: f64) -> String {
    format!("+{seconds:.1} s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{measure::measured::Extent, plan::gate::Unit};

    #[test]
    fn lengths_and_moments() {
        let lengths = [(-1.0, "0s"), (47.6, "48s"), (59.5, "1m 00s"), (185.0, "3m 05s"), (7207.0, "2h 00m 07s")];
        for (seconds, text) in lengths {
            assert_eq!(length(seconds), text);
        }
        assert_eq!(moment(1_796_061_600_000), "2026-11-30 18:00:00 UTC");
        assert_eq!(moment(u64::MAX), "18446744073709551615 ms");
        assert_eq!(at(12.34), "+12.3 s");
    }

    #[test]
    fn a_bound_is_not_shown_as_the_value_and_nothing_is_not_zero() {
        let soak = Extent { window: "soak".into(), from: 0.0, to: 15.0 };
        let lag = Measured::value(7.3, Unit::Seconds, 30, &soak);
        assert_eq!(cell(Some(&lag)), "7.3 s");
        assert_eq!(cell(Some(&lag.bounding(Exactness::AtLeast))), "≥ 7.3 s");
        assert_eq!(cell(Some(&Measured::unmeasured("no sample"))), "–");
        assert_eq!(cell(None), "–");
    }
}
