//! The MQTT generator: a fleet's readings at their due times, each one accounted for until its PUBACK.
//!
//! ```text
//! pace      when each reading is due            template  its topic and payload, compiled once
//! value     its value, known again later        packets   which PUBACK belongs to which reading
//! encode    packets to bytes and back           wire      a socket that never blocks
//! link      one MQTT connection and its life    outlet    a link and the readings that it has to send
//! tally     what is counted                     generator the thread of a running load
//! expected  the readings of a second, named     courier   finite messages: publish phases, canaries
//! ```
//!
//! A running load is one thread that wakes every two milliseconds, takes the acknowledgements of each connection in, encodes everything that is due into
//! one buffer, and writes it with one call. It holds nothing for a point, and a few bytes for each publish in flight.

pub mod ceiling;
pub mod courier;
mod distribution;
pub mod encode;
pub mod expected;
pub mod fleet;
mod generator;
pub mod link;
pub mod message;
mod outlet;
pub mod pace;
pub mod packets;
pub mod retained;
mod segment;
pub mod single;
mod stamp;
pub mod subscription;
mod tally;
pub mod template;
pub mod value;
pub mod wire;

use std::{
    sync::mpsc::{self, Sender},
    thread::JoinHandle,
    time::Instant,
};

use crate::{
    plan::{connection::Mqtt, fleet::Fleet, load::MqttPublish},
    record::entry::Entry,
};

/// A load as the plan describes it.
#[derive(Clone, Debug)]
pub struct MqttLoad {
    /// The load's name.
    pub name: String,
    /// Its pace, topic, payload and connections.
    pub plan: MqttPublish,
    /// The points.
    pub fleet: Fleet,
    /// The broker.
    pub mqtt: Mqtt,
    /// The text of the connection's `ca_file`.
    pub ca_pem: Option<String>,
}

/// The clock of the run.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    /// The start of the run.
    pub start: Instant,
    /// The wall clock at that moment, Unix milliseconds. Payload times are this plus the monotonic time since, so that a step of the wall
    /// clock moves no reading.
    pub wall_unix_ms_at_start: u64,
}

impl RunClock {
    /// Nanoseconds since the start of the run.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        link::nanoseconds(self.start.elapsed())
    }

    /// The wall clock, Unix nanoseconds, at a time since the start of the run.
    #[must_use]
    pub fn unix_ns(&self, at_ns: u64) -> u64 {
        self.wall_unix_ms_at_start * 1_000_000 + at_ns
    }
}

/// Something that a load has to say: an entry for the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadEvent(pub Entry);

/// A load that runs. Dropping it ends the load without waiting for acknowledgements.
#[derive(Debug)]
pub struct Running {
    commands: Sender<generator::Command>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a load; returns as soon as its thread runs. The schedule begins when all connections are up, or after five seconds without.
///
/// # Errors
/// A template, URL or certificate authority that cannot be used, or a schedule that is empty.
pub fn start(spec: &MqttLoad, clock: RunClock, out: Sender<LoadEvent>) -> Result<Running, String> {
    let (commands, inbox) = mpsc::channel();
    let generator =
        generator::Generator::new(spec, clock, out, inbox).map_err(|error| format!("load {}: {error}", spec.name))?;
    let thread = std::thread::Builder::new().name(format!("load {}", spec.name)).spawn(move || generator.run());
    let thread = thread.map_err(|error| format!("load {}: {error}", spec.name))?;
    Ok(Running { commands, thread: Some(thread) })
}

impl Running {
    /// Ends the present slice here; returns when it was sent. Before the schedule begins there is no slice to end.
    pub fn cut(&self) {
        let (done, wait) = mpsc::channel();
        if self.commands.send(generator::Command::Cut(done)).is_ok() {
            // An error means that the thread has ended; its last slice was sent before that.
            let _ = wait.recv();
        }
    }

    /// Stops offering, waits for the outstanding PUBACKs up to `ack_timeout`, sends the last slice, the ledger, what is in doubt and the
    /// schedule.
    ///
    /// # Errors
    /// When the load's thread had failed.
    pub fn stop(mut self) -> Result<(), String> {
        // An error means that the thread has ended; joining it says why.
        let _ = self.commands.send(generator::Command::Stop);
        let ended = self.thread.take().map_or(Ok(()), JoinHandle::join);
        ended.map_err(|_| "the generator's thread failed".to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = self.commands.send(generator::Command::Abandon);
            let _ = thread.join();
        }
    }
}
