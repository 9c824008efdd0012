//! Asking before a run that one would not want to start by accident.

use std::io::{self, BufRead, IsTerminal};

use super::super::screen;
use crate::{
    plan::{
        checked::{CellPlan, Checked},
        diff::Cost,
        touches::{TouchKind, touches},
    },
    report::plan_estimate,
};

/// Plans that are estimated to take longer are asked about, seconds.
const LONG_S: f64 = 600.0;

/// Whether the run may start: nobody is asked off a terminal, nor for a short plan that takes nothing down.
pub(super) fn given(checked: &Checked, cell: &CellPlan) -> bool {
    let down: Vec<String> = touches(&checked.header, cell)
        .into_iter()
        .filter(|touch| touch.kind == TouchKind::TakenDown)
        .map(|touch| touch.what)
        .collect();
    let long = Cost::of(&checked.estimates).seconds > LONG_S;
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) || !(long || !down.is_empty()) {
        return true;
    }
    let variable = checked.header.ladder.as_ref().map(|ladder| ladder.variable.as_str());
    screen::remark(&plan_estimate::text(variable, &checked.estimates));
    if !down.is_empty() {
        screen::remark(&format!("It takes down: {}", down.join(", ")));
    }
    screen::remark("Run it? [y/N]");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).is_ok() && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}
