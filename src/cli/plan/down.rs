//! `scaler plan down`: removes the containers of a plan, and nothing else.

use super::{Exit, Failure, Outcome, screen, source::PlanArgs, stack};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Removes only what the project owns, and says what that was.

Examples:
  scaler plan down plans/nash-srv.toml                      keeps the data
  scaler plan down plans/nash-srv.toml --volumes --images")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    /// Remove the project's volumes too: its data is lost.
    #[arg(long)]
    volumes: bool,
    /// Remove the images that were built for the project too.
    #[arg(long)]
    images: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let project = stack::open(&args.plan)?;
    project.examine().map_err(stack::refused)?;
    let engine = project.engine();
    let before = engine.owned(project.name()).map_err(Failure::refused)?;
    project.remove(args.volumes).map_err(stack::refused)?;
    if args.images {
        engine.remove_images(project.name()).map_err(Failure::refused)?;
    }
    let after = engine.owned(project.name()).map_err(Failure::refused)?;
    let removed: Vec<&str> = before.difference(&after).map(String::as_str).collect();
    if removed.is_empty() {
        screen::remark("nothing of the project was there");
    }
    for name in removed {
        screen::print(&format!("removed {name}"));
    }
    for name in after {
        screen::remark(&format!("kept {name}"));
    }
    Ok(Exit::Pass)
}
