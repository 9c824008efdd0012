//! `scaler results judge RUN`: an old result under other bars, without running anything.

use std::collections::HashMap;

use super::{Exit, Failure, Outcome, Place, screen};
use crate::{
    cli::plan::source::{Sets, load_for},
    judge::{
        rejudge::rejudge,
        result::{CellResult, RunResult},
        verdict::Word,
    },
    plan::checked::{CheckedGate, HostFacts},
    record::folder::read_json,
    report,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler results judge 20261130T180000Z                                its own bars, judged by this version
  scaler results judge 20261130T180000Z --plan plans/stricter.toml     the bars of another plan
  scaler results judge 20261130T180000Z --plan plans/quickstart.toml --set list_budget=20ms

The plan is filled with the facts of the host that the run used. The exit code is that of the new verdict.")]
pub(in crate::cli) struct Args {
    /// A path, a run's identifier, or enough of its beginning.
    run: String,
    /// The plan whose gates are used instead; `REV:path` takes it from a git revision.
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    #[command(flatten)]
    sets: Sets,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args) -> Outcome {
    let path = args.place.folder().find_result(&args.run)?;
    let result: RunResult = read_json(&path)?;
    let gates = match &args.plan {
        Some(plan) => gates_of(plan, &args.sets, &result)?,
        None if !args.sets.pairs.is_empty() => {
            return Err(Failure::arguments("--set changes a plan, and no plan is given", "name one with --plan PLAN"));
        }
        None => own_gates(&result.cells),
    };
    let judged = rejudge(&result.record(), |step| gates.get(&step).cloned().unwrap_or_default());
    screen::print(&report::rejudged::rejudged(&judged, screen::shape()));
    Ok(match judged.after.verdict.word {
        Word::Pass => Exit::Pass,
        Word::Fail => Exit::Fail,
        Word::Inconclusive => Exit::Inconclusive,
    })
}

/// Gates by step.
type Gates = HashMap<Option<u64>, Vec<CheckedGate>>;

fn own_gates(cells: &[CellResult]) -> Gates {
    cells.iter().map(|cell| (cell.step, cell.bars.clone())).collect()
}

/// The gates of another plan for the steps of this result, as that plan is on the host of the run.
fn gates_of(plan: &str, sets: &Sets, result: &RunResult) -> Result<Gates, Failure> {
    let host = &result.host;
    let facts = HostFacts { cpus: host.cpus, memory_bytes: host.memory_bytes, name: host.name.clone() };
    let checked = load_for(plan, &sets.pairs, &facts)?;
    let gates = |cell: &CellResult| Ok((cell.step, checked.cell(cell.step, None)?.gates));
    result.cells.iter().map(gates).collect()
}
