//! Live-safety in a run: the looks are taken here, what they mean is decided by the judge's state machine.

use indexmap::IndexMap;

use super::{
    interpreter::{Halt, Interpreter},
    world::{Answer, Call, Failure, Ticket},
};
use crate::{
    judge::live_safety::{Baseline, LiveGuard, LiveLook, Trip},
    plan::{checked::CellPlan, safety::LiveSafety},
    record::entry::{Entry, EventKind, Sample},
};

/// How the present cell watches over the live system, and what was usual before the run.
#[derive(Default)]
pub(super) struct LiveWatch {
    baseline: Option<Baseline>,
    guard: Option<Guard>,
}

struct Guard {
    state: LiveGuard,
    every_s: f64,
    next_at: f64,
    asked: Option<Ticket>,
}

/// Looks that make the baseline, and as many afterwards, and the seconds between them.
const LOOKS: u32 = 5;
const LOOK_EVERY_S: f64 = 0.2;

impl Interpreter<'_> {
    /// Takes the baseline before any load runs.
    pub(super) fn live_baseline(&mut self, plan: &CellPlan) -> Result<(), Halt> {
        if plan.live_safety.is_none() {
            return Ok(());
        }
        let looks = self.looks()?;
        self.live.baseline = Some(Baseline::of(&looks).map_err(Halt::Refused)?);
        Ok(())
    }

    /// Looks again when everything is over, so that the result shows whether the live system is as it was.
    pub(super) fn live_afterwards(&mut self) -> Result<(), Halt> {
        if self.live.baseline.is_none() {
            return Ok(());
        }
        self.looks().map(drop)
    }

    /// A few looks while no load runs.
    fn looks(&mut self) -> Result<Vec<LiveLook>, Halt> {
        let mut looks = Vec::new();
        for _ in 0..LOOKS {
            if let Answer::Live(look) = self.ask(Call::SampleLive)? {
                self.record(Entry::Sample(sample(self.now(), &look)))?;
                looks.push(look);
            }
            let next = self.now() + LOOK_EVERY_S;
            self.pause_until(next)?;
        }
        Ok(looks)
    }

    /// Begins to watch in a cell, with nothing bad seen yet.
    pub(super) fn guard_live(&mut self, safety: Option<&LiveSafety>) {
        let next_at = self.now();
        self.live.guard = safety.zip(self.live.baseline).map(|(safety, baseline)| Guard {
            state: LiveGuard::new(safety.clone(), baseline),
            every_s: safety.every.as_secs_f64(),
            next_at,
            asked: None,
        });
    }

    /// Lets time go by while the live system is watched; ends early when it suffers.
    pub(super) fn pause_under_guard(&mut self, until: f64) -> Result<(), Halt> {
        while self.now() < until {
            let wake = self.look_when_due().map_or(until, |next| next.min(until));
            let happening = self.world.wait(self.look_again_at(wake));
            self.take(happening)?;
        }
        Ok(())
    }

    /// Asks for a look when one is due; when the next one is, unless an answer is awaited.
    fn look_when_due(&mut self) -> Option<f64> {
        let now = self.now();
        let guard = self.live.guard.as_mut().filter(|guard| guard.asked.is_none())?;
        if now < guard.next_at {
            return Some(guard.next_at);
        }
        guard.next_at = now + guard.every_s;
        guard.asked = Some(self.world.call(Call::SampleLive));
        None
    }

    /// An answer that nobody waits for is a look at the live system, or belongs to a call that was given up.
    pub(super) fn take_look(&mut self, ticket: Ticket, answer: Result<Answer, Failure>) -> Result<(), Halt> {
        let at = self.now();
        let Some(guard) = self.live.guard.as_mut().filter(|guard| guard.asked == Some(ticket)) else { return Ok(()) };
        guard.asked = None;
        let trip = match answer {
            Ok(Answer::Live(look)) => {
                let trip = guard.state.look(&look);
                self.record(Entry::Sample(sample(at, &look)))?;
                trip
            }
            Ok(_) => Some(Trip::Suffers("the world gave an answer of another kind".to_owned())),
            // Whoever cannot look must not go on as if all were well.
            Err(failure) => {
                Some(Trip::Suffers(format!("the live system could not be looked at: {}", failure.reason())))
            }
        };
        match trip {
            Some(trip) if !self.tidying => {
                let (Trip::Suffers(cause) | Trip::DiskLow(cause)) = &trip;
                self.event(EventKind::LiveSafety, "live_safety", cause.clone())?;
                Err(Halt::GivesWay(trip))
            }
            _ => Ok(()),
        }
    }
}

/// A look as a sample of the watch `live_safety`.
#[expect(clippy::cast_precision_loss, reason = "bytes of a disk stay below 2^53")]
fn sample(at: f64, look: &LiveLook) -> Sample {
    let mut values = IndexMap::from([
        ("load_per_cpu".to_owned(), look.load_per_cpu),
        ("disk_free_bytes".to_owned(), look.disk_free_bytes as f64),
    ]);
    let mut gaps = IndexMap::new();
    match &look.latency_s {
        Some(Ok(latency)) => {
            values.insert("latency_s".to_owned(), *latency);
        }
        Some(Err(why)) => {
            gaps.insert("latency_s".to_owned(), why.clone());
        }
        None => {}
    }
    Sample { at, watch: "live_safety".to_owned(), values, gaps }
}
