//! `scaler man`: the manual, made from the same texts as `--help`.

use std::{fs, path::PathBuf};

use clap::CommandFactory;

use super::{Cli, Exit, Failure, Outcome, screen};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler man | man -l -                        read the main page
  scaler man --out ~/.local/share/man/man1     write a page for every command")]
pub(super) struct Args {
    /// Write the page of every command to this folder instead.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Outcome {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command())
            .render(&mut page)
            .map_err(|_| Failure::internal("the page cannot be made"))?;
        screen::print(&String::from_utf8_lossy(&page));
        return Ok(Exit::Pass);
    };
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .map_err(|error| Failure::file("write the manual to", folder.display(), &error))?;
    screen::remark(&format!("the manual is in {}", folder.display()));
    Ok(Exit::Pass)
}
