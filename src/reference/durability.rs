//! Whether a commit on a connection of the ingest path is durable, asked from where that path begins: inside the listener's container.

use clap::Args;

use super::store::Location;
use crate::problem::{Problem, Problems};

/// Options of `scaler reference durability`.
#[derive(Clone, Debug, Args)]
pub struct DurabilityArgs {
    /// The store, as the listener names it: a postgres:// URL (better given by the environment, where `ps` does not show its password)
    #[arg(long, env = "SCALER_STORE_URL", hide_env_values = true)]
    pub store: Location,
}

/// Connects as the listener does and asks for the settings of that session: a JSON object, 1 for on and 0 for off.
pub(super) fn run(args: &DurabilityArgs) -> Result<String, Problems> {
    let settings =
        args.store.durability().map_err(|error| Problem::error(format!("the store does not tell: {error}")))?;
    let settings: serde_json::Map<String, serde_json::Value> =
        settings.into_iter().map(|(setting, on)| (setting.to_owned(), u8::from(on).into())).collect();
    Ok(serde_json::Value::Object(settings).to_string() + "\n")
}
