//! Readings and tags on their way to the store. Topics lie in one text, so that a reading costs no allocation of its own.

use std::ops::Range;

/// Tags to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::reference) enum Tags {
    /// Of a point.
    Point {
        /// The point's topic.
        topic: String,
        /// JSON.
        tags: String,
    },
    /// Of an equipment.
    Equip {
        /// The equipment's topic.
        topic: String,
        /// JSON.
        tags: String,
        /// Labels, JSON.
        points: String,
    },
}

#[derive(Clone, Debug)]
struct Row {
    topic: Range<usize>,
    ts: i64,
    value: f64,
}

/// What one transaction commits.
#[derive(Clone, Debug, Default)]
pub(in crate::reference) struct Batch {
    topics: String,
    rows: Vec<Row>,
    tags: Vec<Tags>,
}

impl Batch {
    /// Adds a reading; `ts` is in Unix milliseconds.
    pub(in crate::reference) fn push(&mut self, topic: &str, ts: i64, value: f64) {
        let start = self.topics.len();
        self.topics.push_str(topic);
        self.rows.push(Row { topic: start..self.topics.len(), ts, value });
    }

    /// Adds tags.
    pub(in crate::reference) fn push_tags(&mut self, tags: Tags) {
        self.tags.push(tags);
    }

    /// How many readings and tags there are.
    pub(in crate::reference) fn len(&self) -> usize {
        self.rows.len() + self.tags.len()
    }

    /// Whether there is a reading.
    pub(in crate::reference) fn has_readings(&self) -> bool {
        !self.rows.is_empty()
    }

    /// The readings, in order of arrival.
    pub(in crate::reference) fn readings(&self) -> impl ExactSizeIterator<Item = (&str, i64, f64)> {
        self.rows.iter().map(|row| (&self.topics[row.topic.clone()], row.ts, row.value))
    }

    /// The same readings without the tags.
    pub(in crate::reference) fn without_tags(&self) -> Self {
        Self { topics: self.topics.clone(), rows: self.rows.clone(), tags: Vec::new() }
    }

    /// The tags, in order of arrival.
    pub(in crate::reference) fn tags(&self) -> &[Tags] {
        &self.tags
    }
}
