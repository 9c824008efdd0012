//! The thread of a running load: one turn for each connection every two milliseconds, a slice every second.

use std::{
    sync::mpsc::{Receiver, Sender, TryRecvError},
    time::Duration,
};

use super::{
    LoadEvent, MqttLoad, RunClock,
    fleet::Layout,
    link::{Heard, Link, LinkPlan, nanoseconds},
    outlet::{Common, Outlet, in_words},
    pace::Schedule,
    tally::Tally,
    template::Envelope,
    value,
};
use crate::{
    plan::{fleet::Fleet, load::MqttPublish},
    record::entry::{self, Entry, Event, EventKind, InDoubt},
};

/// The length of a turn. Longer turns make larger writes and so cost less, of the broker too; shorter ones make readings less late.
const TURN: Duration = Duration::from_millis(2);

/// The length of a slice.
const SLICE_NS: u64 = 1_000_000_000;

/// How long the schedule waits for the first connections.
const FIRST_CONNECTIONS_NS: u64 = 5_000_000_000;

/// How many readings in doubt one entry holds.
const IN_DOUBT_PER_ENTRY: usize = 10_000;

/// What the owner of a load can ask for.
#[derive(Debug)]
pub(super) enum Command {
    /// End the slice, then say so.
    Cut(Sender<()>),
    /// Stop in good order.
    Stop,
    /// Stop at once.
    Abandon,
}

/// A load that is ready to run.
pub(super) struct Generator {
    name: String,
    plan: MqttPublish,
    fleet: Fleet,
    schedule: Schedule,
    envelope: Envelope,
    links: Vec<Link>,
    clock: RunClock,
    out: Sender<LoadEvent>,
    commands: Receiver<Command>,
}

impl Generator {
    pub(super) fn new(
        spec: &MqttLoad,
        clock: RunClock,
        out: Sender<LoadEvent>,
        commands: Receiver<Command>,
    ) -> Result<Self, String> {
        let plan = spec.plan.clone();
        if plan.catch_up.0 < 1.0 {
            return Err("a catch_up below 100% never keeps pace".to_owned());
        }
        let layout = Layout::new(&spec.fleet)?;
        let schedule = Schedule::new(layout.points(), plan.interval.0)?;
        let connections = u64::from(plan.connections.max(1)).min(layout.points());
        let envelope = Envelope::compile(&plan.topic, &plan.payload, plan.ts, layout)?;
        let shared =
            LinkPlan::new(&spec.mqtt, spec.ca_pem.as_deref(), &plan.reconnect, nanoseconds(plan.ack_timeout.0))?;
        let client_id = |number| format!("{}-{}-{number}", spec.mqtt.client_id, spec.name);
        let links = (0..connections).map(|number| Link::new(shared.clone(), client_id(number), number)).collect();
        Ok(Self {
            name: spec.name.clone(),
            plan,
            fleet: spec.fleet.clone(),
            schedule,
            envelope,
            links,
            clock,
            out,
            commands,
        })
    }

    /// Runs the load to its end.
    pub(super) fn run(mut self) {
        let early_end = self.connect();
        let start_ns = self.clock.now_ns();
        let window = u16::try_from(self.plan.inflight).unwrap_or(u16::MAX);
        let connections = self.links.len() as u64;
        let outlets = (0..)
            .zip(self.links)
            .map(|(number, link)| Outlet::new(number, link, window, self.schedule.lane(number, connections)))
            .collect();
        let common = Common {
            clock: self.clock,
            envelope: self.envelope,
            tally: Tally::new(&self.name, self.schedule, start_ns, self.clock.unix_ns(start_ns)),
            seed: value::seed_of(&self.name),
            start_ns,
            acknowledged: self.plan.qos > 0,
            retain: self.plan.retain,
            catch_up_permille: permille(self.plan.catch_up.0),
            ack_timeout_ns: nanoseconds(self.plan.ack_timeout.0),
            scratch: vec![0; 64 * 1024],
            heard: Heard::default(),
        };
        let run =
            Run { outlets, common, next_slice_ns: SLICE_NS, cpu_s: thread_cpu_s(), stopped_ns: None, out: self.out };
        let ending = Ending {
            load: self.name,
            interval_ns: self.schedule.interval_ns(),
            topic: self.plan.topic,
            fleet: self.fleet,
        };
        if early_end {
            return run.finish(ending);
        }
        run.run(&self.commands, ending);
    }

    /// Makes the first connections, so that their making is not lateness; says whether the load was stopped meanwhile.
    fn connect(&mut self) -> bool {
        let mut scratch = vec![0; 4096];
        let began_ns = self.clock.now_ns();
        loop {
            let now_ns = self.clock.now_ns();
            let mut all_up = true;
            for (number, link) in (0..).zip(&mut self.links) {
                let mut heard = Heard::default();
                link.receive(now_ns, &mut scratch, &mut heard);
                all_up &= link.is_up();
                for (kind, detail) in heard.changes.iter().filter_map(|change| in_words(number, change)) {
                    let at = Duration::from_nanos(now_ns).as_secs_f64();
                    let event = Event { at, kind, subject: self.name.clone(), detail };
                    // An error means that nobody listens any more; the commands will say so too.
                    let _ = self.out.send(LoadEvent(Entry::Event(event)));
                }
            }
            match self.commands.try_recv() {
                // No slice has begun; the one who asked may have given up waiting.
                Ok(Command::Cut(done)) => _ = done.send(()),
                Ok(Command::Stop | Command::Abandon) | Err(TryRecvError::Disconnected) => return true,
                Err(TryRecvError::Empty) => {}
            }
            if all_up || now_ns - began_ns > FIRST_CONNECTIONS_NS {
                return false;
            }
            std::thread::sleep(TURN);
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of at least 1 that a plan states")]
fn permille(share: f64) -> u64 {
    (share * 1000.0).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "numbers of connections")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// CPU seconds of this thread.
#[expect(clippy::cast_precision_loss, reason = "seconds and nanoseconds of a thread")]
pub(super) fn thread_cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// What the last entry needs.
struct Ending {
    load: String,
    interval_ns: u64,
    topic: String,
    fleet: Fleet,
}

/// A load that runs.
struct Run {
    outlets: Vec<Outlet>,
    common: Common,
    next_slice_ns: u64,
    cpu_s: f64,
    /// When the load was stopped; readings due later are not the load's.
    stopped_ns: Option<u64>,
    out: Sender<LoadEvent>,
}

impl Run {
    fn run(mut self, commands: &Receiver<Command>, ending: Ending) {
        let turn_ns = nanoseconds(TURN);
        let mut next_turn_ns = 0;
        loop {
            let now_ns = self.now_ns();
            match commands.try_recv() {
                Ok(Command::Cut(done)) => {
                    self.turn(now_ns);
                    self.cut();
                    // The one who asked may have given up waiting.
                    let _ = done.send(());
                }
                Ok(Command::Stop) => {
                    self.turn(now_ns);
                    self.stopped_ns.get_or_insert(now_ns);
                }
                Ok(Command::Abandon) | Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => self.turn(now_ns),
            }
            if self.is_over(now_ns) {
                break;
            }
            if now_ns >= self.next_slice_ns {
                self.cut();
                self.next_slice_ns = (now_ns / SLICE_NS + 1) * SLICE_NS;
            }
            let now_ns = self.now_ns();
            next_turn_ns = (next_turn_ns + turn_ns).max(now_ns);
            std::thread::sleep(Duration::from_nanos(next_turn_ns - now_ns));
        }
        self.finish(ending);
    }

    fn now_ns(&self) -> u64 {
        self.common.clock.now_ns().saturating_sub(self.common.start_ns)
    }

    fn turn(&mut self, now_ns: u64) {
        self.common.tally.turned(now_ns);
        let offer_until_ns = if self.stopped_ns.is_none() { Some(now_ns) } else { None };
        for outlet in &mut self.outlets {
            outlet.turn(now_ns, offer_until_ns, &mut self.common);
        }
        let full = self.outlets.iter().filter(|outlet| outlet.left_full()).count();
        self.common.tally.left_full(share(full, self.outlets.len()));
    }

    /// Whether the load was stopped and nothing more can come.
    fn is_over(&self, now_ns: u64) -> bool {
        self.stopped_ns.is_some_and(|stopped_ns| {
            now_ns.saturating_sub(stopped_ns) > self.common.ack_timeout_ns
                || self.outlets.iter().all(Outlet::is_settled)
        })
    }

    fn cut(&mut self) {
        let now_ns = self.now_ns();
        let in_flight = self.outlets.iter().map(Outlet::in_flight).sum();
        let cpu_s = thread_cpu_s();
        let used_s = cpu_s - std::mem::replace(&mut self.cpu_s, cpu_s);
        let due_ns = self.stopped_ns.unwrap_or(now_ns);
        for entry in self.common.tally.cut(now_ns, due_ns, in_flight, used_s) {
            self.send(entry);
        }
    }

    fn send(&self, entry: Entry) {
        // An error means that nobody listens any more; the commands will say so too.
        let _ = self.out.send(LoadEvent(entry));
    }

    fn finish(mut self, ending: Ending) {
        let now_ns = self.now_ns();
        self.stopped_ns.get_or_insert(now_ns);
        for outlet in &mut self.outlets {
            outlet.close(&mut self.common);
        }
        let unexpected: u64 = self.outlets.iter().map(Outlet::unexpected_acks).sum();
        if unexpected > 0 {
            let detail = format!("{unexpected} PUBACKs that no publish waited for; they were not counted");
            self.common.tally.event(now_ns, EventKind::Note, detail);
        }
        self.cut();
        let in_doubt: Vec<_> = self.outlets.iter().flat_map(|outlet| outlet.in_doubt(&self.common)).collect();
        for readings in in_doubt.chunks(IN_DOUBT_PER_ENTRY) {
            self.send(Entry::InDoubt(InDoubt { load: ending.load.clone(), readings: readings.to_vec() }));
        }
        self.send(Entry::Schedule(entry::Schedule {
            load: ending.load,
            start_unix_ns: self.common.clock.unix_ns(self.common.start_ns),
            interval_ns: ending.interval_ns,
            seed: self.common.seed,
            topic: ending.topic,
            fleet: ending.fleet,
            offered: self.outlets.iter().map(Outlet::offered).collect(),
        }));
    }
}
