//! Latency histograms: HDR, three significant digits, microseconds, written as V2 in base64. They are merged as histograms;
//! a percentile is never averaged.

use std::io::Cursor;

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, Serializer, V2Serializer},
};

/// Significant decimal digits.
const DIGITS: u8 = 3;

/// Ten years in microseconds.
const TEN_YEARS: u64 = 315_576_000_000_000;

/// A distribution of latencies.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

#[expect(clippy::missing_panics_doc, reason = "what is expected holds for every histogram that resizes itself")]
impl Latencies {
    /// One without observations.
    #[must_use]
    pub fn new() -> Self {
        Self(Histogram::new(DIGITS).expect("three digits are within the crate's 0 to 5"))
    }

    /// Adds an observation in microseconds; what is longer than ten years counts as ten years.
    pub fn record(&mut self, micros: u64) {
        // Not `saturating_record`: it clips to the present size instead of growing, so that 2 ms would count as 2 µs.
        self.0.record(micros.min(TEN_YEARS)).expect("a histogram that resizes itself takes ten years");
    }

    /// Reads what [`Latencies::encode`] wrote; the empty text is a histogram without observations.
    ///
    /// # Errors
    /// When the text is not base64, or holds no histogram.
    pub fn decode(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::new());
        }
        let bytes = STANDARD.decode(text).map_err(|error| format!("a histogram is not base64: {error}"))?;
        let read = Deserializer::new().deserialize(&mut Cursor::new(bytes));
        read.map(Self).map_err(|error| format!("a histogram cannot be read: {error}"))
    }

    /// V2 serialisation in base64.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("memory takes the bytes of a histogram of 64-bit counts");
        STANDARD.encode(bytes)
    }

    /// Adds all observations of another one.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("a histogram that resizes itself takes every value");
    }

    /// How many observations there are.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.0.len()
    }

    /// The longest, in seconds; none without observations.
    #[must_use]
    pub fn max_s(&self) -> Option<f64> {
        (self.n() > 0).then(|| seconds(self.0.max()))
    }

    /// The observation of a rank from 1, in seconds; none when there are fewer.
    #[must_use]
    pub fn at_rank_s(&self, rank: u64) -> Option<f64> {
        let mut passed = 0;
        self.0.iter_recorded().find_map(|step| {
            passed += step.count_since_last_iteration();
            (passed >= rank.max(1))
                .then(|| seconds(self.0.highest_equivalent(step.value_iterated_to()).min(self.0.max())))
        })
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a run stay below 2^53")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::stats::nearest_rank, *};

    fn of(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::new();
        for value in values {
            latencies.record(*value);
        }
        latencies
    }

    fn observed(latencies: &Latencies) -> Vec<(u64, u64)> {
        latencies.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
    }

    #[test]
    fn nothing_observed_gives_no_percentile() {
        assert_eq!(Latencies::decode("").unwrap().n(), 0);
        assert_eq!(Latencies::new().max_s(), None);
        assert_eq!(Latencies::new().at_rank_s(1), None);
    }

    #[test]
    fn damaged_text_is_an_error_and_not_an_empty_histogram() {
        assert!(Latencies::decode("%%%").is_err());
        let whole = of(&[1, 2, 3]).encode();
        assert!(Latencies::decode(&whole[..8]).is_err());
    }

    #[test]
    fn percentiles_of_merged_parts_are_not_the_mean_of_theirs() {
        let mut merged = of(&[1_000; 99]);
        let slow = of(&[1_000_000]);
        merged.merge(&slow);
        let p99 = merged.at_rank_s(nearest_rank(0.99, merged.n())).unwrap();
        assert!((p99 - 0.001).abs() < 1e-5, "{p99}: the mean of both p99 would be 0.5 s");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn ranks_rise_to_the_maximum_and_are_within_a_thousandth(mut values in prop::collection::vec(0_u64..50_000_000, 1..25)) {
            let latencies = of(&values);
            values.sort_unstable();
            let mut before = 0.0;
            for (index, value) in values.iter().enumerate() {
                let found = latencies.at_rank_s(index as u64 + 1).unwrap();
                let exact = seconds(*value);
                prop_assert!(found >= before && found <= latencies.max_s().unwrap());
                prop_assert!(found >= exact - 1e-9 && found <= exact * 1.001 + 1e-6, "{found} is not {exact}");
                before = found;
            }
            prop_assert_eq!(latencies.at_rank_s(values.len() as u64 + 1), None);
        }

        #[test]
        fn merging_is_the_same_as_recording_all_in_one(
            parts in prop::collection::vec(prop::collection::vec(0_u64..5_000_000, 0..20), 0..4),
        ) {
            let mut merged = Latencies::new();
            for part in &parts {
                merged.merge(&Latencies::decode(&of(part).encode()).unwrap());
            }
            prop_assert_eq!(observed(&merged), observed(&of(&parts.concat())));
        }
    }
}
