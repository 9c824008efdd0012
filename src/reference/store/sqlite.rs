//! SQLite: WAL and `synchronous = FULL`, so that a commit is on disk when it returns.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde_json::json;

use super::{Batch, Fold, History, Key, Reader, Since, StoreError, Tagged, Tags, Totals, Whose, Writer, Written};

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS point_history (topic TEXT NOT NULL, ts INTEGER NOT NULL, value REAL NOT NULL);
    CREATE INDEX IF NOT EXISTS point_history_ts ON point_history (ts);
    CREATE TABLE IF NOT EXISTS point_tags (topic TEXT PRIMARY KEY, tags TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS equip_tags (topic TEXT PRIMARY KEY, tags TEXT NOT NULL, points TEXT NOT NULL) WITHOUT ROWID;";

/// How long to wait for a lock that another process holds.
const PATIENCE: Duration = Duration::from_secs(5);

/// The index that reads by topic need, and the key of the table unless faults want none.
fn index(key: Key) -> String {
    format!("CREATE {} INDEX IF NOT EXISTS point_history_topic_ts ON point_history (topic, ts)", key.unique())
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self(error.to_string())
    }
}

/// The one writer.
pub(super) struct SqliteWriter(Connection);

impl SqliteWriter {
    /// Opens or makes the file and its tables.
    pub(super) fn open(path: &Path, key: Key) -> Result<Self, StoreError> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // 64 MiB, so that the index pages of a large fleet stay in memory.
        connection.pragma_update(None, "cache_size", -65_536)?;
        connection.execute_batch(TABLES)?;
        connection.execute_batch(&index(key))?;
        Ok(Self(connection))
    }
}

impl Writer for SqliteWriter {
    fn write(&mut self, batch: &Batch) -> Result<Written, StoreError> {
        let transaction = self.0.transaction()?;
        let mut written = Written::default();
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO point_history (topic, ts, value) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            )?;
            let mut stored =
                transaction.prepare_cached("SELECT value FROM point_history WHERE topic = ?1 AND ts = ?2")?;
            for (topic, ts, value) in batch.readings() {
                if insert.execute(params![topic, ts, value])? == 1 {
                    written.rows += 1;
                } else {
                    let kept: f64 = stored.query_row(params![topic, ts], |row| row.get(0))?;
                    written.duplicates += 1;
                    written.conflicts += u64::from(kept.to_bits() != value.to_bits());
                }
            }
            for tags in batch.tags() {
                match tags {
                    Tags::Point { topic, tags } => transaction
                        .prepare_cached("INSERT OR REPLACE INTO point_tags (topic, tags) VALUES (?1, ?2)")?
                        .execute(params![topic, tags])?,
                    Tags::Equip { topic, tags, points } => transaction
                        .prepare_cached("INSERT OR REPLACE INTO equip_tags (topic, tags, points) VALUES (?1, ?2, ?3)")?
                        .execute(params![topic, tags, points])?,
                };
            }
        }
        transaction.commit()?;
        Ok(written)
    }
}

/// A reader beside the writer.
pub(super) struct SqliteReader(Connection);

impl SqliteReader {
    /// Opens an existing file.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        Ok(Self(connection))
    }

    fn tagged(&self, statement: &str, has_points: bool) -> Result<Vec<Tagged>, StoreError> {
        let mut statement = self.0.prepare_cached(statement)?;
        let rows = statement.query_map([], |row| {
            let points = if has_points { row.get(2)? } else { None };
            Ok(Tagged { topic: row.get(0)?, tags: row.get(1)?, points })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn topics(&self, whose: &Whose) -> Result<Vec<String>, StoreError> {
        let limit = match whose {
            Whose::Topics(topics) => return Ok(topics.clone()),
            Whose::First(count) => i64::from(*count),
            Whose::All => -1,
        };
        let mut statement = self.0.prepare_cached("SELECT topic FROM point_tags ORDER BY topic LIMIT ?1")?;
        let rows = statement.query_map([limit], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl Reader for SqliteReader {
    fn points(&mut self) -> Result<Vec<Tagged>, StoreError> {
        self.tagged("SELECT topic, tags FROM point_tags ORDER BY topic", false)
    }

    fn equips(&mut self) -> Result<Vec<Tagged>, StoreError> {
        self.tagged("SELECT topic, tags, points FROM equip_tags ORDER BY topic", true)
    }

    fn history(&mut self, whose: &Whose, limit: u32) -> Result<Vec<History>, StoreError> {
        let topics = self.topics(whose)?;
        let mut newest =
            self.0.prepare_cached("SELECT ts, value FROM point_history WHERE topic = ?1 ORDER BY ts DESC LIMIT ?2")?;
        let of_topic = |topic: String| {
            let rows = newest.query_map(params![topic, limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let readings = rows.collect::<Result<_, _>>()?;
            Ok(History { topic, readings })
        };
        topics.into_iter().map(of_topic).collect()
    }

    fn fold(&mut self, topics: &[String], since: Since, bucket_s: u32) -> Result<Vec<Fold>, StoreError> {
        let mut statement = self.0.prepare_cached(
            "SELECT topic, ts / ?3 * ?3, count(*), avg(value) FROM point_history
             WHERE topic IN (SELECT value FROM json_each(?1)) AND ts >= unixepoch('now', ?2) * 1000
             GROUP BY 1, 2 ORDER BY 1, 2",
        )?;
        let since = match since {
            Since::Today => "start of day".to_owned(),
            Since::Hours(hours) => format!("-{hours} hours"),
        };
        let rows = statement
            .query_map(params![json!(topics).to_string(), since, i64::from(bucket_s) * 1_000], |row| {
                Ok(Fold { topic: row.get(0)?, ts: row.get(1)?, rows: row.get(2)?, mean: row.get(3)? })
            })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn ready(&mut self) -> Result<(), StoreError> {
        Ok(self.0.execute_batch("SELECT 1 FROM point_history LIMIT 0")?)
    }

    fn totals(&mut self) -> Result<Totals, StoreError> {
        let count = |statement: &str| -> Result<i64, StoreError> {
            let counted = self.0.prepare_cached(statement)?.query_row([], |row| row.get(0)).optional()?;
            Ok(counted.unwrap_or(0))
        };
        Ok(Totals {
            // Rows are never deleted, so the last rowid is their number, and found without counting.
            rows: count("SELECT coalesce(max(rowid), 0) FROM point_history")?,
            points: count("SELECT count(*) FROM point_tags")?,
            equips: count("SELECT count(*) FROM equip_tags")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_copy_is_absorbed_and_another_value_is_a_conflict() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.sqlite");
        let mut writer = SqliteWriter::open(&path, Key::TopicAndTime).unwrap();
        let mut batch = Batch::default();
        batch.push("a", 1, 1.0);
        batch.push("a", 1, 1.0);
        batch.push("b", 1, 2.0);
        batch.push("b", 1, 3.0);
        batch.push("a", 2, 4.0);
        batch.push_tags(Tags::Point { topic: "a".into(), tags: "{}".into() });
        batch.push_tags(Tags::Point { topic: "a".into(), tags: "{\"x\":1}".into() });
        batch.push_tags(Tags::Equip { topic: "e".into(), tags: "{}".into(), points: "[]".into() });
        assert_eq!(writer.write(&batch).unwrap(), Written { rows: 3, duplicates: 2, conflicts: 1 });
        assert_eq!(writer.write(&batch).unwrap(), Written { rows: 0, duplicates: 5, conflicts: 1 });

        let mut reader = SqliteReader::open(&path).unwrap();
        assert_eq!(reader.totals().unwrap(), Totals { rows: 3, points: 1, equips: 1 });
        assert_eq!(reader.points().unwrap(), [Tagged { topic: "a".into(), tags: "{\"x\":1}".into(), points: None }]);
        assert_eq!(
            reader.equips().unwrap(),
            [Tagged { topic: "e".into(), tags: "{}".into(), points: Some("[]".into()) }]
        );
        let of_a = History { topic: "a".into(), readings: vec![(2, 4.0), (1, 1.0)] };
        assert_eq!(reader.history(&Whose::First(5), 10).unwrap(), std::slice::from_ref(&of_a));
        assert_eq!(reader.history(&Whose::All, 10).unwrap(), [of_a]);
        let of_b = History { topic: "b".into(), readings: vec![(1, 2.0)] };
        assert_eq!(reader.history(&Whose::Topics(vec!["b".into()]), 10).unwrap(), [of_b]);
        assert_eq!(
            (reader.ready(), reader.fold(&["a".into()], Since::Hours(1), 60)),
            (Ok(()), Ok(vec![])),
            "old readings"
        );
    }
}
