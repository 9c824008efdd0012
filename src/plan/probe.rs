//! Probes: timed reads against a budget.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{one_of::one_of, quantity::Length, target::ten_seconds};

one_of! {
    /// A timed read: how often, its budget and exactly one body key.
    table ProbeTable {
        /// Runs that count as cold: the first ones. Default 1.
        #[serde(default = "one_run")]
        cold: u32,
        /// Runs that count as warm, after the cold ones. Default 5.
        #[serde(default = "five_runs")]
        warm: u32,
        /// The most that the warm median may be: a gate of its own, which also demands that every run gave the right answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Length>,
        /// Where the budget comes from: an issue, a requirement, or `provisional`. Needed with `budget`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget_source: Option<String>,
    }
    /// What is read.
    kind Probe {
        /// A request.
        http => Http(HttpProbe),
        /// A statement.
        sql => Sql(SqlProbe),
        /// A command, timed from spawn to exit.
        exec => Exec(ExecProbe),
    }
}

/// A request and what a right answer is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpProbe {
    /// The `http` connection.
    pub connection: String,
    /// The method. Default `GET`.
    #[serde(default)]
    pub method: Method,
    /// The path, with its query string.
    pub path: String,
    /// The JSON body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// What a right answer is.
    #[serde(default)]
    pub expect: Expect,
}

/// An HTTP method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Read.
    #[default]
    Get,
    /// Create or run.
    Post,
    /// Replace.
    Put,
    /// Change.
    Patch,
    /// Remove.
    Delete,
}

/// What a right answer is. Everything that is given must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The status. Default 200.
    #[serde(default = "ok")]
    #[schemars(range(min = 100, max = 599))]
    pub status: u16,
    /// The least number of bytes of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_at_least: Option<super::quantity::Bytes>,
    /// The number of elements of the array that `rows_at` points to (the whole answer by default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<super::quantity::Count>,
    /// The JSON pointer to the array whose elements are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_at: Option<String>,
    /// JSON pointers and the values that must stand there.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub values: IndexMap<String, Value>,
}

impl Default for Expect {
    fn default() -> Self {
        Self { status: ok(), bytes_at_least: None, rows: None, rows_at: None, values: IndexMap::new() }
    }
}

/// A statement and what a right answer is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlProbe {
    /// The `postgres` or `sqlite` connection.
    pub connection: String,
    /// The statement.
    pub statement: String,
    /// The least number of rows. Default 1.
    #[serde(default = "one_row")]
    pub rows_at_least: u64,
}

/// A command; a right answer is exit status 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecProbe {
    /// The program and its arguments, one each; no shell is involved.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// How long it may take. Default 10s.
    #[serde(default = "ten_seconds")]
    pub within: Length,
}

fn one_run() -> u32 {
    1
}
fn five_runs() -> u32 {
    5
}
fn ok() -> u16 {
    200
}
fn one_row() -> u64 {
    1
}
