//! The report of a job of `/jobs`: a look at everything that is stored.

use serde::Serialize;

use crate::reference::store::{Reader, StoreError, Whose};

/// The newest readings of each point that are looked at.
const DEPTH: u32 = 1_000;

/// A look at the newest readings of every point that has tags.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Survey {
    /// Points with tags.
    points: u64,
    /// Those of them without a reading.
    silent: u64,
    /// Readings looked at.
    rows: u64,
    /// The mean of their values; none without a reading.
    mean: Option<f64>,
}

impl Survey {
    /// Reads and sums up.
    pub(super) fn make(reader: &mut dyn Reader) -> Result<Self, StoreError> {
        let histories = reader.history(&Whose::All, DEPTH)?;
        let (mut rows, mut sum, mut silent) = (0_u32, 0.0, 0);
        for history in &histories {
            silent += u64::from(history.readings.is_empty());
            for (_, value) in &history.readings {
                (rows, sum) = (rows.saturating_add(1), sum + value);
            }
        }
        let mean = (rows > 0).then(|| sum / f64::from(rows));
        Ok(Self { points: histories.len() as u64, silent, rows: rows.into(), mean })
    }
}
