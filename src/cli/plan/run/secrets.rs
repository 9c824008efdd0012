//! The values of the declared secrets: from the environment, or from the secrets file.

use std::env;

use indexmap::IndexMap;

use super::super::{
    Failure,
    init::{read_secrets, secrets_file, write_secrets},
    screen,
};
use crate::plan::{checked::Header, target::Target};

/// Every declared secret with its value.
///
/// A target that scaler starts itself has no secrets but those of the file, so missing ones are made up at the first run; a
/// system that runs already has its own, which nobody but its owner can write there.
pub(super) fn values(plan: &str, header: &Header, target: &Target) -> Result<IndexMap<String, String>, Failure> {
    let path = secrets_file(plan, header);
    let kept = header.secrets.iter().filter(|(_, secret)| secret.env.is_none());
    let mut file = read_secrets(&path)?;
    let missing: Vec<&str> = kept.map(|(name, _)| name.as_str()).filter(|name| !file.contains_key(*name)).collect();
    if !missing.is_empty() {
        if matches!(target, Target::External(_)) {
            let title = format!("{} has no value for {}", path.display(), missing.join(", "));
            let help = format!("write `NAME=VALUE` lines there, or run `scaler plan init {plan}` for random values");
            return Err(Failure::arguments(title, help));
        }
        let written = write_secrets(&path, header, false)?;
        screen::remark(&format!("{}: wrote {}", path.display(), written.join(", ")));
        file = read_secrets(&path)?;
    }
    header
        .secrets
        .iter()
        .map(|(name, secret)| {
            let value = match &secret.env {
                Some(variable) => env::var(variable).map_err(|_| not_set(name, variable))?,
                None => file.get(name).cloned().unwrap_or_default(),
            };
            Ok((name.clone(), value))
        })
        .collect()
}

fn not_set(name: &str, variable: &str) -> Failure {
    let title = format!("the secret {name} comes from the environment variable {variable}, which is not set");
    Failure::arguments(title, format!("set {variable} and run again"))
}
