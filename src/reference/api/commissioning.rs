//! A commissioning run: did each point of a site report in the last hours, and what?

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::reference::store::{Fold, Reader, Since, StoreError};

/// The stretches of the report.
const STRETCH_S: u32 = 300;

/// What a run is asked to look at.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Order {
    /// The site: a level of its points' topics.
    site: String,
    /// How many hours back.
    hours: u16,
}

impl Order {
    /// Reads what was posted.
    pub(super) fn read(posted: Value) -> Result<Self, String> {
        serde_json::from_value(posted).map_err(|error| format!("a run needs a site and hours: {error}\n"))
    }
}

/// What a run found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Report {
    /// The points of the site.
    points: u64,
    /// Those of them without a reading.
    silent: u64,
    /// Readings of all of them.
    readings: i64,
    /// Each stretch of each point.
    rows: Vec<Fold>,
}

impl Report {
    /// Reads and sums up.
    pub(super) fn make(reader: &mut dyn Reader, order: &Order) -> Result<Self, StoreError> {
        let topics = reader.points()?.into_iter().map(|point| point.topic);
        let topics: Vec<String> = topics.filter(|topic| topic.split('/').any(|level| level == order.site)).collect();
        let rows = reader.fold(&topics, Since::Hours(order.hours), STRETCH_S)?;
        let heard = rows.chunk_by(|one, next| one.topic == next.topic).count();
        let readings = rows.iter().map(|row| row.rows).sum();
        Ok(Self { points: topics.len() as u64, silent: topics.len().saturating_sub(heard) as u64, readings, rows })
    }
}
