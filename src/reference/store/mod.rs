//! Where readings are kept: SQLite or PostgreSQL, behind one writer and one reader.
//!
//! Both hold `point_history`, `point_tags(topic, tags)` and `equip_tags(topic, tags, points)`. In SQLite a reading is `(topic, ts, value)` with `ts` in
//! Unix milliseconds; in PostgreSQL it is Baler's `(point_uri, ts, value)` with `ts` a `timestamptz`. The tags may be kept in a graph instead.
//!
//! QoS 1 may deliver a reading twice, so (topic, ts) is a unique key: the second copy is absorbed by `ON CONFLICT DO NOTHING`, which costs one look
//! into an index that reads by topic need anyhow. A copy with another value is absorbed too, and counted as a conflict: the first stays.
//! A second index on `ts` alone grows at its right edge and makes reads of a stretch of time independent of the table's size.

use std::{fmt, path::PathBuf, str::FromStr};

use serde::Serialize;

mod batch;
mod heartbeats;
mod postgres;
mod sqlite;

pub(super) use batch::{Batch, Tags};
pub(super) use heartbeats::Heartbeats;

/// Where a store is.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A file.
    Sqlite(PathBuf),
    /// A URL with credentials.
    Postgres(String),
}

impl fmt::Debug for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(out, "{}", path.display()),
            Self::Postgres(_) => out.write_str("postgres"),
        }
    }
}

impl FromStr for Location {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        if text.is_empty() || text.contains("://") {
            return Err("a store is the path of an SQLite file or a postgres:// URL");
        }
        Ok(Self::Sqlite(text.into()))
    }
}

/// What makes two rows one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A second row of the same topic and time is absorbed.
    TopicAndTime,
    /// Every row is stored: only faults want that. A store that has its tables already keeps the key that it has.
    None,
}

impl Key {
    /// The word of SQL before `INDEX`.
    fn unique(self) -> &'static str {
        match self {
            Self::TopicAndTime => "UNIQUE",
            Self::None => "",
        }
    }
}

/// Why the store did not do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoreError(pub(super) String);

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// What a committed batch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// Readings that are new.
    pub(super) rows: u64,
    /// Readings that were stored before.
    pub(super) duplicates: u64,
    /// Those of the duplicates that came with another value; the stored one stays.
    pub(super) conflicts: u64,
}

/// Writes batches, each as one durable transaction: after `Ok` a power cut loses none of it, after `Err` none or all of it is stored.
pub(super) trait Writer: Send {
    /// Commits a batch. A connection that was lost is made anew at the next call.
    fn write(&mut self, batch: &Batch) -> Result<Written, StoreError>;
}

/// A point or equipment and its tags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Tagged {
    /// The topic.
    pub(super) topic: String,
    /// JSON, as it came.
    pub(super) tags: String,
    /// The labels of an equipment's points, JSON, as they came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) points: Option<String>,
}

/// A point's readings, the newest first: Unix milliseconds and value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct History {
    /// The point's topic.
    pub(super) topic: String,
    /// The readings.
    pub(super) readings: Vec<(i64, f64)>,
}

/// Whose history is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The first n points that have tags, by topic.
    First(u32),
    /// Every point that has tags.
    All,
    /// These topics.
    Topics(Vec<String>),
}

/// From when on readings are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// The last midnight, UTC.
    Today,
    /// So many hours ago.
    Hours(u16),
}

/// The readings of one topic in one stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Fold {
    /// The topic.
    pub(super) topic: String,
    /// Where the stretch begins, Unix milliseconds.
    pub(super) ts: i64,
    /// Readings.
    pub(super) rows: i64,
    /// The mean of their values.
    pub(super) mean: f64,
}

/// How much is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Totals {
    /// Readings.
    pub(super) rows: i64,
    /// Points with tags.
    pub(super) points: i64,
    /// Equipments with tags.
    pub(super) equips: i64,
}

/// Reads. The work of each is in proportion to its answer, except for [`Reader::totals`], which counts.
pub(super) trait Reader: Send {
    /// Points with tags.
    fn points(&mut self) -> Result<Vec<Tagged>, StoreError>;
    /// Equipments with tags.
    fn equips(&mut self) -> Result<Vec<Tagged>, StoreError>;
    /// The newest readings of points.
    fn history(&mut self, whose: &Whose, limit: u32) -> Result<Vec<History>, StoreError>;
    /// The readings of some topics in stretches of so many seconds, by topic and time.
    fn fold(&mut self, topics: &[String], since: Since, bucket_s: u32) -> Result<Vec<Fold>, StoreError>;
    /// Whether there is something to read from.
    fn ready(&mut self) -> Result<(), StoreError>;
    /// How much is stored.
    fn totals(&mut self) -> Result<Totals, StoreError>;
}

impl Location {
    /// Opens the store for writing, and makes its tables if they are not there. PostgreSQL is connected to at the first write.
    pub(super) fn writer(&self, key: Key) -> Result<Box<dyn Writer>, StoreError> {
        match self {
            Self::Sqlite(path) => Ok(Box::new(sqlite::SqliteWriter::open(path, key)?)),
            Self::Postgres(url) => Ok(Box::new(postgres::PostgresWriter::new(url, key)?)),
        }
    }

    /// Opens the store for reading.
    pub(super) fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        match self {
            Self::Sqlite(path) => Ok(Box::new(sqlite::SqliteReader::open(path)?)),
            Self::Postgres(url) => Ok(Box::new(postgres::PostgresReader::open(url)?)),
        }
    }

    /// The durability settings of a connection of its own, by their names.
    pub(super) fn durability(&self) -> Result<Vec<(&'static str, bool)>, StoreError> {
        match self {
            Self::Sqlite(_) => Err(StoreError("only PostgreSQL has these settings".to_owned())),
            Self::Postgres(url) => postgres::durability(url),
        }
    }
}
