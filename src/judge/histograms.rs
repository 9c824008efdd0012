//! The latencies of a cell's loads as one histogram each, for readers who want more than a few percentiles.

use indexmap::IndexMap;

use crate::{
    measure::histogram::Latencies,
    plan::checked::{Part, Window},
    record::{cell::CellRecord, entry::Slice},
};

/// A latency's name and where a slice holds it.
type Field = (&'static str, fn(&Slice) -> &str);

/// The latencies of a load.
const FIELDS: [Field; 3] = [
    ("schedule_lag", |slice| &slice.schedule_lag),
    ("ack_service", |slice| &slice.ack_service),
    ("ack_response", |slice| &slice.ack_response),
];

/// `LOAD.LATENCY` to its histogram over the measured phases: microseconds, V2 serialisation, base64. One that cannot be read
/// whole is left out, as its metrics are.
pub(super) fn merged(cell: &CellRecord) -> IndexMap<String, String> {
    let spans = cell.window_spans(&Window { phase: None, part: Part::Whole });
    let measured = |slice: &&Slice| {
        let middle = f64::midpoint(slice.from, slice.to);
        spans.iter().any(|(from, to)| (*from..*to).contains(&middle))
    };
    let mut slices = IndexMap::<&str, Vec<&Slice>>::new();
    for slice in cell.slices.iter().filter(measured) {
        slices.entry(&slice.load).or_default().push(slice);
    }
    let mut histograms = IndexMap::new();
    for (load, slices) in slices {
        for (name, text) in FIELDS {
            if let Ok(all) = merge(slices.iter().map(|slice| text(slice))) {
                histograms.insert(format!("{load}.{name}"), all.encode());
            }
        }
    }
    histograms
}

fn merge<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Latencies, String> {
    let mut all = Latencies::new();
    for text in texts {
        all.merge(&Latencies::decode(text)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{fixture, fold::fold};

    #[test]
    fn all_slices_of_the_measured_phases_are_in_it() {
        let cell = &fold(fixture::run()).unwrap().cells[0];
        let histograms = merged(cell);
        let names: Vec<&str> = histograms.keys().map(String::as_str).collect();
        assert_eq!(names, ["readings.schedule_lag", "readings.ack_service", "readings.ack_response"]);
        assert_eq!(Latencies::decode(&histograms["readings.ack_service"]).unwrap().n(), 20 * 3);
    }
}
