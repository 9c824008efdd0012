//! Queries: named reads of one number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{one_of::one_of, quantity::Count};

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

/// A number that must be small before the first cell: reads grow with all that is stored, so a step on old data is another step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clean {
    /// The query, such as the number of points in the graph.
    pub query: String,
    /// The most that it may give, such as `"{{ step.points }}"` of the first step.
    pub at_most: Count,
}
