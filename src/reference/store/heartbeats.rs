//! Heartbeats of a service in a table of PostgreSQL, one row for each beat.

use postgres::{Client, Config, NoTls};

use super::{StoreError, postgres::config};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS service_heartbeats (service text NOT NULL, ts timestamptz NOT NULL)";

/// The heart of one service: connected when it beats.
pub(in crate::reference) struct Heartbeats {
    config: Config,
    service: String,
    client: Option<Client>,
}

impl Heartbeats {
    /// Keeps the URL; connects later.
    pub(in crate::reference) fn new(url: &str, service: &str) -> Result<Self, StoreError> {
        Ok(Self { config: config(url)?, service: service.to_owned(), client: None })
    }

    /// Writes one beat with the database's time. A connection that was lost is made anew at the next one.
    pub(in crate::reference) fn beat(&mut self) -> Result<(), StoreError> {
        let mut client = if let Some(client) = self.client.take() {
            client
        } else {
            let mut client = self.config.connect(NoTls)?;
            client.batch_execute(TABLE)?;
            client
        };
        client
            .execute("INSERT INTO service_heartbeats (service, ts) VALUES ($1, clock_timestamp())", &[&self.service])?;
        self.client = Some(client);
        Ok(())
    }
}
