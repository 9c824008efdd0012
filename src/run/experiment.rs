//! The whole experiment: the start, setup, the ladder's cells, teardown, the end.
//!
//! The ladder folds the journal so far and asks the same judge that `results judge` asks: a live decision and a replayed one cannot differ.

use std::io;

use super::{
    cell::CellName,
    interpreter::{Halt, Interpreter, Log, Observer},
    ladder::{self, Next},
    world::{Call, World},
};
use crate::{
    judge::{self, verdict::Word},
    plan::checked::{CellPlan, Header, NamedPhase},
    problem::Problems,
    record::{
        cell::CellRecord,
        entry::{CutShort, Entry, EventKind, Resumed, RunFinished, RunStarted},
        resume::Kept,
    },
};

/// What is run.
pub struct Experiment<'a> {
    /// The first entry of the journal.
    pub started: RunStarted,
    /// What is the same in all cells.
    pub header: &'a Header,
    /// The plan of one cell, all texts filled.
    pub cell: &'a dyn Fn(Option<u64>) -> Result<CellPlan, Problems>,
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every cell that the ladder wanted was run.
    Complete,
    /// The user asked to stop.
    Interrupted,
    /// The target must not or cannot be used: why.
    Refused(String),
    /// A part of scaler itself failed, and the run was given up: what it said. The journal has no end.
    Defect(String),
}

/// Runs the experiment in the world, journaling everything to `log`.
///
/// # Errors
/// Only when the journal cannot be written; the target is stopped all the same.
pub fn run(
    experiment: Experiment<'_>,
    world: &mut dyn World,
    log: &mut dyn Log,
    observer: &mut dyn Observer,
) -> io::Result<Ending> {
    conduct(experiment, None, Interpreter::new(world, log, observer))
}

/// The same behind the whole cells of a run that was interrupted. The world's clock must go on from that run's start.
///
/// # Errors
/// Only when the journal cannot be written; the target is stopped all the same.
pub fn resume(
    experiment: Experiment<'_>,
    kept: Kept,
    world: &mut dyn World,
    log: &mut dyn Log,
    observer: &mut dyn Observer,
) -> io::Result<Ending> {
    conduct(experiment, Some(kept), Interpreter::new(world, log, observer))
}

fn conduct(experiment: Experiment<'_>, kept: Option<Kept>, mut interpreter: Interpreter<'_>) -> io::Result<Ending> {
    let Experiment { started, header, cell } = experiment;
    let outcome = interpreter
        .record(Entry::RunStarted(Box::new(started)))
        .and_then(|()| interpreter.begin(kept))
        .and_then(|()| interpreter.climb(header, cell));
    let ending = match outcome {
        Ok(()) => Ending::Complete,
        Err(Halt::Interrupted | Halt::GivesWay(_)) => Ending::Interrupted,
        Err(Halt::Refused(reason) | Halt::PhaseFailed(reason)) => Ending::Refused(reason),
        Err(Halt::Defect(what)) => Ending::Defect(what),
        Err(Halt::Journal(error)) => {
            interpreter.abandon();
            return Err(error);
        }
    };
    match interpreter.close(header, cell, &ending) {
        Ok(()) => Ok(ending),
        Err(halt) => {
            interpreter.abandon();
            Err(match halt {
                Halt::Journal(error) => error,
                halt => io::Error::other(format!("the run could not be closed: {halt:?}")),
            })
        }
    }
}

impl Interpreter<'_> {
    /// Takes over what is kept of an interrupted run.
    fn begin(&mut self, kept: Option<Kept>) -> Result<(), Halt> {
        let Some(Kept { started, entries, cells, stopped_at }) = kept else { return self.sync() };
        self.take_over(entries)?;
        let at = self.now();
        self.record(Entry::Resumed(Resumed { run_id: started.run_id, cells, stopped_at, at }))
    }

    /// The words of the cells from number `first` on, by the judge that decides afterwards as well.
    fn words(&self, first: usize) -> Vec<(Option<u64>, u32, Word)> {
        let Some(record) = self.fold.record() else { return Vec::new() };
        let word = |cell: &CellRecord| judge::judge_cell(&record.started, cell).word;
        record.cells.iter().skip(first).map(|cell| (cell.started.step, cell.started.repeat, word(cell))).collect()
    }

    /// Setup, then one cell after another while the ladder wants more.
    fn climb(&mut self, header: &Header, cell: &dyn Fn(Option<u64>) -> Result<CellPlan, Problems>) -> Result<(), Halt> {
        let first = plan_of(cell, header.steps.first().copied().flatten())?;
        self.ask(Call::UsePlan(Box::new(first.clone())))?;
        self.live_baseline(&first)?;
        if !first.setup.is_empty() {
            self.start_target(false)?;
            self.around(&first, &first.setup)?;
        }
        let variable = header.ladder.as_ref().map(|ladder| ladder.variable.as_str());
        let mut done = self.words(0);
        loop {
            let next = ladder::next(header, &done);
            let number = u32::try_from(done.len()).unwrap_or(u32::MAX);
            let Some(name) = CellName::of(&next, number, variable) else {
                let Next::Stop { reason } = next else { return Ok(()) };
                return self.event(EventKind::Note, "ladder", reason);
            };
            let plan = plan_of(cell, name.step)?;
            self.cell(&name, &plan)?;
            if self.fold.record().and_then(|record| record.cells.last()).is_some_and(tripped) {
                return self.event(EventKind::Note, "ladder", "live-safety tripped, so that no further step is run");
            }
            done.extend(self.words(done.len()));
        }
    }

    /// Phases outside the cells.
    fn around(&mut self, plan: &CellPlan, phases: &[NamedPhase]) -> Result<(), Halt> {
        phases.iter().try_for_each(|phase| self.window(plan, phase))
    }

    /// Teardown, the target's stop and the last entry; nothing here is left out because something before it failed.
    fn close(
        &mut self,
        header: &Header,
        cell: &dyn Fn(Option<u64>) -> Result<CellPlan, Problems>,
        ending: &Ending,
    ) -> Result<(), Halt> {
        self.begin_tidying();
        if let Ending::Refused(reason) = ending {
            self.event(EventKind::Note, "target", format!("refused: {reason}"))?;
        }
        if self.standing.target_up && !self.hurried() {
            let plan = plan_of(cell, header.steps.first().copied().flatten())?;
            for phase in &plan.teardown {
                let outcome = self.window(&plan, phase);
                self.tolerate(outcome)?;
            }
        }
        if self.standing.target_up {
            self.standing.target_up = false;
            let stopped = self.ask(Call::StopTarget).map(|_| ());
            self.tolerate(stopped)?;
        }
        if !self.hurried() {
            let looked = self.live_afterwards();
            self.tolerate(looked)?;
        }
        if !matches!(ending, Ending::Defect(_)) {
            let interrupted = *ending == Ending::Interrupted;
            self.record(Entry::RunFinished(RunFinished { at: self.now(), interrupted }))?;
        }
        self.sync()
    }

    /// The journal is lost: only the target is stopped.
    fn abandon(&mut self) {
        if self.standing.target_up {
            self.give_up(Call::StopTarget);
        }
    }
}

/// Whether the cell gave way to the live system or to the host. What hurt once is not tried again, and never more of it.
fn tripped(cell: &CellRecord) -> bool {
    let cut_short = cell.finished.as_ref().and_then(|finished| finished.cut_short.as_ref());
    matches!(cut_short, Some(CutShort::LiveSafety(_) | CutShort::DiskLow(_)))
}

/// A plan that was checked can be filled for each of its steps; a step that a search adds may still be refused.
fn plan_of(cell: &dyn Fn(Option<u64>) -> Result<CellPlan, Problems>, step: Option<u64>) -> Result<CellPlan, Halt> {
    cell(step).map_err(|problems| Halt::Refused(format!("the plan cannot be filled for step {step:?}: {problems}")))
}
