//! The JSON schema of a result, made from the types: `schema/result.schema.json`.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::result::RunResult;

/// The schema, draft 7, of what this program writes.
#[must_use]
pub fn result_schema() -> Value {
    let settings = SchemaSettings::draft07().for_serialize();
    settings.into_generator().into_root_schema_for::<RunResult>().to_value()
}
