//! A SQLite file, opened for reading beside the process that writes it.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags, types::ValueRef};

use super::Rows;
use crate::run::world::Datum;

/// How long a statement waits for a lock that the writer holds.
const BUSY_LIMIT: Duration = Duration::from_secs(5);

/// A SQLite file.
pub struct Sqlite {
    path: PathBuf,
    open: Option<(Connection, FileIdentity)>,
}

/// Device and inode: a fresh target makes a new file under the old name.
type FileIdentity = (u64, u64);

impl Sqlite {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, open: None }
    }

    pub(super) fn rows(&mut self, statement: &str) -> Result<Rows, String> {
        let connection = self.connection()?;
        let begun = Instant::now();
        let rows = read(connection, statement).map_err(|error| error.to_string())?;
        Ok(Rows { rows, seconds: begun.elapsed().as_secs_f64() })
    }

    fn connection(&mut self) -> Result<&Connection, String> {
        let trouble = |error: &dyn std::fmt::Display| format!("{}: {error}", self.path.display());
        let file = fs::metadata(&self.path).map_err(|error| trouble(&error))?;
        let identity = (file.dev(), file.ino());
        if self.open.as_ref().is_none_or(|(_, opened)| *opened != identity) {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(&self.path, flags).map_err(|error| trouble(&error))?;
            connection.busy_timeout(BUSY_LIMIT).map_err(|error| trouble(&error))?;
            self.open = Some((connection, identity));
        }
        self.open.as_ref().map(|(connection, _)| connection).ok_or_else(|| "the file was not opened".to_owned())
    }
}

fn read(connection: &Connection, statement: &str) -> rusqlite::Result<Vec<Vec<Datum>>> {
    let mut statement = connection.prepare_cached(statement)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut read = Vec::new();
    while let Some(row) = rows.next()? {
        let datum = |column| row.get_ref(column).map(datum);
        read.push((0..columns).map(datum).collect::<rusqlite::Result<Vec<Datum>>>()?);
    }
    Ok(read)
}

fn datum(value: ValueRef<'_>) -> Datum {
    match value {
        ValueRef::Null => Datum::Null,
        ValueRef::Integer(number) => Datum::Integer(number),
        ValueRef::Real(number) => Datum::Real(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Datum::Text(String::from_utf8_lossy(bytes).into_owned()),
    }
}
