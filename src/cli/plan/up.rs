//! `scaler plan up`: starts the containers of a plan.

use super::{Exit, Failure, Outcome, screen, source::PlanArgs, stack};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Builds what has no image, starts everything and waits until it is healthy; prints the last words of what does not become so.
`plan run` uses containers that are up as they are, and leaves them up.

Example:
  scaler plan up plans/nash-srv.toml")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
}

pub(super) fn run(args: &Args) -> Outcome {
    let project = stack::open(&args.plan)?;
    let examined = project.examine().map_err(stack::refused)?;
    for note in &examined.overridden.notes {
        screen::remark(note);
    }
    let present = project.containers().map_err(Failure::refused)?;
    project.up(&examined, &present, &screen::remark).map_err(stack::refused)?;
    for container in project.containers().map_err(Failure::refused)? {
        let health = if container.health.is_empty() { "running" } else { &container.health };
        screen::print(&format!("{} {health}: container {}", container.service, container.name));
    }
    Ok(Exit::Pass)
}
