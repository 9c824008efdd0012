//! Percentiles that say what supports them.
//!
//! Two rules, both against flattery:
//! - A percentile needs enough observations (59 for p95, 299 for p99; see [`observations_for`]). With fewer, the longest stands
//!   for it and says `max of n`: an upper bar that it meets is met. The lower end of the figure is the least that the percentile
//!   can be at 95% confidence, where n gives one: a bar below that is broken. Between the two nothing is decided.
//! - What was lost counts as longer than anything seen. A percentile that falls among the lost is unmeasured.

use super::{
    measured::{Exactness, Extent, Measured},
    stats::{count_u64, nearest_rank, observations_for},
};
use crate::plan::gate::Unit;

/// A distribution of durations in seconds of which some may be known only as longer than the rest.
pub(super) struct Durations<'a> {
    /// How many were seen to end.
    pub(super) seen: u64,
    /// The one of a rank from 1 among those seen.
    pub(super) at_rank: &'a dyn Fn(u64) -> Option<f64>,
    /// How many were not seen to end.
    pub(super) lost: u64,
    /// What became of those, in words: `were never seen`.
    pub(super) fate: &'a str,
}

impl Durations<'_> {
    fn n(&self) -> u64 {
        self.seen + self.lost
    }

    fn nothing(&self, what: &str) -> Measured {
        let why = if self.lost == 0 {
            "nothing was observed in the window".to_owned()
        } else {
            format!("the {what} is not known: {} of {} {}", self.lost, self.n(), self.fate)
        };
        Measured::unmeasured(why)
    }

    /// The percentile `pNN` for the quantile 0.NN.
    pub(super) fn percentile(&self, quantile: f64, extent: &Extent) -> Measured {
        let (n, needed) = (self.n(), observations_for(quantile));
        let name = format!("p{}", (quantile * 100.0).round());
        let rank = if n < needed { n } else { nearest_rank(quantile, n) };
        let Some(value) = (self.at_rank)(rank).filter(|_| n > 0 && rank <= self.seen) else {
            return self.nothing(&if n < needed { format!("max, which stands for the {name},") } else { name });
        };
        let figure = Measured::value(value, Unit::Seconds, n, extent);
        if n >= needed {
            return figure;
        }
        let low = lower_rank(quantile, n).and_then(|rank| (self.at_rank)(rank));
        let figure = figure.bounding(Exactness::AtMost).note(format!("max of {n}, as {name} needs n ≥ {needed}"));
        low.map_or(figure.clone(), |low| figure.between(low, value))
    }

    /// The longest; with some lost, the real one is at least the longest seen.
    pub(super) fn max(&self, extent: &Extent) -> Measured {
        let Some(value) = (self.at_rank)(self.seen).filter(|_| self.seen > 0) else { return self.nothing("max") };
        let figure = Measured::value(value, Unit::Seconds, self.n(), extent);
        if self.lost == 0 {
            return figure;
        }
        figure.bounding(Exactness::AtLeast).note(format!("at least: {} of {} {}", self.lost, self.n(), self.fate))
    }
}

/// Up to this n the binomial tail is summed; its first term must not vanish (0.5^500 does not) and it must not take for ever.
const BINOMIAL_AT_MOST: u64 = 500;

/// Where the normal approximation of the binomial has 95% below it, for a mean of np.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is not negative")]
fn normal_bound(mean: f64, quantile: f64) -> u64 {
    (mean + 1.6449 * (mean * quantile).sqrt()).ceil() as u64
}

/// The rank of the observation that the quantile exceeds at 95% confidence: with k observations from it on, at least k of n beyond
/// the quantile have a chance of at most 5% (the binomial tail with probability 1 − q). None when n is too small for any.
fn lower_rank(quantile: f64, n: u64) -> Option<u64> {
    let beyond = 1.0 - quantile;
    if n > BINOMIAL_AT_MOST {
        return Some(n - normal_bound(count_u64(n) * beyond, quantile).min(n));
    }
    // The chance of exactly k beyond, from k = 0 upwards: each is the one before times (n − k) p / ((k + 1) q).
    let (mut chance, mut below) = (quantile.powf(count_u64(n)), 0.0);
    for k in 0..n {
        below += chance;
        if below >= 0.95 - 1e-9 {
            return Some(n - k);
        }
        chance *= count_u64(n - k) * beyond / (count_u64(k + 1) * quantile);
    }
    None
}

/// The quantile of a metric's name such as `ack_response_p95_s`, or none when it names no percentile.
pub(super) fn quantile_of(name: &str) -> Option<f64> {
    let stem = name.strip_suffix("_s").unwrap_or(name);
    match stem.rsplit('_').next()? {
        "p50" => Some(0.50),
        "p95" => Some(0.95),
        "p99" => Some(0.99),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p95(seen: &[f64], lost: u64) -> Measured {
        asked(seen, lost, Some(0.95))
    }

    /// A percentile, or the maximum.
    fn asked(seen: &[f64], lost: u64, quantile: Option<f64>) -> Measured {
        let at_rank = |rank: u64| seen.get(usize::try_from(rank).unwrap().checked_sub(1)?).copied();
        let durations = Durations { seen: seen.len() as u64, at_rank: &at_rank, lost, fate: "were never seen" };
        let extent = Extent { window: "soak".into(), from: 0.0, to: 15.0 };
        quantile.map_or_else(|| durations.max(&extent), |quantile| durations.percentile(quantile, &extent))
    }

    fn one_to(n: u32) -> Vec<f64> {
        (1..=n).map(f64::from).collect()
    }

    #[test]
    fn with_too_few_the_longest_stands_for_it_and_says_so() {
        let measured = p95(&one_to(58), 0);
        let figure = measured.figure().unwrap();
        assert_eq!((figure.value(), figure.n, figure.exactness), (58.0, 58, Exactness::AtMost));
        assert_eq!(figure.note.as_deref(), Some("max of 58, as p95 needs n ≥ 59"));
    }

    #[test]
    fn the_lower_end_is_what_the_percentile_exceeds_for_sure() {
        // 1 of 1 (5%), 3 of 12 (2.0%; 2 of 12 have 11.8%) and 5 of 30 (1.6%; 4 of 30 have 6.1%) beyond the p95 are too many.
        let rows = [
            (0.95, 1, Some(1)),
            (0.95, 12, Some(10)),
            (0.95, 30, Some(26)),
            (0.5, 4, None),
            (0.99, 100, Some(97)),
            (0.99, 298, Some(292)),
        ];
        for (quantile, n, rank) in rows {
            assert_eq!(lower_rank(quantile, n), rank, "{quantile} of {n}");
        }
        let measured = p95(&one_to(30), 0);
        let figure = measured.figure().unwrap();
        assert_eq!((figure.low, figure.high), (Some(26.0), Some(30.0)));
    }

    #[test]
    fn with_enough_it_is_the_nearest_rank() {
        let measured = p95(&one_to(59), 0);
        let figure = measured.figure().unwrap();
        assert_eq!((figure.value(), figure.exactness, figure.note.as_deref()), (57.0, Exactness::Exact, None));
    }

    #[test]
    fn the_lost_never_flatter_it() {
        // Of 100 observations the p95 is the 95th: 5 lost leave it seen, 6 lost do not.
        assert_eq!(p95(&one_to(95), 5).figure().unwrap().value(), 95.0);
        let expected = "the p95 is not known: 6 of 100 were never seen";
        assert_eq!(p95(&one_to(94), 6), Measured::unmeasured(expected));
        assert!(p95(&one_to(10), 1).figure().is_none(), "the longest of 11 is the lost one");
    }

    #[test]
    fn nothing_observed_is_unmeasured_and_not_zero() {
        assert!(p95(&[], 0).figure().is_none());
        assert!(p95(&[], 3).figure().is_none());
        assert!(asked(&[], 0, None).figure().is_none());
    }

    #[test]
    fn the_longest_of_some_with_losses_is_a_lower_bound() {
        let measured = asked(&one_to(4), 2, None);
        let figure = measured.figure().unwrap();
        assert_eq!((figure.value(), figure.exactness), (4.0, Exactness::AtLeast));
        assert_eq!(figure.note.as_deref(), Some("at least: 2 of 6 were never seen"));
    }

    #[test]
    fn quantiles_are_read_from_names() {
        assert_eq!(
            ["p50_s", "ack_service_p95_s", "schedule_lag_p99_s"].map(quantile_of),
            [Some(0.5), Some(0.95), Some(0.99)]
        );
        assert_eq!(quantile_of("max_s"), None);
    }
}
