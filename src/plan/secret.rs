//! Secrets: declared in the plan, kept out of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the value of a secret comes from: with `env`, that environment variable and nothing else. Without, the first that there is
/// of the environment variable of the secret's own name, the secrets file (`scaler plan init` writes a random value to it), and, for a
/// target of `processes`, a random value for this run alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Secret {
    /// How many random letters and digits `scaler plan init` makes. Default 32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16, max = 256))]
    pub random: Option<u16>,
    /// The environment variable that holds the value. Default: the one of the secret's own name, then the secrets file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
}
