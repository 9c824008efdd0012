//! The program.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use scaler::{
    reference::{self, ReferenceCommand},
    target::launch::Launch,
};

#[derive(Parser)]
#[command(name = "scaler", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One service of the reference target
    #[command(subcommand)]
    Reference(ReferenceCommand),
    /// Becomes a command that ends with its parent
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
    match Cli::parse().command {
        Command::Launch { parent, cpuset, command } => {
            eprintln!("{}", Launch { parent, cpuset, command }.exec());
            ExitCode::from(127)
        }
        Command::Reference(command) => match reference::run(command) {
            Ok(()) => ExitCode::SUCCESS,
            Err(problems) => {
                eprint!("{problems}");
                ExitCode::from(4)
            }
        },
    }
}
