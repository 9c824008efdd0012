//! The thin interpreter's hands: it asks the world, journals what comes back, and stops when it must.
//!
//! Nothing is decided here. Whatever happens while an answer is awaited (samples, slices, events) goes to the journal first, so
//! that a long call never hides what went on beside it.

use std::io;

use serde_json::{Value, json};

use super::{
    live::LiveWatch,
    world::{Answer, Call, Failure, Happening, World},
};
use crate::{
    judge::live_safety::Trip,
    record::{
        entry::{Entry, Event, EventKind},
        fold::Fold,
        journal::Journal,
    },
};

/// Where entries go. The real one appends to the journal on disk.
pub trait Log {
    /// Appends one entry.
    fn append(&mut self, entry: &Entry) -> io::Result<()>;
    /// Makes everything so far survive a power cut.
    fn sync(&mut self) -> io::Result<()>;
}

impl Log for Journal {
    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        Self::append(self, entry)
    }

    fn sync(&mut self) -> io::Result<()> {
        Self::sync(self)
    }
}

/// Who looks on while a run goes.
pub trait Observer {
    /// Something was journaled.
    fn see(&mut self, now: f64, entry: &Entry);
    /// Time went by; `fold` is all that happened so far.
    fn look(&mut self, now: f64, fold: &Fold);
}

/// Why the interpreter leaves what it was doing.
#[derive(Debug)]
pub enum Halt {
    /// The user asked to stop.
    Interrupted,
    /// The experiment gives way to the live system or to the host.
    GivesWay(Trip),
    /// A phase could not do its work.
    PhaseFailed(String),
    /// The target must not or cannot be used.
    Refused(String),
    /// The journal cannot be written; nothing that happens now would be kept.
    Journal(io::Error),
    /// A part of scaler itself failed: what it said.
    Defect(String),
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
    pub(super) world: &'a mut dyn World,
    log: &'a mut dyn Log,
    observer: &'a mut dyn Observer,
    pub(super) fold: Fold,
    pub(super) standing: Standing,
    pub(super) live: LiveWatch,
    /// Texts that are filled at the moment of use see these.
    pub(super) late: Value,
    interruptions: u32,
    pub(super) tidying: bool,
}

impl<'a> Interpreter<'a> {
    pub(super) fn new(world: &'a mut dyn World, log: &'a mut dyn Log, observer: &'a mut dyn Observer) -> Self {
        Self {
            world,
            log,
            observer,
            fold: Fold::default(),
            standing: Standing::default(),
            live: LiveWatch::default(),
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
        self.observer.see(self.world.now(), &entry);
        self.fold.push(entry).map_err(|error| Halt::Journal(io::Error::other(error.to_string())))?;
        self.observer.look(self.world.now(), &self.fold);
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

    /// What an earlier run did is taken over as it is; it is no news to whoever looks on.
    pub(super) fn take_over(&mut self, entries: Vec<Entry>) -> Result<(), Halt> {
        for entry in entries {
            self.log.append(&entry).map_err(Halt::Journal)?;
            self.fold.push(entry).map_err(|error| Halt::Journal(io::Error::other(error.to_string())))?;
        }
        self.sync()
    }

    /// Asks, waits for the answer, and treats "it did not work" as a value. A user who asked twice to stop waits only for what gives
    /// something back.
    pub(super) fn try_ask(&mut self, call: Call) -> Result<Result<Answer, Failure>, Halt> {
        let gives_back = call.gives_back();
        let ticket = self.world.call(call);
        loop {
            if self.hurried() && !gives_back {
                return Ok(Err(Failure::Failed("left out, because the user asked twice to stop".to_owned())));
            }
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

    /// The display moves at least twice a second.
    pub(super) fn look_again_at(&self, until: f64) -> f64 {
        until.min(self.world.now() + 0.5)
    }

    pub(super) fn take(&mut self, happening: Happening) -> Result<(), Halt> {
        match happening {
            Happening::Time => {
                self.observer.look(self.world.now(), &self.fold);
                Ok(())
            }
            Happening::Entry(entry) => self.record(entry),
            Happening::Interrupted(times) => self.interrupt(times),
            Happening::Defect(_) if self.tidying => Ok(()),
            Happening::Defect(what) => Err(Halt::Defect(what)),
            Happening::Answer(ticket, answer) => self.take_look(ticket, answer),
        }
    }

    fn interrupt(&mut self, times: u32) -> Result<(), Halt> {
        self.interruptions = self.interruptions.max(times);
        self.event(EventKind::Interrupted, "scaler", format!("asked to stop ({times})"))?;
        if self.tidying { Ok(()) } else { Err(Halt::Interrupted) }
    }
}
