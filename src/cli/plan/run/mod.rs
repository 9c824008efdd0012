//! `scaler plan run`: check, take the results folder, run, fold, write the result, say the verdict.

mod consent;
mod display;
mod ending;
mod identity;
mod secrets;

use std::{
    env,
    path::{Path, PathBuf},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use self::display::Display;
use super::{Colour, Exit, Failure, Outcome, screen, source::PlanArgs};
use crate::{
    judge::result::RunResult,
    load::RunClock,
    plan::checked::RunScope,
    record::{
        folder::{Folder, write_json},
        journal::Journal,
        redact::Redactor,
    },
    report::summary::summary,
    run::{
        experiment::{self, Ending, Experiment, Finished},
        real::{RealWorld, RealWorldConfig},
    },
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler plan run plans/quickstart.toml
  scaler plan run plans/nash.toml --set soak=1m --results /srv/results
  scaler plan run plans/nash.toml --yes --json | tail -n 1

With --json the last line is {\"result\": PATH, \"verdict\": \"pass|fail|inconclusive\", \"highest_pass\": …, \"stopped_by\": …}.
Ctrl-C stops the load, brings back what was taken down, keeps the result and ends with code 5; a second one does not wait.
On a terminal, a plan that takes long or takes processes down is asked about first, unless --yes is given.")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    /// The folder for journals and results.
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
    /// Do not ask before a plan that takes long or takes processes down.
    #[arg(long)]
    yes: bool,
    /// Print one line of JSON at the end instead of the summary.
    #[arg(long)]
    json: bool,
    /// Do not ask the live URL of `live_safety`; the host is watched all the same.
    #[arg(long)]
    no_live_check: bool,
}

pub(super) fn run(args: &Args, colour: Colour) -> Outcome {
    let checked = args.plan.load()?;
    if !checked.warnings.0.is_empty() {
        screen::problems(&checked.warnings, colour);
    }
    let first = checked.cell(checked.header.steps.first().copied().flatten(), None)?;
    if !args.yes && !consent::given(&checked, &first) {
        return Err(Failure::arguments("nothing was started", "answer `y`, or give `--yes`"));
    }
    let secrets = secrets::values(&args.plan.path, &checked.header, &first.target)?;
    let clock = RunClock { start: Instant::now(), wall_unix_ms_at_start: unix_ms() };
    let folder = Folder::create(&args.results)?;
    let run_id = folder.new_run_id(clock.wall_unix_ms_at_start)?;
    let _lock = folder.lock(&format!("run {run_id} (process {})", std::process::id()))?;
    let started = identity::of(&args.plan.path, &checked, folder.path(), &run_id, clock.wall_unix_ms_at_start)?;
    let redactor = Redactor::new(&secrets);
    let journal_path = folder.journal_path(&run_id, &checked.header.name);
    let result_path = folder.result_path(&run_id, &checked.header.name);
    let mut journal = Journal::create(&journal_path, redactor.clone())
        .map_err(|error| Failure::file("write", journal_path.display(), &error))?;
    let config = config(args, folder.path(), clock)?;
    let scope = RunScope {
        scaler: config.scaler.display().to_string(),
        folder: config.folder.display().to_string(),
        id: run_id,
        secrets,
    };
    let mut world = RealWorld::start(config).map_err(|error| Failure::refused(error.to_string()))?;
    let cell = |step| checked.cell(step, Some(&scope));
    let experiment = Experiment { started, header: &checked.header, cell: &cell };
    let mut display = Display::new(&checked, clock.wall_unix_ms_at_start);
    let finished = experiment::run(experiment, &mut world, &mut journal, &mut display);
    drop(world);
    display.end();
    let finished = finished.map_err(|error| Failure::file("write", journal_path.display(), &error))?;
    finish(args, &result_path, &finished, &redactor)
}

/// Writes the result without secrets and says what it says.
fn finish(args: &Args, path: &Path, finished: &Finished, redactor: &Redactor) -> Outcome {
    let internal = |error: serde_json::Error| Failure::internal(error.to_string());
    let mut value = serde_json::to_value(RunResult::new(&finished.record)).map_err(internal)?;
    redactor.json(&mut value);
    write_json(path, &value)?;
    let result: RunResult = serde_json::from_value(value).map_err(internal)?;
    let shown = path.display().to_string();
    screen::print(&if args.json {
        ending::line(&shown, &result).to_string()
    } else {
        summary(&result, &shown, screen::shape())
    });
    if let Ending::Refused(reason) = &finished.ending {
        return Err(Failure::refused(redactor.text(reason)));
    }
    Ok(ending::exit(&finished.ending, result.verdict.word))
}

/// The real world's needs, with absolute paths: children have working folders of their own.
fn config(args: &Args, results: &Path, clock: RunClock) -> Result<RealWorldConfig, Failure> {
    let current = env::current_dir().map_err(|error| Failure::file("find", "the present folder", &error))?;
    let scaler = env::current_exe().map_err(|error| Failure::file("find", "the program itself", &error))?;
    let plan_folder = Path::new(&args.plan.path).parent().unwrap_or(Path::new(""));
    Ok(RealWorldConfig {
        scaler,
        folder: current.join(results).join("work"),
        plan_folder: current.join(plan_folder),
        clock,
        live_check: !args.no_live_check,
    })
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
