//! Queries: named reads of one number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::one_of::one_of;

one_of! {
    /// A named read of one number, by exactly one body key.
    table QueryTable {}
    /// How the number is read.
    kind Query {
        /// The first column of the first row of a statement.
        sql => Sql(SqlQuery),
        /// A number in a JSON answer.
        http_json => HttpJson(HttpJsonQuery),
    }
}

/// A statement on a `postgres` or `sqlite` connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlQuery {
    /// The connection.
    pub connection: String,
    /// The statement.
    pub statement: String,
}

/// A GET on an `http` connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpJsonQuery {
    /// The connection.
    pub connection: String,
    /// The path, with its query string.
    pub path: String,
    /// The JSON pointer to the number; an array there counts its elements.
    pub pointer: String,
}
