//! Who a client of the broker says that it is, and the CONNECT that says so.

use bytes::BytesMut;
use clap::Args;
use rumqttc::mqttbytes::{Error, v4::Connect};

/// The broker's user and password.
#[derive(Clone, Debug, Args)]
pub struct Login {
    /// The broker's user
    #[arg(long, env = "SCALER_BROKER_USER")]
    pub user: Option<String>,
    /// The broker's password: from the environment only
    #[arg(skip = std::env::var("SCALER_BROKER_PASSWORD").ok().map(Password))]
    pub password: Option<Password>,
}

/// A password that its debug form does not show.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub String);

impl std::fmt::Debug for Password {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Password(…)")
    }
}

impl Login {
    /// The CONNECT packet; `kept` asks for a session that outlives the connection. A keep-alive of 0 promises none.
    pub(super) fn connect(&self, client_id: &str, kept: bool, keep_alive_s: u16) -> Result<BytesMut, Error> {
        let mut connect = Connect::new(client_id);
        connect.clean_session = !kept;
        connect.keep_alive = keep_alive_s;
        if let Some(user) = &self.user {
            connect.set_login(user, self.password.as_ref().map_or("", |password| &password.0));
        }
        let mut bytes = BytesMut::new();
        connect.write(&mut bytes)?;
        Ok(bytes)
    }
}
