//! `scaler plan schema`: the JSON schema that editors complete and validate plans with.

use super::{Exit, Failure, Outcome, screen};
use crate::plan::schema::plan_schema;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler plan schema > schema/plan.schema.json

A plan names its schema in its first line, so that editors complete and check it:
  #:schema ../schema/plan.schema.json")]
pub(in crate::cli) struct Args {}

pub(super) fn run(_: &Args) -> Outcome {
    let text = serde_json::to_string_pretty(&plan_schema()).map_err(|error| Failure::internal(error.to_string()))?;
    screen::print(&text);
    Ok(Exit::Pass)
}
