//! `scaler plan diff`: what changes in meaning between two plans.

use super::{
    Exit, Outcome, screen,
    source::{Sets, load},
};
use crate::{
    plan::{
        checked::Checked,
        diff::{Side, diff},
    },
    report::plan_diff,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler plan diff plans/quickstart.toml plans/nash.toml
  scaler plan diff origin/main:plans/nash.toml plans/nash.toml
  scaler plan diff main:plans/nash.toml HEAD:plans/nash.toml --markdown    for a pull request

Both plans must be right; `scaler plan check` says what is wrong with them.")]
pub(in crate::cli) struct Args {
    /// The plan before: a file, or REV:path from git.
    #[arg(value_name = "A")]
    before: String,
    /// The plan after.
    #[arg(value_name = "B")]
    after: String,
    /// Print Markdown.
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    sets: Sets,
}

pub(super) fn run(args: &Args) -> Outcome {
    let (before, after) = (load(&args.before, &args.sets.pairs)?, load(&args.after, &args.sets.pairs)?);
    // A bound may depend on the step: the same step on both sides, if there is one.
    let common = before.header.steps.iter().find(|step| after.header.steps.contains(step)).copied();
    let first = |plan: &Checked| plan.header.steps.first().copied().flatten();
    let old = before.cell(common.unwrap_or_else(|| first(&before)), None)?.gates;
    let new = after.cell(common.unwrap_or_else(|| first(&after)), None)?.gates;
    let side = |plan, gates, estimates| Side { plan, gates, estimates };
    let found =
        diff(side(before.effective(), &old, &before.estimates), side(after.effective(), &new, &after.estimates));
    screen::print(&if args.markdown { plan_diff::markdown(&found) } else { plan_diff::text(&found) });
    Ok(Exit::Pass)
}
