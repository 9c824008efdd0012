//! Asking before a run. Running a plan runs the commands that it names, so one that does not belong to where the user stands is not run
//! unasked; and one that takes long or takes processes down is not started by accident.

use std::{
    env, fs,
    io::{self, BufRead, IsTerminal},
    path::Path,
};

use super::{Failure, screen};
use crate::{
    plan::{
        checked::{CellPlan, Checked},
        diff::Cost,
        touches::{Touch, TouchKind, touches},
    },
    report::{plan_estimate, plan_show},
};

/// Plans that are estimated to take longer are asked about, seconds.
const LONG_S: f64 = 600.0;

/// What the user agrees to beforehand.
#[derive(Debug, clap::Args)]
pub(super) struct Consent {
    /// Run the plan although it, or one that it extends, lies outside of the present folder.
    #[arg(long)]
    trust: bool,
    /// Do not ask before a plan that takes long or takes processes down.
    #[arg(long)]
    yes: bool,
}

impl Consent {
    /// Makes sure that the user wants this run.
    ///
    /// # Errors
    /// When the plan is a stranger and nobody trusts it, or the user said no.
    pub(super) fn obtain(&self, path: &String, checked: &Checked, cell: &CellPlan) -> Result<(), Failure> {
        let touched = touches(&checked.header, cell);
        let asks = io::stdin().is_terminal() && io::stderr().is_terminal();
        let here = env::current_dir().map_err(|error| Failure::file("find", "the present folder", &error))?;
        let stranger = [path].into_iter().chain(checked.bases.keys()).find(|file| !is_within(&here, file));
        match stranger.filter(|_| !self.trust) {
            Some(file) if asks => ask_to_trust(file, &touched),
            Some(file) => Err(untrusted(file)),
            None if asks && !self.yes => ask_to_begin(checked, &touched),
            None => Ok(()),
        }
    }
}

/// Whether a file lies in the tree of a folder, whatever links lead to it. One that is not found lies nowhere.
fn is_within(folder: &Path, file: &str) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    real(Path::new(file)).zip(real(folder)).is_some_and(|(file, folder)| file.starts_with(folder))
}

fn ask_to_trust(file: &str, touched: &[Touch]) -> Result<(), Failure> {
    screen::remark(&plan_show::touches(touched));
    screen::remark(&format!("{file} lies outside of this folder, and running a plan runs the commands that it names."));
    if agrees("Trust it and run it?") { Ok(()) } else { Err(untrusted(file)) }
}

fn untrusted(file: &str) -> Failure {
    Failure::arguments(
        format!(
            "{file} lies outside of this folder, and running a plan runs the commands that it names; nothing was started"
        ),
        format!("`scaler plan show {file}` lists all that it touches; give `--trust` to run it"),
    )
}

fn ask_to_begin(checked: &Checked, touched: &[Touch]) -> Result<(), Failure> {
    let mut down: Vec<&str> =
        touched.iter().filter(|touch| touch.kind == TouchKind::TakenDown).map(|touch| touch.what.as_str()).collect();
    down.dedup();
    let seconds = Cost::of(&checked.estimates).seconds;
    if seconds <= LONG_S && down.is_empty() {
        return Ok(());
    }
    let variable = checked.header.ladder.as_ref().map(|ladder| ladder.variable.as_str());
    screen::remark(&plan_estimate::text(variable, &checked.estimates));
    if !down.is_empty() {
        screen::remark(&format!("It takes down: {}.", down.join(", ")));
    }
    if agrees("Run it?") {
        Ok(())
    } else {
        Err(Failure::arguments("nothing was started", "answer `y`, or give `--yes`"))
    }
}

fn agrees(question: &str) -> bool {
    screen::ask(&format!("{question} [y/N] "));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).is_ok() && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_dots_lead_out_of_a_folder() {
        let outer = tempfile::tempdir().unwrap();
        let (here, file) = (outer.path().join("here"), outer.path().join("stranger.toml"));
        fs::create_dir(&here).unwrap();
        fs::write(&file, "").unwrap();
        fs::write(here.join("own.toml"), "").unwrap();
        std::os::unix::fs::symlink(&file, here.join("link.toml")).unwrap();
        let within = |path: &Path| is_within(&here, path.to_str().unwrap());
        assert!(within(&here.join("own.toml")));
        assert!(within(&here.join("../here/own.toml")));
        assert!(!within(&here.join("../stranger.toml")));
        assert!(!within(&here.join("link.toml")), "a link is where it leads");
        assert!(!within(&here.join("missing.toml")));
    }
}
