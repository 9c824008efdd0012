//! `scaler plan check`: what is wrong with plans, or what they will cost. Offline; nothing is started.

use serde_json::{Value, json};

use super::{
    Colour, Exit, screen,
    source::{Sets, load},
};
use crate::{
    plan::checked::{Checked, StepEstimate},
    problem::Problems,
    report::plan_estimate,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler plan check plans/quickstart.toml
  scaler plan check plans/*.toml --json
  scaler plan check plans/quickstart.toml --set soak=15m

With --json there is one line for each plan: {\"plan\", \"problems\": […], \"estimate\": […]}.")]
pub(in crate::cli) struct Args {
    /// The plans.
    #[arg(required = true, value_name = "PLAN")]
    paths: Vec<String>,
    #[command(flatten)]
    sets: Sets,
    /// Print one line of JSON for each plan.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, colour: Colour) -> Exit {
    let mut exit = Exit::Pass;
    for path in &args.paths {
        let checked = load(path, &args.sets.pairs);
        if let Err(failure) = &checked {
            exit = failure.exit;
        }
        match (&checked, args.json) {
            (Ok(checked), true) => screen::print(&line(path, &checked.warnings, &checked.estimates).to_string()),
            (Err(failure), true) => screen::print(&line(path, &failure.problems, &[]).to_string()),
            (Ok(checked), false) => tell(path, checked, colour),
            (Err(failure), false) => screen::problems(&failure.problems, colour),
        }
    }
    exit
}

fn tell(path: &str, checked: &Checked, colour: Colour) {
    if !checked.warnings.0.is_empty() {
        screen::problems(&checked.warnings, colour);
    }
    let variable = checked.header.ladder.as_ref().map(|ladder| ladder.variable.as_str());
    let table = plan_estimate::text(variable, &checked.estimates);
    screen::print(&format!("{path}: {}\n\n{table}\n", checked.header.question));
}

fn line(path: &str, problems: &Problems, estimates: &[StepEstimate]) -> Value {
    let steps: Vec<Value> = estimates.iter().map(step).collect();
    json!({ "plan": path, "problems": problems.to_json(), "estimate": steps })
}

fn step(step: &StepEstimate) -> Value {
    json!({
        "step": step.step,
        "seconds": step.seconds,
        "seconds_at_most": step.seconds_at_most,
        "messages": step.messages,
        "rows": step.rows,
        "disk_bytes": step.disk_bytes,
        "memory_bytes": step.memory_bytes,
    })
}
