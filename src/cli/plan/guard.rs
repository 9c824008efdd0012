//! `scaler plan guard`: whether the containers of a plan stay within what is theirs.

use super::{Exit, Failure, Outcome, screen, source::PlanArgs, stack};
use crate::{
    plan::touches::{TouchKind, touches},
    target::compose::Neighbours,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads the effective Compose config and prints project, volumes, ports, networks, caps and what the plan runs
inside containers; or refuses with every reason at once (exit code 4).
The same is done before `plan up`, `plan run` and `plan down`.

Examples:
  scaler plan guard plans/nash-srv.toml
  SCALE_CPUS_POSTGRES=1 scaler plan guard plans/nash-srv.toml")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
}

/// The commands that the plan runs inside containers, and what runs them.
fn inside(plan: &PlanArgs) -> Result<Vec<String>, Failure> {
    let checked = plan.load()?;
    let cell = checked.cell(checked.header.steps.first().copied().flatten(), None)?;
    let inside = touches(&checked.header, &cell).into_iter().filter(|touch| touch.kind == TouchKind::Inside);
    Ok(inside.map(|touch| format!("{} ({})", touch.what, touch.by)).collect())
}

pub(super) fn run(args: &Args) -> Outcome {
    let examined = if let Ok(project) = stack::open(&args.plan) {
        project.examine()
    } else {
        // Without an engine there is nothing that could run from elsewhere; all else is decided by the files.
        let stack = stack::resolve(&args.plan)?;
        screen::remark("no container engine answers: only the files were looked at");
        stack.examine(stack::host_cpus()?, &Neighbours::default())
    };
    let examined = examined.map_err(stack::refused)?;
    screen::print(&examined.guarded.to_string());
    for inside in inside(&args.plan)? {
        screen::print(&format!("inside    {inside}\n"));
    }
    for note in &examined.overridden.notes {
        screen::remark(note);
    }
    Ok(Exit::Pass)
}
