//! One cell: its target, its watches, its phases in order, and whatever must be put right at its end.

use std::time::Duration;

use super::{
    interpreter::{Halt, Interpreter},
    ladder::Next,
    subjects::subjects,
    world::Call,
};
use crate::{
    judge::live_safety::Trip,
    plan::{
        checked::{CellPlan, NamedPhase},
        phase::Phase,
        target::Target,
        watch::Watch,
    },
    record::entry::{CellFinished, CellStarted, CutShort, Entry, EventKind, WindowClosed, WindowOpened},
};

/// How long what was down may take to be ready again at the end of a cell.
const READY_AGAIN: Duration = Duration::from_secs(30);
/// The same for a user who asked twice to stop.
const READY_IN_HASTE: Duration = Duration::from_secs(3);

/// What a cell is called and counted as.
pub(super) struct CellName {
    pub(super) number: u32,
    pub(super) name: String,
    pub(super) step: Option<u64>,
    pub(super) repeat: u32,
}

impl CellName {
    /// The name of the cell that the ladder wants next.
    pub(super) fn new(number: u32, variable: Option<&str>, step: Option<u64>, repeat: u32) -> Self {
        let base = match (variable, step) {
            (Some(variable), Some(step)) => format!("{variable}={step}"),
            _ => "all".to_owned(),
        };
        let name = if repeat > 1 { format!("{base} #{repeat}") } else { base };
        Self { number, name, step, repeat }
    }

    /// The same from the ladder's decision; none when it stops.
    pub(super) fn of(next: &Next, number: u32, variable: Option<&str>) -> Option<Self> {
        match next {
            Next::Cell { step, repeat, .. } => Some(Self::new(number, variable, *step, *repeat)),
            Next::Stop { .. } => None,
        }
    }
}

impl Interpreter<'_> {
    /// Runs a cell. What stops only this cell is journaled and is `Ok`; what stops the whole run is the error.
    pub(super) fn cell(&mut self, name: &CellName, plan: &CellPlan) -> Result<(), Halt> {
        self.record(Entry::CellStarted(CellStarted {
            at: self.now(),
            cell: name.number,
            name: name.name.clone(),
            step: name.step,
            condition: None,
            repeat: name.repeat,
            subjects: subjects(plan),
            gates: plan.gates.clone(),
        }))?;
        let outcome = self.cell_body(name, plan);
        let cut_short = cut_short(outcome.as_ref().err());
        if let Some(CutShort::PhaseFailed(reason)) = &cut_short {
            self.event(EventKind::PhaseFailed, &name.name, reason.clone())?;
        }
        self.tidy_cell()?;
        self.compare_others(plan)?;
        self.record(Entry::CellFinished(CellFinished { at: self.now(), cell: name.number, cut_short }))?;
        self.sync()?;
        match outcome {
            Err(halt @ (Halt::Interrupted | Halt::Refused(_) | Halt::Journal(_) | Halt::Defect(_))) => Err(halt),
            _ if self.interrupted() => Err(Halt::Interrupted),
            _ => Ok(()),
        }
    }

    fn cell_body(&mut self, name: &CellName, plan: &CellPlan) -> Result<(), Halt> {
        self.ask(Call::UsePlan(Box::new(plan.clone())))?;
        let fresh = match &plan.target {
            Target::Processes(processes) => processes.fresh_per_cell,
            Target::Compose(compose) => compose.fresh_per_cell,
            Target::External(_) => false,
        };
        let started = self.start_target(fresh && name.number > 0)?;
        for (watch, checked) in &plan.watches {
            if !matches!(checked.watch, Watch::Canary(_)) {
                self.start(plan, watch)?;
            }
        }
        if name.number == 0 {
            self.require_clean(plan)?;
        }
        if started || name.number == 0 {
            self.preflight(plan)?;
        }
        self.guard_live(plan.live_safety.as_ref());
        for phase in &plan.phases {
            self.window(plan, phase)?;
        }
        Ok(())
    }

    /// Whether all else on the engine is as it was before the target was started.
    fn compare_others(&mut self, plan: &CellPlan) -> Result<(), Halt> {
        if !matches!(plan.target, Target::Compose(_)) || !self.standing.target_up {
            return Ok(());
        }
        self.begin_tidying();
        let compared = self.ask(Call::CompareOthers).map(|_| ());
        let outcome = self.tolerate(compared);
        self.end_tidying();
        outcome
    }

    /// Starts the target when it is down, or anew when the plan wants it fresh; says whether it did.
    pub(super) fn start_target(&mut self, fresh: bool) -> Result<bool, Halt> {
        if self.standing.target_up && !fresh {
            return Ok(false);
        }
        self.standing.target_up = true;
        self.ask(Call::StartTarget { fresh })?;
        Ok(true)
    }

    /// Runs a phase inside its window; the loads' slices end at its edges. Both edges are cut, because making the journal durable between two
    /// windows may take a while.
    pub(super) fn window(&mut self, plan: &CellPlan, phase: &NamedPhase) -> Result<(), Halt> {
        self.cut_slices()?;
        if self.interrupted() && !self.tidying {
            return Err(Halt::Interrupted);
        }
        let measured = matches!(&phase.phase, Phase::Hold(hold) if hold.measure);
        let kind = phase.phase.key().to_owned();
        self.record(Entry::WindowOpened(WindowOpened { at: self.now(), name: phase.name.clone(), kind, measured }))?;
        let outcome = self.phase(plan, phase);
        if !matches!(outcome, Err(Halt::Journal(_))) {
            self.cut_slices()?;
        }
        self.record(Entry::WindowClosed(WindowClosed { at: self.now(), name: phase.name.clone() }))?;
        self.sync()?;
        match outcome {
            Err(Halt::PhaseFailed(reason)) => Err(Halt::PhaseFailed(format!("phase `{}`: {reason}", phase.name))),
            other => other,
        }
    }

    /// Ends the slices of the running loads here; an interruption meanwhile is remembered.
    fn cut_slices(&mut self) -> Result<(), Halt> {
        if self.standing.loads.is_empty() {
            return Ok(());
        }
        let was_tidying = std::mem::replace(&mut self.tidying, true);
        let cut = self.try_ask(Call::CutSlices);
        self.tidying = was_tidying;
        cut?.ok();
        Ok(())
    }

    /// Starts a load, watch or canary by name.
    pub(super) fn start(&mut self, plan: &CellPlan, name: &str) -> Result<(), Halt> {
        if plan.loads.contains_key(name) {
            self.standing.loads.push(name.to_owned());
            self.ask(Call::StartLoad(name.to_owned()))?;
        } else {
            self.standing.watches.push(name.to_owned());
            self.ask(Call::StartWatch(name.to_owned()))?;
        }
        Ok(())
    }

    /// Stops a load, watch or canary by name; one that does not run is left alone.
    pub(super) fn stop(&mut self, name: &str) -> Result<(), Halt> {
        let is_load = self.standing.loads.iter().any(|load| load == name);
        let is_watch = self.standing.watches.iter().any(|watch| watch == name);
        if is_load {
            self.standing.loads.retain(|load| load != name);
            self.ask(Call::StopLoad(name.to_owned()))?;
        } else if is_watch {
            self.standing.watches.retain(|watch| watch != name);
            self.ask(Call::StopWatch(name.to_owned()))?;
        }
        Ok(())
    }

    /// Puts right what the cell left: loads, then canaries and watches, then what is down. An interruption does not stop it; a
    /// second one leaves out everything but what is down.
    fn tidy_cell(&mut self) -> Result<(), Halt> {
        self.guard_live(None);
        self.begin_tidying();
        let names: Vec<String> =
            self.standing.loads.iter().rev().chain(self.standing.watches.iter().rev()).cloned().collect();
        for name in names {
            if !self.hurried() {
                let stopped = self.stop(&name);
                self.tolerate(stopped)?;
            }
        }
        for service in self.standing.down.clone() {
            let within = if self.hurried() { READY_IN_HASTE } else { READY_AGAIN };
            let back = self.bring_back(&service, within).map(|_| ());
            self.tolerate(back)?;
        }
        self.end_tidying();
        Ok(())
    }

    /// While putting things right, what does not work is journaled and the rest is still done; a lost journal is not tolerated.
    pub(super) fn tolerate(&mut self, outcome: Result<(), Halt>) -> Result<(), Halt> {
        match outcome {
            Ok(()) | Err(Halt::Interrupted | Halt::Defect(_)) => Ok(()),
            Err(
                Halt::PhaseFailed(reason)
                | Halt::Refused(reason)
                | Halt::GivesWay(Trip::Suffers(reason) | Trip::DiskLow(reason)),
            ) => self.event(EventKind::Note, "scaler", format!("while putting things right: {reason}")),
            Err(halt @ Halt::Journal(_)) => Err(halt),
        }
    }
}

fn cut_short(halt: Option<&Halt>) -> Option<CutShort> {
    Some(match halt? {
        Halt::GivesWay(Trip::Suffers(cause)) => CutShort::LiveSafety(cause.clone()),
        Halt::GivesWay(Trip::DiskLow(cause)) => CutShort::DiskLow(cause.clone()),
        Halt::PhaseFailed(reason) | Halt::Refused(reason) => CutShort::PhaseFailed(reason.clone()),
        Halt::Interrupted | Halt::Journal(_) | Halt::Defect(_) => CutShort::Interrupted,
    })
}
