//! The program.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use scaler::target::launch::Launch;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Becomes a command that ends with its parent.
    #[command(hide = true)]
    Launch {
        #[arg(long)]
        parent: u32,
        #[arg(long)]
        cpuset: Option<String>,
        #[arg(last = true)]
        command: Vec<String>,
    },
}

fn main() -> ExitCode {
    let Verb::Launch { parent, cpuset, command } = Arguments::parse().verb;
    eprintln!("{}", Launch { parent, cpuset, command }.exec());
    ExitCode::from(127)
}
