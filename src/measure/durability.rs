//! Whether what is stored is durable from end to end: all settings on, in every reading, on the server and on the ingest path.
//!
//! One reading of "off" settles it. What was never read is not known, and what is not known is not comparable.

use super::{asked::Asked, measured::Measured};
use crate::{plan::derived::DURABILITY_SETTINGS, record::entry::Sample};

/// `durability.comparable`, from the watches of both ends.
pub(super) fn measure(asked: &Asked, server: &str, ingest: &str) -> Measured {
    let scope = match asked.scope_of_events() {
        Ok(scope) => scope,
        Err(why) => return Measured::unmeasured(why),
    };
    let (mut off, mut unread, mut n) = (Vec::new(), Vec::new(), u64::MAX);
    for (end, watch) in [("the server", server), ("the ingest path", ingest)] {
        let samples: Vec<&Sample> = asked.cell.samples.iter().filter(|sample| sample.watch == watch).collect();
        for setting in DURABILITY_SETTINGS {
            let values: Vec<f64> = samples.iter().filter_map(|sample| sample.values.get(setting).copied()).collect();
            if values.is_empty() {
                unread.push(format!("{setting} was not read on {end}{}", reason(&samples, setting)));
            } else if values.iter().any(|value| (value - 1.0).abs() > f64::EPSILON) {
                off.push(format!("{setting} is off on {end}"));
            }
            n = n.min(values.len() as u64);
        }
    }
    match (off.is_empty(), unread.is_empty()) {
        (false, _) => Measured::value(0.0, asked.unit, n.max(1), &scope.extent).note(off.join("; ")),
        (true, false) => Measured::unmeasured(unread.join("; ")),
        (true, true) => Measured::value(1.0, asked.unit, n, &scope.extent),
    }
}

/// Why a setting was not read, if the watch said so.
fn reason(samples: &[&Sample], setting: &str) -> String {
    let gap = |sample: &&&Sample| sample.gaps.contains_key(setting) || sample.gaps.contains_key("*");
    let gap = samples.iter().find(gap).and_then(|sample| sample.gaps.get(setting).or_else(|| sample.gaps.get("*")));
    gap.map_or_else(String::new, |why| format!(": {why}"))
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::{
        super::{
            metric,
            sample_cell::{cell, default_window, push, run, subject},
        },
        *,
    };
    use crate::record::{
        cell::CellRecord,
        entry::{Entry, Subject},
    };

    /// Readings of both ends: `fsync`, `synchronous_commit` and `full_page_writes`.
    fn read(server: &[[f64; 3]], ingest: &[[f64; 3]]) -> CellRecord {
        let mut cell = cell();
        subject(
            &mut cell,
            "durability",
            Subject::Durability { server: "on_server".into(), ingest: "on_ingest".into() },
        );
        for (watch, readings) in [("on_server", server), ("on_ingest", ingest)] {
            for settings in readings {
                let values = DURABILITY_SETTINGS.into_iter().map(str::to_owned).zip(*settings).collect();
                push(&mut cell, Entry::Sample(Sample { at: 5.0, watch: watch.into(), values, gaps: IndexMap::new() }));
            }
        }
        cell
    }

    fn comparable(cell: &CellRecord) -> Measured {
        metric::measure(&run(), cell, "durability.comparable", &default_window())
    }

    const ON: [f64; 3] = [1.0; 3];

    #[test]
    fn all_on_at_both_ends_in_every_reading_is_comparable() {
        let measured = comparable(&read(&[ON, ON], &[ON, ON, ON]));
        assert_eq!(measured.figure().map(|figure| (figure.value(), figure.n)), Some((1.0, 2)));
    }

    #[test]
    fn one_setting_off_once_at_one_end_is_not() {
        for index in 0..3 {
            let mut off = ON;
            off[index] = 0.0;
            for cell in [read(&[ON, off], &[ON]), read(&[ON], &[off, ON])] {
                let measured = comparable(&cell);
                let figure = measured.figure().unwrap();
                assert_eq!(figure.value(), 0.0, "{measured:?}");
                assert!(figure.note.as_ref().unwrap().starts_with(DURABILITY_SETTINGS[index]), "{measured:?}");
            }
        }
    }

    #[test]
    fn an_end_that_was_never_read_is_unmeasured_unless_the_other_is_off() {
        let mut unread = read(&[ON], &[]);
        let gaps = IndexMap::from([("*".to_owned(), "the container is exited".to_owned())]);
        push(&mut unread, Entry::Sample(Sample { at: 6.0, watch: "on_ingest".into(), values: IndexMap::new(), gaps }));
        let Measured::Unmeasured { why } = comparable(&unread) else { panic!("measured") };
        assert!(why.starts_with("fsync was not read on the ingest path: the container is exited;"), "{why}");
        let off = comparable(&read(&[[0.0, 1.0, 1.0]], &[]));
        assert_eq!(off.figure().map(super::super::measured::Figure::value), Some(0.0));
        assert!(comparable(&read(&[], &[])).figure().is_none());
    }
}
