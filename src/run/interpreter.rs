//! The thin interpreter's hands: it asks the world, journals what comes back, and stops when it must.
//!
//! Nothing is decided here. Whatever happens while an answer is awaited (samples, slices, events) goes to the journal first, so
//! that a long call never hides what went on beside it.

use std::io;

use serde_json::{Value, json};

use super::world::{Answer, Call, Failure, Happening, LiveSample, Ticket, World};
use crate::{
    judge::live_safety::LiveGuard,
    plan::checked::CellPlan,
    record::{
        entry::{Entry, Event, EventKind, Sample},
        fold::Fold,
    },
};

/// Where entries go. The real one appends to the journal on disk.
pub trait Log {
    /// Appends one entry.
    fn append(&mut self, entry: &Entry) -> io::Result<()>;
    /// Makes everything so far survive a power cut.
    fn sync(&mut self) -> io::Result<()>;
}

/// Who looks on while a run goes.
pub trait Observer {
    /// Something was journaled, or time went by; `fold` is all that happened so far.
    fn look(&mut self, now: f64, entry: Option<&Entry>, fold: &Fold);
}

/// Why the interpreter leaves what it was doing.
#[derive(Debug)]
pub enum Halt {
    /// The user asked to stop.
    Interrupted,
    /// The live system or the host suffers: the cause.
    LiveSafety(String),
    /// A phase could not do its work.
    PhaseFailed(String),
    /// The target must not or cannot be used.
    Refused(String),
    /// The journal cannot be written; nothing that happens now would be kept.
    Journal(io::Error),
}

/// How the present cell watches over the live system.
pub(super) struct LiveWatch {
    pub(super) guard: LiveGuard,
    pub(super) every_s: f64,
    next_at: f64,
    asked: Option<Ticket>,
}

/// What runs or is down at the moment, so that it can be put right at any time.
#[derive(Debug, Default)]
pub(super) struct Standing {
    pub(super) target_up: bool,
    pub(super) loads: Vec<String>,
    pub(super) watches: Vec<String>,
    pub(super) down: Vec<String>,
}

/// The interpreter's state.
pub(super) struct Interpreter<'a> {
    world: &'a mut dyn World,
    log: &'a mut dyn Log,
    observer: &'a mut dyn Observer,
    pub(super) fold: Fold,
    pub(super) standing: Standing,
    pub(super) live: Option<LiveWatch>,
    /// Texts that are filled at the moment of use see these.
    pub(super) late: Value,
    interruptions: u32,
    tidying: bool,
}

impl<'a> Interpreter<'a> {
    pub(super) fn new(world: &'a mut dyn World, log: &'a mut dyn Log, observer: &'a mut dyn Observer) -> Self {
        Self {
            world,
            log,
            observer,
            fold: Fold::default(),
            standing: Standing::default(),
            live: None,
            late: json!({}),
            interruptions: 0,
            tidying: false,
        }
    }

    pub(super) fn now(&self) -> f64 {
        self.world.now()
    }

    /// Whether the user asked to stop.
    pub(super) fn interrupted(&self) -> bool {
        self.interruptions > 0
    }

    /// Whether the user asked to stop at once: only what was taken down is still brought back.
    pub(super) fn hurried(&self) -> bool {
        self.interruptions > 1
    }

    /// From here on an interruption is remembered and does not stop what is being put right.
    pub(super) fn begin_tidying(&mut self) {
        self.tidying = true;
    }

    pub(super) fn end_tidying(&mut self) {
        self.tidying = false;
    }

    /// Asks for one last thing when nothing can be recorded any more.
    pub(super) fn give_up(&mut self, call: Call) {
        let ticket = self.world.call(call);
        while !matches!(self.world.wait(f64::INFINITY), Happening::Answer(answered, _) if answered == ticket) {}
    }

    /// Appends to the journal, then to the record in memory.
    pub(super) fn record(&mut self, entry: Entry) -> Result<(), Halt> {
        self.log.append(&entry).map_err(Halt::Journal)?;
        self.fold.push(entry.clone()).map_err(|error| Halt::Journal(io::Error::other(error.to_string())))?;
        self.observer.look(self.world.now(), Some(&entry), &self.fold);
        Ok(())
    }

    pub(super) fn event(&mut self, kind: EventKind, subject: &str, detail: impl Into<String>) -> Result<(), Halt> {
        let at = self.now();
        self.record(Entry::Event(Event { at, kind, subject: subject.to_owned(), detail: detail.into() }))
    }

    /// Makes the journal durable, at the end of a phase.
    pub(super) fn sync(&mut self) -> Result<(), Halt> {
        self.log.sync().map_err(Halt::Journal)
    }

    /// Asks, waits for the answer, and treats "it did not work" as a value.
    pub(super) fn try_ask(&mut self, call: Call) -> Result<Result<Answer, Failure>, Halt> {
        let ticket = self.world.call(call);
        loop {
            match self.world.wait(self.look_again_at(f64::INFINITY)) {
                Happening::Answer(answered, answer) if answered == ticket => return Ok(answer),
                other => self.take(other)?,
            }
        }
    }

    /// Asks and waits; "it did not work" ends the phase.
    pub(super) fn ask(&mut self, call: Call) -> Result<Answer, Halt> {
        match self.try_ask(call)? {
            Ok(answer) => Ok(answer),
            Err(Failure::Refused(reason)) => Err(Halt::Refused(reason)),
            Err(Failure::Failed(reason)) => Err(Halt::PhaseFailed(reason)),
        }
    }

    /// Lets time go by until `until`, journaling what happens.
    pub(super) fn pause_until(&mut self, until: f64) -> Result<(), Halt> {
        while self.now() < until {
            let happening = self.world.wait(self.look_again_at(until));
            self.take(happening)?;
        }
        Ok(())
    }

    /// Lets time go by while the live system is watched.
    pub(super) fn pause_under_guard(&mut self, until: f64) -> Result<(), Halt> {
        while self.now() < until {
            let mut wake = until;
            if let Some(live) = &mut self.live
                && live.asked.is_none()
            {
                if self.world.now() >= live.next_at {
                    live.asked = Some(self.world.call(Call::SampleLive));
                    live.next_at = self.world.now() + live.every_s;
                } else {
                    wake = wake.min(live.next_at);
                }
            }
            let happening = self.world.wait(self.look_again_at(wake));
            self.take(happening)?;
        }
        Ok(())
    }

    /// Starts to watch the live system, from the baseline in `guard`.
    pub(super) fn watch_live(&mut self, guard: LiveGuard, every_s: f64) {
        let next_at = self.now() + every_s;
        self.live = Some(LiveWatch { guard, every_s, next_at, asked: None });
    }

    /// The display moves at least twice a second.
    fn look_again_at(&self, until: f64) -> f64 {
        until.min(self.world.now() + 0.5)
    }

    fn take(&mut self, happening: Happening) -> Result<(), Halt> {
        match happening {
            Happening::Time => {
                self.observer.look(self.world.now(), None, &self.fold);
                Ok(())
            }
            Happening::Entry(entry) => self.record(entry),
            Happening::Interrupted(times) => self.interrupt(times),
            Happening::Answer(ticket, answer) => self.take_live(ticket, answer),
        }
    }

    fn interrupt(&mut self, times: u32) -> Result<(), Halt> {
        self.interruptions = self.interruptions.max(times);
        self.event(EventKind::Interrupted, "scaler", format!("asked to stop ({times})"))?;
        if self.tidying { Ok(()) } else { Err(Halt::Interrupted) }
    }

    /// An answer that nobody waits for is a live sample, or belongs to a call that was given up.
    fn take_live(&mut self, ticket: Ticket, answer: Result<Answer, Failure>) -> Result<(), Halt> {
        let Some(live) = self.live.as_mut().filter(|live| live.asked == Some(ticket)) else { return Ok(()) };
        live.asked = None;
        let Ok(Answer::Live(sample)) = answer else { return Ok(()) };
        let trip = live.guard.see(&sample_of_guard(&sample));
        self.record(Entry::Sample(live_entry(&sample)))?;
        match trip {
            Some(cause) if !self.tidying => {
                self.event(EventKind::LiveSafety, "live_safety", cause.clone())?;
                Err(Halt::LiveSafety(cause))
            }
            _ => Ok(()),
        }
    }

    /// Takes the baseline of the live system from `samples` looks, before any load runs.
    pub(super) fn live_baseline(&mut self, plan: &CellPlan, samples: u32) -> Result<(), Halt> {
        let Some(safety) = plan.live_safety.clone() else { return Ok(()) };
        let mut looks = Vec::new();
        for _ in 0..samples {
            let Answer::Live(sample) = self.ask(Call::SampleLive)? else { continue };
            self.record(Entry::Sample(live_entry(&sample)))?;
            looks.push(sample_of_guard(&sample));
            let next = self.now() + 0.2;
            self.pause_until(next)?;
        }
        let every_s = safety.every.as_secs_f64();
        let guard = LiveGuard::new(safety, &looks).map_err(Halt::Refused)?;
        self.watch_live(guard, every_s);
        Ok(())
    }
}
