//! A latency distribution in microseconds with three significant digits, in the form in which the journal keeps it. Pure.

use base64::Engine;
use hdrhistogram::{
    Histogram,
    serialization::{Serializer, V2Serializer},
};

/// The largest latency that is told apart: one hour. A longer one counts as one hour.
const LARGEST_US: u64 = 3_600_000_000;

/// Counts latencies. Equal ones in a row, as in a batch of acknowledgements, cost next to nothing.
#[derive(Debug)]
pub(super) struct Distribution {
    histogram: Histogram<u64>,
    run_us: u64,
    run_length: u64,
}

impl Distribution {
    pub(super) fn new() -> Self {
        let histogram =
            Histogram::new_with_bounds(1, LARGEST_US, 3).expect("constant bounds that hdrhistogram accepts");
        Self { histogram, run_us: 0, run_length: 0 }
    }

    #[inline]
    pub(super) fn record_us(&mut self, us: u64) {
        if us == self.run_us {
            self.run_length += 1;
        } else {
            self.close_run();
            self.run_us = us;
            self.run_length = 1;
        }
    }

    #[inline]
    fn close_run(&mut self) {
        if self.run_length > 0 {
            self.histogram.saturating_record_n(self.run_us, self.run_length);
            self.run_length = 0;
        }
    }

    /// The distribution so far, V2 serialisation in base64; counting begins anew.
    pub(super) fn take_base64(&mut self) -> String {
        self.close_run();
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.histogram, &mut bytes).expect("writing to memory, and counts below 2^63");
        self.histogram.reset();
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;

    use super::*;

    fn read(text: &str) -> Histogram<u64> {
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
    }

    #[test]
    fn what_is_recorded_is_read_back() {
        let mut distribution = Distribution::new();
        for us in [5, 5, 5, 7, 5, 0, u64::MAX] {
            distribution.record_us(us);
        }
        let histogram = read(&distribution.take_base64());
        assert_eq!(
            (histogram.len(), histogram.count_at(5), histogram.count_at(7), histogram.count_at(0)),
            (7, 4, 1, 1)
        );
        assert!(histogram.max() >= LARGEST_US && histogram.max() < LARGEST_US + LARGEST_US / 500);
        assert_eq!(read(&distribution.take_base64()).len(), 0, "counting began anew");
    }
}
