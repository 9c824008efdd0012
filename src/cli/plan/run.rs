//! `scaler plan run`: the experiment itself.

use std::{
    env, io,
    path::{Path, PathBuf},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use indexmap::IndexMap;
use serde_json::json;

use super::{Colour, Exit, Failure, Outcome, screen, secrets, source::PlanArgs};
use crate::{
    cli::{calibrate, display::Display},
    host,
    judge::{result::RunResult, verdict::Word},
    load::RunClock,
    plan::checked::{CellPlan, Checked, RunScope},
    record::{
        cell::Record,
        entry::{FORMAT, PlanIdentity, RunStarted},
        folder::{Folder, write_json},
        journal::{self, Journal},
        redact::Redactor,
    },
    report,
    run::{
        experiment::{self, Ending, Experiment},
        real::{RealWorld, RealWorldConfig},
    },
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler plan run plans/quickstart.toml
  scaler plan run plans/quickstart.toml --set soak=60s --results results
  scaler plan run plans/quickstart.toml --json | tail -n 1 | jq .verdict

Ctrl-C stops the load, brings back what was taken down, and keeps the results (exit code 5); a second Ctrl-C stops at once and still brings
back what was taken down.")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    /// Where the journal and the result are kept.
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
    /// Print one line of JSON at the end, on standard output, instead of the tables.
    #[arg(long)]
    json: bool,
    /// Do not look at the live system; the host's load and disk are watched all the same. The result says so.
    #[arg(long)]
    no_live_check: bool,
    /// Keep the target's working folder (its stores and logs) beside the result.
    #[arg(long)]
    keep_target: bool,
}

pub(super) fn run(args: &Args, colour: Colour) -> Outcome {
    let checked = args.plan.load()?;
    if !checked.warnings.0.is_empty() {
        screen::problems(&checked.warnings, colour);
    }
    let prepared = Prepared::new(args, &checked)?;
    let (path, ending) = prepared.run(args, &checked)?;
    let result: RunResult = crate::record::folder::read_json(&path)?;
    if args.json {
        screen::print(&json_line(&result, &path).to_string());
    } else {
        screen::print(&report::summary::summary(&result, &path.display().to_string(), screen::shape()));
    }
    match ending {
        Ending::Refused(reason) => Err(Failure::refused(reason)),
        Ending::Interrupted => Ok(Exit::Interrupted),
        Ending::Complete => Ok(match result.verdict.word {
            Word::Pass => Exit::Pass,
            Word::Fail => Exit::Fail,
            Word::Inconclusive => Exit::Inconclusive,
        }),
    }
}

/// Everything that can be wrong before the first entry is written has been looked at.
struct Prepared {
    folder: Folder,
    plan_folder: PathBuf,
    scope: RunScope,
    scaler: PathBuf,
    work: PathBuf,
    unix_ms: u64,
    started: RunStarted,
}

impl Prepared {
    fn new(args: &Args, checked: &Checked) -> Result<Self, Failure> {
        let header = &checked.header;
        let plan_folder = parent(&args.plan.path)?;
        let base = checked.cell(header.steps.first().copied().flatten(), None)?;
        let secrets = secrets::values(header, &base.target, &plan_folder)?;
        let scaler =
            env::current_exe().map_err(|error| Failure::internal(format!("no path of this program: {error}")))?;
        let folder = Folder::create(&args.results)?;
        let unix_ms = unix_ms();
        let id = folder.new_run_id(unix_ms)?;
        let work = absolute(folder.path())?.join(format!("{id}-{}.target", header.name));
        let scope = RunScope {
            scaler: scaler.display().to_string(),
            folder: work.display().to_string(),
            id: id.clone(),
            secrets,
        };
        let described = host::describe(folder.path())
            .map_err(|error| Failure::file("read the facts of this host from", "/proc", &error))?;
        let ceiling = calibrate::ceiling(folder.path())
            .map_err(|error| Failure::file("read the calibration in", folder.path().display(), &error))?;
        let started = RunStarted {
            format: FORMAT,
            run_id: id,
            started_unix_ms: unix_ms,
            command: env::args().collect(),
            scaler_version: env!("CARGO_PKG_VERSION").to_owned(),
            plan: identity(&args.plan.path, checked),
            host: described,
            commits: host::commits(&header.commits, &plan_folder),
            generator_ceiling_per_s: ceiling,
        };
        Ok(Self { folder, plan_folder, scope, scaler, work, unix_ms, started })
    }

    /// Runs the experiment and writes its result; where that is, and how the run ended.
    fn run(self, args: &Args, checked: &Checked) -> Result<(PathBuf, Ending), Failure> {
        let (id, name) = (self.started.run_id.clone(), &checked.header.name);
        let _lock = self.folder.lock(&format!("run {id} of plan {name} (process {})", std::process::id()))?;
        let journal_path = self.folder.journal_path(&id, name);
        let mut log = Journal::create(&journal_path, Redactor::new(&self.scope.secrets))
            .map_err(|error| Failure::file("write", journal_path.display(), &error))?;
        let clock = RunClock { start: Instant::now(), wall_unix_ms_at_start: self.unix_ms };
        let config = RealWorldConfig {
            scaler: self.scaler,
            folder: self.work.clone(),
            plan_folder: self.plan_folder,
            host_cpus: self.started.host.cpus,
            clock,
            live_check: !args.no_live_check,
        };
        let mut world = RealWorld::start(config).map_err(|error| Failure::file("use", self.work.display(), &error))?;
        let cell = |step| -> Result<CellPlan, _> { checked.cell(step, Some(&self.scope)) };
        let mut display = Display::new(checked, self.unix_ms, args.json);
        let experiment = Experiment { started: self.started, header: &checked.header, cell: &cell };
        let ended = experiment::run(experiment, &mut world, &mut log, &mut display);
        display.finish();
        drop(world);
        tidy(&self.work, args.keep_target);
        let ending = ended.map_err(|error| lost_journal(&journal_path, &error))?;
        drop(log);
        let path = self.folder.result_path(&id, name);
        write_result(&journal_path, &path)?;
        Ok((path, ending))
    }
}

/// The result is folded from the journal on disk, so that it holds nothing that the journal does not.
fn write_result(journal: &Path, path: &Path) -> Result<(), Failure> {
    let read = journal::read(journal).map_err(|error| Failure::file("read", journal.display(), &error))?;
    let record = Record::recovered(read)
        .map_err(|error| Failure::internal(format!("the journal {} makes no record: {error}", journal.display())))?;
    let value = serde_json::to_value(RunResult::new(&record)).map_err(|error| Failure::internal(error.to_string()))?;
    write_json(path, &value)?;
    Ok(())
}

fn identity(path: &str, checked: &Checked) -> PlanIdentity {
    let header = &checked.header;
    let named = |pairs: Vec<(&String, &String)>| -> IndexMap<String, String> {
        pairs.into_iter().map(|(name, words)| (name.clone(), words.clone())).collect()
    };
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
        not_covered: named(header.not_covered.iter().map(|left| (&left.name, &left.reason)).collect()),
        not_proven: named(header.not_proven.iter().map(|open| (&open.name, &open.statement)).collect()),
    }
}

fn json_line(result: &RunResult, path: &Path) -> serde_json::Value {
    json!({
        "result": path.display().to_string(),
        "verdict": result.verdict.word,
        "highest_pass": result.verdict.highest_pass,
        "stopped_by": result.verdict.stopped_by,
    })
}

/// The target's stores go with the run; its logs stay when something may have to be looked up in them.
fn tidy(work: &Path, keep: bool) {
    if keep {
        return;
    }
    if let Err(error) = std::fs::remove_dir_all(work)
        && error.kind() != io::ErrorKind::NotFound
    {
        screen::remark(&format!("the target's folder {} could not be removed: {error}", work.display()));
    }
}

fn lost_journal(path: &Path, error: &io::Error) -> Failure {
    let mut failure = Failure::file("go on writing", path.display(), error);
    failure.exit = Exit::Internal;
    failure.problems.0[0].help = Some(format!(
        "make room or mend the folder; `scaler results recover {}` keeps what was written",
        path.display()
    ));
    failure
}

pub(super) fn parent(path: &str) -> Result<PathBuf, Failure> {
    let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    absolute(folder)
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::file("find", path.display(), &error))
}

/// The wall clock; a clock before 1970 counts as 1970.
fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
