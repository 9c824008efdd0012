//! PostgreSQL, with its own durability settings. For plain threads: the client blocks.

use postgres::{Client, Config, NoTls, Row, Transaction};

use super::{Batch, Fold, History, Key, Reader, Since, StoreError, Tagged, Tags, Totals, Whose, Writer, Written};

/// Topics are ordered byte by byte, as in SQLite, whatever the cluster's locale is.
const TABLES: &str = r#"
    CREATE TABLE IF NOT EXISTS point_history (point_uri text COLLATE "C" NOT NULL, ts timestamptz NOT NULL, value double precision NOT NULL);
    CREATE INDEX IF NOT EXISTS point_history_ts ON point_history (ts);
    CREATE TABLE IF NOT EXISTS point_tags (topic text COLLATE "C" PRIMARY KEY, tags text NOT NULL);
    CREATE TABLE IF NOT EXISTS equip_tags (topic text COLLATE "C" PRIMARY KEY, tags text NOT NULL, points text NOT NULL);"#;

/// The readings of a batch. A double holds milliseconds of this century exactly enough for microseconds.
const OFFERED: &str = "
    WITH offered AS (
        SELECT point_uri, to_timestamp(ms / 1000.0::double precision) AS ts, value
        FROM unnest($1::text[], $2::bigint[], $3::double precision[]) AS reading (point_uri, ms, value))";

const INSERT: &str = "INSERT INTO point_history (point_uri, ts, value) SELECT * FROM offered ON CONFLICT DO NOTHING";

const CONFLICTS: &str = "SELECT count(*) FROM offered JOIN point_history AS stored USING (point_uri, ts)
    WHERE stored.value IS DISTINCT FROM offered.value";

/// The index that reads by topic need, and the key of the table unless faults want none.
fn index(key: Key) -> String {
    format!("CREATE {} INDEX IF NOT EXISTS point_history_point_ts ON point_history (point_uri, ts)", key.unique())
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

pub(super) fn config(url: &str) -> Result<Config, StoreError> {
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
        written.rows = transaction.execute(&format!("{OFFERED} {INSERT}"), &[&topics, &times, &values])?;
        written.duplicates = offered.saturating_sub(written.rows);
        if written.duplicates > 0 {
            let conflicts: i64 =
                transaction.query_one(&format!("{OFFERED} {CONFLICTS}"), &[&topics, &times, &values])?.get(0);
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
        const NEWEST: &str = "SELECT point.topic, (extract(epoch FROM newest.ts) * 1000)::bigint, newest.value
            FROM point LEFT JOIN LATERAL (
                SELECT ts, value FROM point_history WHERE point_uri = point.topic ORDER BY ts DESC LIMIT $1) AS newest ON true
            ORDER BY point.topic, newest.ts DESC";
        let limit = i64::from(limit);
        let rows = match whose {
            Whose::Topics(topics) => {
                let points = "WITH point AS (SELECT unnest($2::text[]) AS topic)";
                self.0.query(&format!("{points} {NEWEST}"), &[&limit, topics])?
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

    fn fold(&mut self, topics: &[String], since: Since, bucket_s: u32) -> Result<Vec<Fold>, StoreError> {
        let since = match since {
            Since::Today => "date_trunc('day', now(), 'UTC')".to_owned(),
            Since::Hours(hours) => format!("now() - make_interval(hours => {hours})"),
        };
        let statement = format!(
            "SELECT point_uri, (extract(epoch FROM stretch) * 1000)::bigint, rows, mean
             FROM (SELECT point_uri, date_bin(make_interval(secs => $2), ts, to_timestamp(0)) AS stretch, count(*) AS rows, avg(value) AS mean
                   FROM point_history WHERE point_uri = ANY($1) AND ts >= {since} GROUP BY 1, 2) AS folded
             ORDER BY point_uri, stretch"
        );
        let rows = self.0.query(&statement, &[&topics, &f64::from(bucket_s)])?;
        let fold = |row: &Row| Fold { topic: row.get(0), ts: row.get(1), rows: row.get(2), mean: row.get(3) };
        Ok(rows.iter().map(fold).collect())
    }

    fn ready(&mut self) -> Result<(), StoreError> {
        Ok(self.0.batch_execute("SELECT 1 FROM point_history LIMIT 0")?)
    }

    fn totals(&mut self) -> Result<Totals, StoreError> {
        let statement = "SELECT (SELECT count(*) FROM point_history), (SELECT count(*) FROM point_tags), (SELECT count(*) FROM equip_tags)";
        let row = self.0.query_one(statement, &[])?;
        Ok(Totals { rows: row.get(0), points: row.get(1), equips: row.get(2) })
    }
}
