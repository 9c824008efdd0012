//! Stores: where the readings end up, asked by statements.
//!
//! A store is used from plain threads, one statement at a time. It survives the outages that a plan causes: a statement during one
//! is answered by an error in words, the next one after it works again.

mod postgres;
mod sqlite;
mod value;

use std::{path::Path, time::Duration};

use crate::{plan::connection::Connection, run::world::Datum};

/// Rows and how long they took, in seconds, from the statement to the last row.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The rows.
    pub rows: Vec<Vec<Datum>>,
    /// Seconds.
    pub seconds: f64,
}

/// An end that statements can be sent to.
pub enum Store {
    /// PostgreSQL.
    Postgres(postgres::Postgres),
    /// SQLite.
    Sqlite(sqlite::Sqlite),
}

impl Store {
    /// A store for a connection of the plan; nothing is opened before the first statement. A statement may take `limit`; files
    /// are relative to `plan_folder`.
    ///
    /// # Errors
    /// When the connection takes no statements, or its URL or certificate cannot be read.
    pub fn new(connection: &Connection, plan_folder: &Path, limit: Duration) -> Result<Self, String> {
        match connection {
            Connection::Postgres(postgres) => postgres::Postgres::new(postgres, plan_folder, limit).map(Self::Postgres),
            Connection::Sqlite(sqlite) => Ok(Self::Sqlite(sqlite::Sqlite::new(plan_folder.join(&sqlite.path)))),
            other => Err(format!("a connection of kind `{}` takes no statements", other.key())),
        }
    }

    /// Reads rows.
    ///
    /// # Errors
    /// The store's own message.
    pub fn rows(&mut self, statement: &str) -> Result<Rows, String> {
        match self {
            Self::Postgres(postgres) => postgres.rows(statement),
            Self::Sqlite(sqlite) => sqlite.rows(statement),
        }
    }

    /// Runs one or more statements for their effect.
    ///
    /// # Errors
    /// The store's own message; SQLite files are only read.
    pub fn execute(&mut self, statements: &str) -> Result<(), String> {
        match self {
            Self::Postgres(postgres) => postgres.execute(statements),
            Self::Sqlite(_) => Err("SQLite files are only read".to_owned()),
        }
    }

    /// Reads the first column of the first row as a number.
    ///
    /// # Errors
    /// The store's own message, or that there is no number.
    pub fn number(&mut self, statement: &str) -> Result<f64, String> {
        let rows = self.rows(statement)?.rows;
        let first = rows.first().and_then(|row| row.first()).ok_or("the statement gave no row")?;
        first.number().ok_or_else(|| format!("the statement gave {first:?}, not a number"))
    }
}
