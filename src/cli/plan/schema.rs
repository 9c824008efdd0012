//! `scaler plan schema`: the JSON schema that editors complete and validate plans with, and that of results.

use super::{Exit, Failure, Outcome, screen};
use crate::{judge::schema::result_schema, plan::schema::plan_schema};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler plan schema > schema/plan.schema.json
  scaler plan schema --result > schema/result.schema.json

A plan names its schema in its first line, so that editors complete and check it:
  #:schema ../schema/plan.schema.json")]
pub(in crate::cli) struct Args {
    /// Print the schema of result files instead.
    #[arg(long)]
    result: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let schema = if args.result { result_schema() } else { plan_schema() };
    let text = serde_json::to_string_pretty(&schema).map_err(|error| Failure::internal(error.to_string()))?;
    screen::print(&text);
    Ok(Exit::Pass)
}
