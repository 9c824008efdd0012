//! The real world: processes, sockets, files and clocks behind [`World`].
//!
//! Every call is answered from a thread of its own, so that none waits for another; all answers, entries and interrupts meet in one
//! channel, in the order in which they became known. When the world is dropped, everything that it started ends.

mod calls;
mod live;
mod loads;
mod pool;
mod publish;
mod signals;
mod target;

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use tokio::runtime::Runtime;

use self::calls::Hands;
use super::{
    emit::Emit,
    world::{Call, Failure, Happening, Ticket, World},
};
use crate::{
    load::RunClock,
    target::{folder::RunFolder, launcher::Launcher},
};

/// What a run needs of the machine.
#[derive(Clone, Debug)]
pub struct RealWorldConfig {
    /// This program, for `scaler launch`.
    pub scaler: PathBuf,
    /// The working folder of the target for this run: new, empty, or claimed by scaler before.
    pub folder: PathBuf,
    /// The folder of the plan: files that it names are relative to it, and commands run in it.
    pub plan_folder: PathBuf,
    /// CPUs of this host, which no cap may exceed.
    pub host_cpus: u64,
    /// The clock of the run.
    pub clock: RunClock,
    /// Whether live-safety may ask the live URL; the host is looked at in any case.
    pub live_check: bool,
}

/// The world as it is.
pub struct RealWorld {
    hands: Arc<Hands>,
    out: Sender<Happening>,
    inbox: Receiver<Happening>,
    clock: RunClock,
    tickets: u64,
    /// Keeps the handlers of signals alive.
    _signals: Runtime,
}

impl RealWorld {
    /// Claims the folder, starts the thread that starts children, and listens to signals.
    ///
    /// # Errors
    /// When the folder is not scaler's to use, or a thread or handler cannot be set up.
    pub fn start(config: RealWorldConfig) -> io::Result<Self> {
        let (out, inbox) = mpsc::channel();
        let folder = RunFolder::claim(&config.folder)?;
        let launcher = Arc::new(Launcher::start(config.scaler.clone())?);
        let clock = config.clock;
        let entries = out.clone();
        let emit = Emit::new(clock.start, move |entry| {
            // Nobody listens any more once the world is gone.
            let _ = entries.send(Happening::Entry(entry));
        });
        let signals = signals::listen(out.clone())?;
        let hands = Arc::new(Hands::new(config, folder, launcher, emit));
        Ok(Self { hands, out, inbox, clock, tickets: 0, _signals: signals })
    }
}

/// The way of scaler's own failures into the run, from any thread.
#[derive(Clone, Debug)]
pub struct Defects(Sender<Happening>);

impl Defects {
    /// Reports that a part of scaler failed. Without a run that listens, nothing happens.
    pub fn report(&self, what: &str) {
        let _ = self.0.send(Happening::Defect(what.to_owned()));
    }
}

impl RealWorld {
    /// Where failures of scaler itself are to be reported while this world lasts.
    #[must_use]
    pub fn defects(&self) -> Defects {
        Defects(self.out.clone())
    }
}

impl World for RealWorld {
    fn now(&self) -> f64 {
        self.clock.start.elapsed().as_secs_f64()
    }

    fn call(&mut self, call: Call) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let (hands, out) = (Arc::clone(&self.hands), self.out.clone());
        // Later calls must see the new plan, so this one is not left to a thread.
        if matches!(call, Call::UsePlan(_)) {
            let _ = out.send(Happening::Answer(ticket, hands.answer(call)));
            return ticket;
        }
        let answer = out.clone();
        let doing = move || {
            let done = catch_unwind(AssertUnwindSafe(|| hands.answer(call)));
            let done = done.unwrap_or_else(|_| Err(Failure::Failed("scaler itself failed at this call".to_owned())));
            let _ = answer.send(Happening::Answer(ticket, done));
        };
        if let Err(error) = thread::Builder::new().name(format!("call {}", ticket.0)).spawn(doing) {
            let failure = Failure::Failed(format!("no thread could be started: {error}"));
            let _ = out.send(Happening::Answer(ticket, Err(failure)));
        }
        ticket
    }

    fn wait(&mut self, until: f64) -> Happening {
        /// The longest that is waited in one go; a wait without end is a row of these.
        const LONG_S: f64 = 3_600.0;
        loop {
            let left = (until - self.now()).clamp(0.0, LONG_S);
            match self.inbox.recv_timeout(Duration::from_secs_f64(left)) {
                Ok(happening) => return happening,
                Err(RecvTimeoutError::Timeout) if self.now() < until => {}
                // The world holds a sender of its own, so the channel never ends.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Happening::Time,
            }
        }
    }
}

impl Drop for RealWorld {
    fn drop(&mut self) {
        self.hands.let_go();
    }
}
