//! `scaler plan show`: the plan as it will be run, and all that it touches.

use super::{Colour, Exit, Outcome, screen, source::PlanArgs};
use crate::{plan::touches::touches, report::plan_show};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler plan show plans/quickstart.toml
  scaler plan show plans/nash.toml --set soak=1m

The output is TOML. With a ladder, `step` is that of the first cell; texts with `run`, `secrets` and the like are filled when
they are used. Behind each value stands the file and line that it comes from.")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
}

pub(super) fn run(args: &Args, colour: Colour) -> Outcome {
    let checked = args.plan.load()?;
    if !checked.warnings.0.is_empty() {
        screen::problems(&checked.warnings, colour);
    }
    let first = checked.header.steps.first().copied().flatten();
    let cell = checked.cell(first, None)?;
    screen::print(&plan_show::effective(checked.effective(), &|pointer| checked.origin(pointer)));
    screen::print(&format!("\n{}", plan_show::touches(&touches(&checked.header, &cell))));
    Ok(Exit::Pass)
}
