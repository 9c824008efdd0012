//! `scaler completions SHELL`: completions for bash, zsh, fish, elvish and PowerShell.

use clap::CommandFactory;

use super::{Cli, Exit, Failure, Outcome, screen};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler completions bash > ~/.local/share/bash-completion/completions/scaler
  scaler completions zsh  > \"${fpath[1]}/_scaler\"
  scaler completions fish > ~/.config/fish/completions/scaler.fish")]
pub(super) struct Args {
    /// The shell.
    shell: clap_complete::Shell,
}

pub(super) fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "scaler", &mut script);
    let script = String::from_utf8(script).map_err(|_| Failure::internal("the completions are not UTF-8"))?;
    screen::print(&script);
    Ok(Exit::Pass)
}
