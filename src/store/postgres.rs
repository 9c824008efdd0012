//! A PostgreSQL server.
//!
//! The client is used on plain threads only: it drives its own runtime and may not be called from within another.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use postgres::{Client, Config, NoTls, config::SslMode};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{Rows, value::Value};
use crate::plan::connection;

/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// How long a connection that was used before may take to show that it still works.
const CHECK_LIMIT: Duration = Duration::from_secs(2);

/// A PostgreSQL server; the connection is made at the first statement, and anew after an outage.
pub struct Postgres {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    client: Option<Client>,
}

impl Postgres {
    pub(super) fn new(plan: &connection::Postgres, plan_folder: &Path, limit: Duration) -> Result<Self, String> {
        // The parser's error quotes nothing of the URL but the part that it did not understand.
        let mut config: Config = plan.url.parse().map_err(|error| format!("the URL cannot be read: {error}"))?;
        config.connect_timeout(CONNECT_LIMIT).application_name("scaler");
        let given = config.get_options().unwrap_or_default().to_owned();
        config.options(&format!("{given} -c statement_timeout={}", limit.as_millis()));
        let tls = match config.get_ssl_mode() {
            SslMode::Require => Some(tls(plan.ca_file.as_deref().map(|file| plan_folder.join(file)).as_deref())?),
            _ => None,
        };
        Ok(Self { config, tls, client: None })
    }

    pub(super) fn rows(&mut self, statement: &str) -> Result<Rows, String> {
        let client = self.client()?;
        let begun = Instant::now();
        let read = client.query(statement, &[]).map_err(|error| words(&error));
        let seconds = begun.elapsed().as_secs_f64();
        let rows = read?.into_iter().map(|row| (0..row.len()).map(|column| column_of(&row, column)).collect());
        Ok(Rows { rows: rows.collect::<Result<_, _>>()?, seconds })
    }

    pub(super) fn execute(&mut self, statements: &str) -> Result<(), String> {
        self.client()?.batch_execute(statements).map_err(|error| words(&error))
    }

    /// A connection that works. One that was used before is tried first, so that a statement never fails for a restart of long ago.
    fn client(&mut self) -> Result<&mut Client, String> {
        let works = self.client.as_mut().is_some_and(|client| client.is_valid(CHECK_LIMIT).is_ok());
        if !works {
            self.client = None;
            let connected = match &self.tls {
                Some(tls) => self.config.connect(tls.clone()),
                None => self.config.connect(NoTls),
            };
            self.client = Some(connected.map_err(|error| format!("no connection: {}", words(&error)))?);
        }
        self.client.as_mut().ok_or_else(|| "no connection".to_owned())
    }
}

fn column_of(row: &postgres::Row, column: usize) -> Result<crate::run::world::Datum, String> {
    row.try_get::<_, Option<Value>>(column).map(Value::datum).map_err(|error| words(&error))
}

fn tls(ca_file: Option<&Path>) -> Result<MakeRustlsConnect, String> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(file) => {
            let trouble = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
            for certificate in CertificateDer::pem_file_iter(file).map_err(|error| trouble(&error))? {
                let certificate = certificate.map_err(|error| trouble(&error))?;
                roots.add(certificate).map_err(|error| trouble(&error))?;
            }
        }
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// The server's message, or what happened on the way to it.
fn words(error: &postgres::Error) -> String {
    if let Some(server) = error.as_db_error() {
        return format!("{} ({})", server.message(), server.code().code());
    }
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if !words.contains(&cause.to_string()) {
            words = format!("{words}: {cause}");
        }
        source = cause.source();
    }
    words
}
