//! Connections: named ends that everything else talks to.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{one_of::one_of, quantity::Length, target::ten_seconds};

one_of! {
    /// A named end, by exactly one body key.
    table ConnectionTable {}
    /// What kind of end it is.
    kind Connection {
        /// An MQTT broker.
        mqtt => Mqtt(Mqtt),
        /// A PostgreSQL server.
        postgres => Postgres(Postgres),
        /// A SQLite file, opened for reading.
        sqlite => Sqlite(Sqlite),
        /// An HTTP server.
        http => Http(Http),
    }
}

/// An MQTT broker, protocol 3.1.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mqtt {
    /// `mqtt://HOST:PORT` or `mqtts://HOST:PORT`, without a password.
    pub url: String,
    /// The account's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The account's password: `"{{ secrets.NAME }}"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// The start of each client identifier; a number follows. Default `scaler`.
    #[serde(default = "client_id")]
    pub client_id: String,
    /// Ask the broker to forget the session at each connect. Default true; false resumes it after a reconnect.
    #[serde(default = "yes")]
    pub clean_session: bool,
    /// The keep-alive period; a ping is sent after half of it without traffic. Default 30s.
    #[serde(default = "thirty_seconds")]
    pub keep_alive: Length,
    /// A PEM file with the certificate authority for `mqtts`, relative to the plan. Default: the public ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
}

/// A PostgreSQL server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Postgres {
    /// `postgres://USER:{{ secrets.NAME }}@HOST:PORT/DATABASE`; `?sslmode=require` asks for TLS.
    pub url: String,
    /// A PEM file with the certificate authority, relative to the plan. Default: the public ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
}

/// A SQLite file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sqlite {
    /// The file; `{{ run.folder }}` is the working folder of the target.
    pub path: String,
}

/// An HTTP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// `http://HOST:PORT` or `https://HOST:PORT`, with a path if all requests share one.
    pub url: String,
    /// Headers sent with each request.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub headers: IndexMap<String, String>,
    /// How long a request may take. Default 10s.
    #[serde(default = "ten_seconds")]
    pub timeout: Length,
    /// A request made once before the first use, whose answer holds a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<Login>,
}

/// How a token is obtained and sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The path that the body is POSTed to.
    pub path: String,
    /// The JSON body; `{{ secrets.NAME }}` is filled in.
    pub body: IndexMap<String, String>,
    /// The JSON pointer to the token in the answer, such as `/token`.
    pub token: String,
    /// The header that carries the token from then on. Default `Authorization`.
    #[serde(default = "authorization")]
    pub header: String,
    /// What precedes the token in that header. Default `Bearer `.
    #[serde(default = "bearer")]
    pub prefix: String,
}

fn client_id() -> String {
    "scaler".to_owned()
}
pub(super) fn yes() -> bool {
    true
}
fn thirty_seconds() -> Length {
    Length::seconds(30)
}
fn authorization() -> String {
    "Authorization".to_owned()
}
fn bearer() -> String {
    "Bearer ".to_owned()
}
