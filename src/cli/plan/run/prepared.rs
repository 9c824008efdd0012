//! A run that may begin: its folder, its identity, its clock, and what is kept of an interrupted one.

use std::{
    env, io, panic,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{Args, Failure, KEPT, WORK, absolute, ending, identity, leftovers, limits, parent, screen, secrets};
use crate::{
    cli::{calibrate, display::Display, explain_panic},
    host,
    judge::result::RunResult,
    load::RunClock,
    plan::checked::{CellPlan, Checked, RunScope},
    problem::Problems,
    record::{
        entry::{FORMAT, RunStarted},
        folder::Folder,
        folder_error::FolderError,
        journal::{self, Journal},
        redact::Redactor,
        resume::Kept,
    },
    run::{
        experiment::{self, Ending, Experiment},
        real::{Defects, RealWorld, RealWorldConfig},
    },
    target::folder::RunFolder,
};

/// Everything that can be wrong before the first entry is written has been looked at.
pub(super) struct Prepared {
    folder: Folder,
    plan_folder: PathBuf,
    scope: RunScope,
    scaler: PathBuf,
    work: PathBuf,
    clock: RunClock,
    started: RunStarted,
    kept: Option<Kept>,
}

/// A run that is over, with its result.
pub(super) struct Ended {
    /// Where the result is.
    pub(super) path: PathBuf,
    /// The result.
    pub(super) result: RunResult,
    /// How the run ended.
    pub(super) ending: Ending,
}

impl Prepared {
    /// Looks at everything that a run needs; `first` is the plan of its first cell.
    pub(super) fn new(args: &Args, checked: &Checked, first: &CellPlan) -> Result<Self, Failure> {
        let header = &checked.header;
        let plan_folder = parent(&args.plan.path)?;
        limits::make_room(&limits::Needs::of(checked)?)?;
        let secrets = secrets::values(header, &first.target, &plan_folder)?;
        screen::conceal(&secrets);
        let scaler =
            env::current_exe().map_err(|error| Failure::internal(format!("no path of this program: {error}")))?;
        let build = host::build(&scaler)
            .map_err(|error| Failure::file("read the size and time of", scaler.display(), &error))?;
        let folder = Folder::create(&args.results)?;
        // The wall clock is read once; from here on it may step as it likes.
        let fresh = RunClock { start: Instant::now(), wall_unix_ms_at_start: unix_ms() };
        let unix_ms = fresh.wall_unix_ms_at_start;
        let id = folder.new_run_id(unix_ms)?;
        let ending = if args.keep_target { KEPT } else { WORK };
        let work = absolute(folder.path())?.join(format!("{id}-{}.{ending}", header.name));
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
            command: env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
            scaler_version: env!("CARGO_PKG_VERSION").to_owned(),
            scaler_build: Some(build),
            plan: identity::of(&args.plan.path, checked),
            host: described,
            commits: host::commits(&header.commits, &plan_folder),
            generator_ceiling_per_s: ceiling,
            live_check: !args.no_live_check,
        };
        let prepared = Self { folder, plan_folder, scope, scaler, work, clock: fresh, started, kept: None };
        match &args.resume {
            Some(run) => prepared.behind(run),
            None => Ok(prepared),
        }
    }

    /// The same behind the whole cells of an interrupted run: what was known at that run's start holds on, and its clock.
    fn behind(self, run: &str) -> Result<Self, Failure> {
        let journal = self.folder.find_journal(run)?;
        let refused = |why: String| {
            let title = format!("the run of {} cannot be resumed: {why}", journal.display());
            Failure::arguments(title, "run the plan without `--resume`")
        };
        let read = journal::read(&journal).map_err(|error| refused(error.to_string()))?;
        let kept = Kept::of(read.entries).map_err(|why| refused(why.to_string()))?;
        let differences = kept.differences(&self.started);
        if !differences.is_empty() {
            return Err(refused(format!("not all is as it was: {}", differences.join("; "))));
        }
        let since_ms = self.started.started_unix_ms.saturating_sub(kept.started.started_unix_ms);
        let since = Duration::from_millis(since_ms);
        let start = Instant::now().checked_sub(since).filter(|_| since.as_secs_f64() >= kept.stopped_at);
        let start =
            start.ok_or_else(|| refused("this host's clock says an earlier time than the run's last entry".into()))?;
        let clock = RunClock { start, wall_unix_ms_at_start: kept.started.started_unix_ms };
        let RunStarted { run_id, command, .. } = self.started;
        let started = RunStarted { run_id, command, ..kept.started.clone() };
        Ok(Self { clock, started, kept: Some(kept), ..self })
    }

    /// Runs the experiment and writes its result.
    pub(super) fn run(mut self, args: &Args, checked: &Checked) -> Result<Ended, Failure> {
        let (id, name) = (self.started.run_id.clone(), &checked.header.name);
        let _lock = self.folder.lock(&format!("run {id} of plan {name} (process {})", std::process::id()))?;
        leftovers::remove(&self.folder);
        let journal_path = self.folder.journal_path(&id, name);
        let opened = self.open(&journal_path, args);
        let (mut world, mut log) = opened.inspect_err(|_| tidy(&self.work, false))?;
        report_defects_to(world.defects());
        let scope = &self.scope;
        let cell = |step| -> Result<CellPlan, Problems> { checked.cell(step, Some(scope)) };
        let mut display = Display::new(checked, self.clock.wall_unix_ms_at_start, args.json);
        let experiment = Experiment { started: self.started, header: &checked.header, cell: &cell };
        let ended = match self.kept.take() {
            Some(kept) => experiment::resume(experiment, kept, &mut world, &mut log, &mut display),
            None => experiment::run(experiment, &mut world, &mut log, &mut display),
        };
        display.finish();
        drop(world);
        tidy(&self.work, args.keep_target);
        let ending = ended.map_err(|error| ending::lost(&journal_path, &error))?;
        drop(log);
        if let Ending::Defect(what) = &ending {
            return Err(ending::defect(&journal_path, what));
        }
        let path = self.folder.result_path(&id, name);
        let result = ending::write_result(&journal_path, &path)?;
        Ok(Ended { path, result, ending })
    }

    /// Takes the working folder and begins the journal; nothing of the target is started by that.
    fn open(&self, journal: &Path, args: &Args) -> Result<(RealWorld, Journal), Failure> {
        let config = RealWorldConfig {
            scaler: self.scaler.clone(),
            folder: self.work.clone(),
            plan_folder: self.plan_folder.clone(),
            host_cpus: self.started.host.cpus,
            clock: self.clock,
            live_check: !args.no_live_check,
        };
        let world = RealWorld::start(config).map_err(|error| FolderError::Io("use", self.work.clone(), error))?;
        let log = Journal::create(journal, Redactor::new(&self.scope.secrets))
            .map_err(|error| FolderError::Io("write", journal.to_owned(), error))?;
        Ok((world, log))
    }
}

/// From now on a panic of any thread gives up the run, beside being explained.
fn report_defects_to(defects: Defects) {
    panic::set_hook(Box::new(move |info| {
        let what = info.to_string();
        explain_panic(&what);
        defects.report(&what);
    }));
}

/// The target's stores go with the run, unless they are to be kept.
fn tidy(work: &Path, keep: bool) {
    if keep {
        return;
    }
    if let Err(error) = RunFolder::remove(work)
        && error.kind() != io::ErrorKind::NotFound
    {
        screen::remark(&format!("the target's folder {} could not be removed: {error}", work.display()));
    }
}

/// The wall clock; a clock before 1970 counts as 1970.
fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
