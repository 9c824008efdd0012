//! The port between the interpreter and the world. Everything that touches a file, a socket, a process or a clock is a [`Call`];
//! everything that comes back is a [`Happening`]. The interpreter runs unchanged in the real world and in a virtual one.

use std::time::Duration;

use serde_json::Value;

use crate::{
    judge::live_safety::LiveLook,
    plan::{checked::CellPlan, phase::Signal, probe::Method},
    record::entry::Entry,
};

/// Names one call, so that its answer can be told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// The world as the interpreter sees it.
pub trait World {
    /// Seconds since the start of the run, monotonic.
    fn now(&self) -> f64;

    /// Begins a call and returns at once; its answer arrives through [`World::wait`].
    fn call(&mut self, call: Call) -> Ticket;

    /// Returns the next thing that happens, or [`Happening::Time`] once `now` has reached `until`.
    fn wait(&mut self, until: f64) -> Happening;
}

/// The next thing that happened.
#[derive(Debug)]
pub enum Happening {
    /// The time that was waited for has come.
    Time,
    /// Something to be journaled: a sample, a slice, a canary, an event.
    Entry(Entry),
    /// A call was answered.
    Answer(Ticket, Result<Answer, Failure>),
    /// The user asked to stop, for the n-th time.
    Interrupted(u32),
    /// A part of scaler itself failed, in words; what it should have done may be missing from now on.
    Defect(String),
}

/// Why a call could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The target must not or cannot be used (a port that something else holds, a server that does not start): exit code 4.
    Refused(String),
    /// It was tried and did not work.
    Failed(String),
}

impl Call {
    /// Whether it gives something back that was taken: that is waited for even by a user who asked twice to stop.
    #[must_use]
    pub fn gives_back(&self) -> bool {
        matches!(self, Self::BringBack { .. } | Self::StopTarget)
    }
}

impl Failure {
    /// The reason in words.
    #[must_use]
    pub fn reason(&self) -> &str {
        let (Self::Refused(reason) | Self::Failed(reason)) = self;
        reason
    }
}

/// What the interpreter can ask for. All texts are filled; names refer to the plan of the last [`Call::UsePlan`].
#[derive(Clone, Debug)]
pub enum Call {
    /// Use this plan from now on. Answer: [`Answer::Done`].
    UsePlan(Box<CellPlan>),
    /// Start the target if it is not running; `fresh` stops it and empties its folders first. Answer: [`Answer::Done`].
    StartTarget {
        /// Begin with empty working folders.
        fresh: bool,
    },
    /// Stop the target. Answer: [`Answer::Done`].
    StopTarget,
    /// Start a load. Answer: [`Answer::Done`].
    StartLoad(String),
    /// Stop a load and wait for the outstanding PUBACKs; its last slice, its ledger and what is in doubt are entries before the answer.
    /// Answer: [`Answer::Done`].
    StopLoad(String),
    /// Start a watch or canary. Answer: [`Answer::Done`].
    StartWatch(String),
    /// Stop a watch or canary; canary readings that were not seen are entries before the answer. Answer: [`Answer::Done`].
    StopWatch(String),
    /// A canary publishes no more and goes on looking for the readings that are still unseen. Answer: [`Answer::Done`].
    QuietCanary(String),
    /// End the present slice of every running load here, at a window's edge; the slices are entries before the answer. Answer: [`Answer::Done`].
    CutSlices,
    /// Read a query's number. Answer: [`Answer::Number`].
    Query(String),
    /// Read a canary's outstanding readings. Answer: [`Answer::Number`].
    CanaryUnseen(String),
    /// Read rows. Answer: [`Answer::Rows`].
    Rows {
        /// A `postgres` or `sqlite` connection.
        connection: String,
        /// The statement.
        statement: String,
    },
    /// Run a statement for its effect. Answer: [`Answer::Done`].
    Execute {
        /// A `postgres` connection.
        connection: String,
        /// The statement.
        statement: String,
    },
    /// Make a request. Answer: [`Answer::Response`].
    Request(Request),
    /// Run a command to its end. Answer: [`Answer::Output`].
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// How long it may take; then it is killed and the call fails.
        within: Duration,
    },
    /// Send messages of the fleet and wait for every PUBACK. Answer: [`Answer::Published`].
    Publish {
        /// An `mqtt` connection.
        connection: String,
        /// The messages, by name.
        messages: Vec<String>,
    },
    /// Publish one reading of a load's shape on each of its connections' accounts, to a topic of its own. Answer: [`Answer::Done`].
    Preflight {
        /// The load.
        load: String,
        /// The topic.
        topic: String,
    },
    /// Take a process of the target down. Answer: [`Answer::Down`].
    TakeDown {
        /// The process.
        service: String,
        /// How.
        how: TakeDown,
    },
    /// Bring a process back and wait until it is ready; one that runs already is only waited for. Answer: [`Answer::Up`].
    BringBack {
        /// The process.
        service: String,
        /// How long readiness may take.
        within: Duration,
    },
    /// Read what a process of the target printed since it was last started. Answer: [`Answer::Text`].
    Log {
        /// The process.
        service: String,
    },
    /// Subscribe anew and count the retained messages that come. Answer: [`Answer::Retained`].
    Retained {
        /// An `mqtt` connection.
        connection: String,
        /// The topic filter.
        topics: String,
        /// Wait for so many; without it until no more come.
        wanted: Option<u64>,
        /// How long they are waited for.
        within: Duration,
    },
    /// Compare what else is on the engine of a `compose` target with what was there before the target was started; what differs is
    /// journaled before the answer. Answer: [`Answer::Done`].
    CompareOthers,
    /// Read what live-safety watches. Answer: [`Answer::Live`].
    SampleLive,
}

/// How a process is taken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeDown {
    /// By a signal that ends it.
    Kill(Signal),
    /// In its own way.
    Stop,
    /// By a signal from scaler itself to the container's process on the host; its restart policy brings it back.
    KillByHost(Signal),
    /// By SIGSTOP, or by the engine's freezer.
    Pause,
    /// Cut off its networks.
    Disconnect,
}

impl TakeDown {
    /// The words of the record: `kill SIGKILL`, `stop`, ….
    #[must_use]
    pub fn words(self) -> String {
        let name = |signal: Signal| format!("{signal:?}").to_uppercase();
        match self {
            Self::Kill(signal) => format!("kill {}", name(signal)),
            Self::KillByHost(signal) => format!("kill {} by host pid", name(signal)),
            Self::Stop => "stop".to_owned(),
            Self::Pause => "pause".to_owned(),
            Self::Disconnect => "disconnect".to_owned(),
        }
    }

    /// Whether the same process goes on afterwards.
    #[must_use]
    pub fn keeps_process(self) -> bool {
        matches!(self, Self::Pause | Self::Disconnect)
    }
}

/// An HTTP request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// An `http` connection.
    pub connection: String,
    /// The method.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The JSON body.
    pub body: Option<Value>,
}

/// What comes back from a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It is done.
    Done,
    /// A number.
    Number(f64),
    /// Rows, and how long they took in seconds.
    Rows {
        /// The rows.
        rows: Vec<Vec<Datum>>,
        /// Seconds.
        seconds: f64,
    },
    /// An HTTP answer.
    Response {
        /// The status.
        status: u16,
        /// The body.
        body: Vec<u8>,
        /// Seconds from the first byte sent to the last byte read.
        seconds: f64,
    },
    /// A command ended.
    Output {
        /// The exit status, or 128 + the signal.
        status: i32,
        /// Standard output, at most 1 MiB of it.
        stdout: String,
        /// The last lines of standard error.
        stderr: String,
        /// Seconds from spawn to exit.
        seconds: f64,
    },
    /// Messages were sent.
    Published {
        /// Written.
        messages: u64,
        /// Acknowledged.
        acked: u64,
        /// Seconds until the last PUBACK.
        seconds: f64,
    },
    /// A process is down.
    Down {
        /// The time.
        at: f64,
        /// Its identifier before.
        pid: u32,
        /// How it ended; none for a pause.
        ended: Option<String>,
        /// Whether that is proven.
        proven: bool,
    },
    /// A process is up again.
    Up {
        /// When it was started or thawed.
        at: f64,
        /// When it was ready; none when it was not in time.
        ready_at: Option<f64>,
        /// Its identifier.
        pid: u32,
    },
    /// What was printed.
    Text(String),
    /// Retained messages came.
    Retained {
        /// How many.
        messages: u64,
        /// When the last of them was there.
        at: f64,
    },
    /// What live-safety looks at.
    Live(LiveLook),
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
}

impl Datum {
    /// The value as a finite number, if it is one or reads like one.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts and Unix seconds stay below 2^53")]
    pub fn number(&self) -> Option<f64> {
        let number = match self {
            Self::Null => None,
            Self::Integer(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
        };
        number.filter(|number| number.is_finite())
    }
}
