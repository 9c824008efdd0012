//! The runs of a results folder, a line each.

use super::{
    layout::{Screen, spelt, table},
    number::UNMEASURED,
};
use crate::judge::verdict::RunVerdict;

/// One run of the folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// `RUN_ID-PLAN`.
    pub name: String,
    /// How far it got.
    pub state: State,
}

/// How far a run got.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// It has a result.
    Ended {
        /// The answer.
        verdict: RunVerdict,
        /// Whether it was interrupted.
        interrupted: bool,
    },
    /// It goes on.
    Running,
    /// It was killed and can be recovered.
    Killed,
    /// Its file cannot be read: the reason.
    Unreadable(String),
}

/// The runs, and what can be done with them.
#[must_use]
pub fn list(runs: &[Listed], folder: &str, screen: Screen) -> String {
    if runs.is_empty() {
        return format!("No runs in {folder} yet; `scaler plan run PLAN` makes one.\n");
    }
    let headings = ["run", "verdict", "highest pass", "why it stopped"].map(str::to_owned);
    let rows: Vec<Vec<String>> = runs.iter().map(row).collect();
    let mut text = table(&headings, &rows, screen);
    if runs.iter().any(|run| run.state == State::Killed) {
        text.push_str("`scaler results recover RUN` makes a result of a run that was killed.\n");
    }
    spelt(text, screen)
}

fn row(run: &Listed) -> Vec<String> {
    let no_step = || UNMEASURED.to_owned();
    let (word, highest, why) = match &run.state {
        State::Ended { verdict, interrupted } => {
            let interrupted = if *interrupted { ", interrupted" } else { "" };
            let highest = verdict.highest_pass.map_or_else(no_step, |step| step.to_string());
            (format!("{}{interrupted}", verdict.word.text()), highest, verdict.stopped_by.clone())
        }
        State::Running => ("running".to_owned(), no_step(), String::new()),
        State::Killed => ("killed".to_owned(), no_step(), String::new()),
        State::Unreadable(why) => ("unreadable".to_owned(), no_step(), why.clone()),
    };
    vec![run.name.clone(), word, highest, why]
}
