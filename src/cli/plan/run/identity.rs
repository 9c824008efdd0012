//! What is known before the first cell: the first entry of the journal.

use std::{env, path::Path};

use super::super::Failure;
use crate::{
    cli::calibrate,
    host,
    plan::checked::Checked,
    record::entry::{FORMAT, PlanIdentity, RunStarted},
};

/// The plan, the machine, the command and the commits of this run.
pub(super) fn of(
    path: &str,
    checked: &Checked,
    results: &Path,
    run_id: &str,
    started_unix_ms: u64,
) -> Result<RunStarted, Failure> {
    let plan_folder = Path::new(path).parent().unwrap_or(Path::new(""));
    Ok(RunStarted {
        format: FORMAT,
        run_id: run_id.to_owned(),
        started_unix_ms,
        command: env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        scaler_version: env!("CARGO_PKG_VERSION").to_owned(),
        plan: plan(path, checked),
        host: host::describe(results)
            .map_err(|error| Failure::file("read the facts of this host from", "/proc", &error))?,
        commits: host::commits(&checked.header.commits, plan_folder),
        generator_ceiling_per_s: calibrate::ceiling(results)
            .map_err(|error| Failure::file("read the calibration in", results.display(), &error))?,
    })
}

fn plan(path: &str, checked: &Checked) -> PlanIdentity {
    let header = &checked.header;
    PlanIdentity {
        name: header.name.clone(),
        question: header.question.clone(),
        path: path.to_owned(),
        text: header.text.clone(),
        bases: checked.bases.clone(),
        sha256: header.sha256.clone(),
        gates_sha256: header.gates_sha256.clone(),
        vars: header.vars.clone(),
        steps: header.steps.clone(),
        step_name: header.ladder.as_ref().map(|ladder| ladder.variable.clone()),
        not_covered: header.not_covered.iter().map(|item| (item.name.clone(), item.reason.clone())).collect(),
        not_proven: header.not_proven.iter().map(|item| (item.name.clone(), item.statement.clone())).collect(),
    }
}
