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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{fixture, fold::fold};

    #[test]
    fn the_committed_schema_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/result.schema.json");
        let made = serde_json::to_string_pretty(&result_schema()).unwrap() + "\n";
        if std::env::var_os("SCALER_UPDATE").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == made, "schema/result.schema.json is stale: run the tests once with SCALER_UPDATE=1");
    }

    #[test]
    fn results_are_valid_and_broken_ones_are_not() {
        let validator = jsonschema::draft7::new(&result_schema()).unwrap();
        let run = fixture::run();
        for length in [1, 9, 40, run.len()] {
            let result = RunResult::new(&fold(run[..length].iter().cloned()).unwrap());
            let value = serde_json::to_value(&result).unwrap();
            let wrong: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert!(wrong.is_empty(), "{length} entries: {wrong:?}");
            let mut broken = value;
            broken["verdict"]["word"] = "passed".into();
            assert!(!validator.is_valid(&broken));
        }
    }
}
