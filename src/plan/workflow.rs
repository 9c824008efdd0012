//! Workflows: HTTP steps whose answers feed later steps, timed as one.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    probe::{Expect, Method},
    quantity::Length,
};

/// A sequence of requests, timed from the first to the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    /// The `http` connection.
    pub connection: String,
    /// The steps, in order.
    #[schemars(length(min = 1))]
    pub step: Vec<WorkflowStep>,
}

/// One request. Later steps use what it captured as `{{ capture.NAME }}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowStep {
    /// The step's name.
    pub name: String,
    /// The method. Default `GET`.
    #[serde(default)]
    pub method: Method,
    /// The path.
    pub path: String,
    /// The JSON body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// What a right answer is.
    #[serde(default)]
    pub expect: Expect,
    /// Names to JSON pointers into the answer.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub capture: IndexMap<String, String>,
    /// Repeat the request until the answer is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<StepUntil>,
}

/// The answer that ends the polling of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepUntil {
    /// The JSON pointer into the answer.
    pub pointer: String,
    /// The value that must stand there.
    pub equals: Value,
    /// How often the request is repeated. Default 250ms.
    #[serde(default = "quarter_second")]
    pub poll: Length,
    /// How long it may take.
    pub within: Length,
}

fn quarter_second() -> Length {
    Length::millis(250)
}
