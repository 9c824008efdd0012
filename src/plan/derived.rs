//! Figures that are made of others, and the names under which readers know figures: durability from end to end, growth on disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of PostgreSQL without which a commit may be lost in a crash; a series of each is 1 for on and 0 for off.
pub const DURABILITY_SETTINGS: [&str; 3] = ["fsync", "synchronous_commit", "full_page_writes"];

/// Durability from end to end: `durability.comparable` is 1 only when `fsync`, `synchronous_commit` and `full_page_writes` were on in
/// every reading of both watches, and unmeasured when one of them was never read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Durability {
    /// The watch that reads the settings on the server; it has a series of each name, 1 for on.
    pub server: String,
    /// The watch that reads them on a connection of the ingest path, such as an `exec` watch `in` the listener's container: a
    /// session may have other settings than the server.
    pub ingest: String,
}

/// What the store grows by at the measured rate: `growth.bytes_per_day` and the figures that it is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// The `reconcile` phase whose rows are counted.
    pub custody: String,
    /// The series with the bytes of a row, indexes included, as `WATCH.SERIES`.
    pub bytes_per_row: String,
    /// The series with the bytes of the whole store, as `WATCH.SERIES`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<String>,
}
