//! PostgreSQL, with its own durability settings. For plain threads: the client blocks.

use postgres::{Client, Config, NoTls, Transaction};

use super::{Batch, History, Key, Reader, StoreError, Tagged, Tags, Totals, Whose, Writer, Written};

/// Topics are ordered byte by byte, as in SQLite, whatever the cluster's locale is.
const TABLES: &str = r#"
    CREATE TABLE IF NOT EXISTS point_history (topic text COLLATE "C" NOT NULL, ts bigint NOT NULL, value double precision NOT NULL);
    CREATE INDEX IF NOT EXISTS point_history_ts ON point_history (ts);
    CREATE TABLE IF NOT EXISTS point_tags (topic text COLLATE "C" PRIMARY KEY, tags text NOT NULL);
    CREATE TABLE IF NOT EXISTS equip_tags (topic text COLLATE "C" PRIMARY KEY, tags text NOT NULL, points text NOT NULL);"#;

const INSERT: &str = "
    INSERT INTO point_history (topic, ts, value)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::double precision[]) ON CONFLICT DO NOTHING";

const CONFLICTS: &str = "
    SELECT count(*) FROM unnest($1::text[], $2::bigint[], $3::double precision[]) AS offered (topic, ts, value)
    JOIN point_history AS stored USING (topic, ts) WHERE stored.value IS DISTINCT FROM offered.value";

/// The index that reads by topic need, and the key of the table unless faults want none.
fn index(key: Key) -> String {
    format!("CREATE {} INDEX IF NOT EXISTS point_history_topic_ts ON point_history (topic, ts)", key.unique())
}

impl From<postgres::Error> for StoreError {
    fn from(error: postgres::Error) -> Self {
        // The outer error only names the step; what the server said is its source.
        match std::error::Error::source(&error) {
            Some(source) => Self(format!("{error}: {source}")),
            None => Self(error.to_string()),
        }
    }
}

fn config(url: &str) -> Result<Config, StoreError> {
    // The parser's message names the key that it did not take, never a value.
    let mut config: Config = url.parse()?;
    config.connect_timeout(std::time::Duration::from_secs(5));
    Ok(config)
}

/// The one writer, connected when it is needed.
pub(super) struct PostgresWriter {
    config: Config,
    key: Key,
    client: Option<Client>,
}

impl PostgresWriter {
    /// Keeps the URL; connects later.
    pub(super) fn new(url: &str, key: Key) -> Result<Self, StoreError> {
        Ok(Self { config: config(url)?, key, client: None })
    }

    fn connect(&self) -> Result<Client, StoreError> {
        let mut client = self.config.connect(NoTls)?;
        client.batch_execute(TABLES)?;
        client.batch_execute(&index(self.key))?;
        Ok(client)
    }
}

impl Writer for PostgresWriter {
    fn write(&mut self, batch: &Batch) -> Result<Written, StoreError> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => self.connect()?,
        };
        let mut transaction = client.transaction()?;
        let written = insert(&mut transaction, batch)?;
        transaction.commit()?;
        // Only a connection that has just worked is kept.
        self.client = Some(client);
        Ok(written)
    }
}

fn insert(transaction: &mut Transaction<'_>, batch: &Batch) -> Result<Written, StoreError> {
    let offered = batch.readings().len() as u64;
    let mut written = Written::default();
    if offered > 0 {
        let topics: Vec<&str> = batch.readings().map(|(topic, _, _)| topic).collect();
        let times: Vec<i64> = batch.readings().map(|(_, ts, _)| ts).collect();
        let values: Vec<f64> = batch.readings().map(|(_, _, value)| value).collect();
        written.rows = transaction.execute(INSERT, &[&topics, &times, &values])?;
        written.duplicates = offered.saturating_sub(written.rows);
        if written.duplicates > 0 {
            let conflicts: i64 = transaction.query_one(CONFLICTS, &[&topics, &times, &values])?.get(0);
            written.conflicts = u64::try_from(conflicts).unwrap_or(0);
        }
    }
    if !batch.tags().is_empty() {
        insert_tags(transaction, batch.tags())?;
    }
    Ok(written)
}

fn insert_tags(transaction: &mut Transaction<'_>, all: &[Tags]) -> Result<(), StoreError> {
    let point = transaction.prepare(
        "INSERT INTO point_tags (topic, tags) VALUES ($1, $2) ON CONFLICT (topic) DO UPDATE SET tags = excluded.tags",
    )?;
    let equip = transaction.prepare(
        "INSERT INTO equip_tags (topic, tags, points) VALUES ($1, $2, $3)
         ON CONFLICT (topic) DO UPDATE SET tags = excluded.tags, points = excluded.points",
    )?;
    for tags in all {
        match tags {
            Tags::Point { topic, tags } => transaction.execute(&point, &[topic, tags])?,
            Tags::Equip { topic, tags, points } => transaction.execute(&equip, &[topic, tags, points])?,
        };
    }
    Ok(())
}

/// The settings that decide whether a commit survives a crash, as this connection has them.
pub(super) fn durability(url: &str) -> Result<Vec<(&'static str, bool)>, StoreError> {
    let mut client = config(url)?.connect(NoTls)?;
    let setting = |setting: &'static str| {
        let row = client.query_one("SELECT current_setting($1)", &[&setting])?;
        Ok((setting, row.get::<_, String>(0) == "on"))
    };
    ["fsync", "synchronous_commit", "full_page_writes"].into_iter().map(setting).collect()
}

/// A reader with a connection of its own.
pub(super) struct PostgresReader(Client);

impl PostgresReader {
    /// Connects.
    pub(super) fn open(url: &str) -> Result<Self, StoreError> {
        Ok(Self(config(url)?.connect(NoTls)?))
    }
}

impl Reader for PostgresReader {
    fn points(&mut self) -> Result<Vec<Tagged>, StoreError> {
        let rows = self.0.query("SELECT topic, tags FROM point_tags ORDER BY topic", &[])?;
        Ok(rows.iter().map(|row| Tagged { topic: row.get(0), tags: row.get(1), points: None }).collect())
    }

    fn equips(&mut self) -> Result<Vec<Tagged>, StoreError> {
        let rows = self.0.query("SELECT topic, tags, points FROM equip_tags ORDER BY topic", &[])?;
        Ok(rows.iter().map(|row| Tagged { topic: row.get(0), tags: row.get(1), points: row.get(2) }).collect())
    }

    fn history(&mut self, whose: &Whose, limit: u32) -> Result<Vec<History>, StoreError> {
        const NEWEST: &str = "SELECT point.topic, newest.ts, newest.value FROM point LEFT JOIN LATERAL (
            SELECT ts, value FROM point_history WHERE topic = point.topic ORDER BY ts DESC LIMIT $1) AS newest ON true
            ORDER BY point.topic, newest.ts DESC";
        let limit = i64::from(limit);
        let rows = match whose {
            Whose::Topic(topic) => {
                self.0.query(&format!("WITH point AS (SELECT $2::text AS topic) {NEWEST}"), &[&limit, topic])?
            }
            Whose::First(_) | Whose::All => {
                let count = if let Whose::First(count) = whose { Some(i64::from(*count)) } else { None };
                let points = "WITH point AS (SELECT topic FROM point_tags ORDER BY topic LIMIT $2)";
                self.0.query(&format!("{points} {NEWEST}"), &[&limit, &count])?
            }
        };
        let mut histories: Vec<History> = Vec::new();
        for row in &rows {
            let topic: &str = row.get(0);
            if histories.last().is_none_or(|last| last.topic != topic) {
                histories.push(History { topic: topic.to_owned(), readings: Vec::new() });
            }
            if let (Some(last), Some(ts)) = (histories.last_mut(), row.get::<_, Option<i64>>(1)) {
                last.readings.push((ts, row.get(2)));
            }
        }
        Ok(histories)
    }

    fn totals(&mut self) -> Result<Totals, StoreError> {
        let statement = "SELECT (SELECT count(*) FROM point_history), (SELECT count(*) FROM point_tags), (SELECT count(*) FROM equip_tags)";
        let row = self.0.query_one(statement, &[])?;
        Ok(Totals { rows: row.get(0), points: row.get(1), equips: row.get(2) })
    }
}
