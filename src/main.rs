//! The command line of scaler.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use scaler::reference::{self, ReferenceCommand};

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
}

fn main() -> ExitCode {
    let Command::Reference(command) = Cli::parse().command;
    match reference::run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problems) => {
            eprint!("{problems}");
            ExitCode::from(4)
        }
    }
}
