//! A world in virtual time, for the interpreter's own tests: whole ladders run in milliseconds and under any seed.
//!
//! It models a target by a few numbers ([`Model`]): how many rows it stores per second, how long a list takes per point, what it loses. Only
//! time and the target are made up; the plan, the interpreter, the record, the measures and the judge are the real ones.
//! Calls that make no sense at their moment (a load on a target that is down, a process taken down twice) panic.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "virtual seconds and counts are small"
)]

use std::collections::{BTreeSet, VecDeque};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{
    subjects::subjects,
    virtual_load::Publishing,
    world::{Answer, Call, Failure, Happening, TakeDown, Ticket, World},
};
use crate::{
    judge::live_safety::LiveLook,
    measure::histogram::Latencies,
    plan::{checked::CellPlan, load::Load, watch::Watch},
    record::entry::{CanaryReading, Entry, Ledger, Sample, Subject},
};

/// What the target and the generator are like.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Rows that it stores per second at the most.
    pub(super) stored_per_s: f64,
    /// Seconds that a list takes for each point.
    pub(super) list_s_per_point: f64,
    /// Of the acknowledged readings of a second, each one of this many is lost; none when 0.
    pub(super) lost_one_in: usize,
    /// What counts as lost comes so long after the end of the load, seconds; never when none.
    pub(super) late_s: Option<f64>,
    /// The share of the due readings that the generator manages.
    pub(super) offered_share: f64,
    /// Latency of the live system while a load runs, seconds.
    pub(super) live_latency_s: f64,
    /// The user asks to stop at these times.
    pub(super) interrupted_at: Vec<f64>,
    /// The call that does not work, by its name.
    pub(super) broken: Option<&'static str>,
    /// The seed of all jitter.
    pub(super) seed: u64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            stored_per_s: 1e9,
            list_s_per_point: 0.5e-6,
            lost_one_in: 0,
            late_s: None,
            offered_share: 1.0,
            live_latency_s: 0.01,
            interrupted_at: Vec::new(),
            broken: None,
            seed: 1,
        }
    }
}

/// A watch that runs.
struct Sampling {
    name: String,
    next: f64,
    every: f64,
    number: u64,
    quiet: bool,
}

pub(super) struct VirtualWorld {
    pub(super) model: Model,
    pub(super) chance: ChaCha8Rng,
    now: f64,
    tickets: u64,
    answers: Vec<(f64, Ticket, Result<Answer, Failure>)>,
    entries: VecDeque<Entry>,
    plan: Option<CellPlan>,
    pub(super) load: Option<Publishing>,
    samplings: Vec<Sampling>,
    /// Canary readings that are under way.
    canaries: Vec<CanaryReading>,
    interruptions: u32,
    target_up: bool,
    down: BTreeSet<String>,
    histogram: String,
    /// Every call that was made, by its name.
    pub(super) calls: Vec<String>,
    /// Acknowledged readings that the store had lost when it was last compared.
    pub(super) lost: u64,
}

/// The wall clock at the start of a virtual run, Unix seconds.
const WALL_S: u64 = 1_700_000_000;

impl VirtualWorld {
    pub(super) fn new(model: Model) -> Self {
        let mut chance = ChaCha8Rng::seed_from_u64(model.seed);
        let mut latencies = Latencies::new();
        (0..50).for_each(|_| latencies.record(500 + chance.random_range(0..1_000)));
        Self {
            chance,
            model,
            now: 0.0,
            tickets: 0,
            answers: Vec::new(),
            entries: VecDeque::new(),
            plan: None,
            load: None,
            samplings: Vec::new(),
            canaries: Vec::new(),
            interruptions: 0,
            target_up: false,
            down: BTreeSet::new(),
            histogram: latencies.encode(),
            calls: Vec::new(),
            lost: 0,
        }
    }

    /// What still runs or is down.
    pub(super) fn left_over(&self) -> Vec<String> {
        let load = self.running().map(|_| "a load".to_owned());
        let watches = self.samplings.iter().map(|sampling| sampling.name.clone());
        let target = self.target_up.then(|| "the target".to_owned());
        load.into_iter().chain(watches).chain(target).chain(self.down.iter().cloned()).collect()
    }

    /// What is down.
    pub(super) fn is_down(&self) -> bool {
        !self.down.is_empty()
    }

    /// Whether the target is up.
    pub(super) fn target_is_up(&self) -> bool {
        self.target_up
    }

    pub(super) fn plan(&self) -> &CellPlan {
        self.plan.as_ref().expect("a plan is in use before anything else is asked")
    }

    pub(super) fn points(&self) -> u64 {
        self.plan().fleet.as_ref().map_or(0, |fleet| fleet.points.0)
    }

    fn running(&self) -> Option<&Publishing> {
        self.load.as_ref().filter(|load| load.ended.is_none())
    }

    /// Rows that the store holds now: what was acknowledged, as fast as it can.
    pub(super) fn stored(&self) -> u64 {
        let Some(load) = &self.load else { return 0 };
        ((self.now - load.began) * self.model.stored_per_s).min(load.acked() as f64) as u64
    }

    /// Seconds that a reading needs that is published now.
    fn lag_s(&mut self) -> f64 {
        let jitter = self.chance.random::<f64>() * 0.02;
        let behind = self.running().map_or(0.0, |load| {
            (load.rate * self.model.offered_share - self.model.stored_per_s).max(0.0) * (self.now - load.began)
        });
        0.02 + jitter + behind / self.model.stored_per_s
    }

    /// Ends the present slice.
    fn cut(&mut self) {
        let now = self.now;
        let Some(load) = self.load.as_mut().filter(|load| load.ended.is_none() && load.cut < now) else { return };
        let (mut slice, seconds) = load.advance(now);
        let name = slice.load.clone();
        for lag in [&mut slice.schedule_lag, &mut slice.ack_service, &mut slice.ack_response] {
            lag.clone_from(&self.histogram);
        }
        self.entries.push_back(Entry::Slice(slice));
        self.entries.push_back(Entry::Ledger(Ledger { load: name, seconds }));
    }

    /// Everything that happens by itself at this moment.
    fn tick(&mut self) {
        for index in 0..self.samplings.len() {
            while self.samplings[index].next <= self.now {
                self.sample(index);
            }
        }
        let now = self.now;
        let (seen, waiting) = std::mem::take(&mut self.canaries).into_iter().partition(|canary| due(canary) <= now);
        self.canaries = waiting;
        self.entries.extend(Vec::into_iter(seen).map(Entry::Canary));
        if self.running().is_some_and(|load| load.cut + 1.0 <= now) {
            self.cut();
        }
    }

    fn sample(&mut self, index: usize) {
        let lag = self.lag_s();
        let now = self.now;
        let sampling = &mut self.samplings[index];
        sampling.next += sampling.every;
        let plan = self.plan.as_ref().expect("a plan is in use");
        if let Some(Watch::Canary(canary)) = plan.watches.get(&sampling.name).map(|watch| &watch.watch) {
            if !sampling.quiet {
                sampling.number += 1;
                let seen = (lag <= canary.lost_after.as_secs_f64()).then_some(now + lag);
                let (canary, number) = (sampling.name.clone(), sampling.number);
                self.canaries.push(CanaryReading { canary, number, published: now, seen });
            }
        } else if let Some(Subject::Series { names, .. }) = subjects(plan).get(&sampling.name) {
            let values = names.iter().map(|name| (name.clone(), 1.0)).collect();
            let watch = sampling.name.clone();
            self.entries.push_back(Entry::Sample(Sample { at: now, watch, values, gaps: indexmap::IndexMap::new() }));
        }
    }

    /// The next moment at which something happens by itself.
    fn next_moment(&self) -> f64 {
        let samples = self.samplings.iter().map(|sampling| sampling.next);
        let answers = self.answers.iter().map(|(at, ..)| *at);
        let canaries = self.canaries.iter().map(due);
        let slice = self.running().map(|load| load.cut + 1.0);
        let stop = self.model.interrupted_at.first().copied();
        samples.chain(answers).chain(canaries).chain(slice).chain(stop).fold(f64::INFINITY, f64::min)
    }

    fn answer(&mut self, call: Call) -> (f64, Result<Answer, Failure>) {
        let number = |number| (0.001, Ok(Answer::Number(number)));
        match call {
            Call::Query(name) => number(self.number(&name)),
            Call::CanaryUnseen(name) => {
                number(self.canaries.iter().filter(|canary| canary.canary == name).count() as f64)
            }
            Call::Rows { statement, .. } => {
                (0.01, Ok(Answer::Rows { rows: self.stored_rows(&statement), seconds: 0.01 }))
            }
            Call::Request(request) => self.response(&request),
            Call::Command { .. } => {
                (0.1, Ok(Answer::Output { status: 0, stdout: String::new(), stderr: String::new(), seconds: 0.1 }))
            }
            Call::Publish { .. } => {
                let messages = self.points();
                (0.5, Ok(Answer::Published { messages, acked: messages, seconds: 0.5 }))
            }
            Call::TakeDown { service, how } => {
                assert!(self.target_up && self.down.insert(service), "it is down already");
                let ended = (how != TakeDown::Pause).then(|| "signal 9".to_owned());
                (0.01, Ok(Answer::Down { at: self.now + 0.01, pid: 10, ended, proven: true }))
            }
            Call::BringBack { service, .. } => {
                assert!(self.target_up, "its target is gone");
                self.down.remove(&service);
                (0.2, Ok(Answer::Up { at: self.now, ready_at: Some(self.now + 0.2), pid: 11 }))
            }
            Call::SampleLive => {
                let latency_s = if self.running().is_some() { self.model.live_latency_s } else { 0.01 };
                let look = LiveLook { latency_s: Some(Ok(latency_s)), load_per_cpu: 0.5, disk_free_bytes: 1 << 40 };
                (0.01, Ok(Answer::Live(look)))
            }
            call => (self.switch(call), Ok(Answer::Done)),
        }
    }

    /// Starts or stops something; how long that takes.
    fn switch(&mut self, call: Call) -> f64 {
        match call {
            Call::UsePlan(plan) => self.plan = Some(*plan),
            Call::StartTarget { .. } => {
                assert!(self.running().is_none() && self.samplings.is_empty(), "started under what watches it");
                (self.target_up, self.load) = (true, None);
                return 0.3;
            }
            Call::StopTarget => {
                (self.target_up, self.load) = (false, None);
                self.down.clear();
            }
            Call::StartLoad(name) => self.start_load(&name),
            Call::StopLoad(_) => {
                self.cut();
                let now = self.now;
                let Some(load) = self.load.as_mut().filter(|load| load.ended.is_none()) else { return 0.01 };
                load.ended = Some(now);
                let schedule = load.schedule();
                self.entries.push_back(Entry::Schedule(schedule));
            }
            Call::CutSlices => self.cut(),
            Call::StartWatch(name) => {
                let every = self.plan().watches[&name].every.as_secs_f64();
                assert!(!self.samplings.iter().any(|sampling| sampling.name == name), "it runs already");
                self.samplings.push(Sampling { name, next: self.now, every, number: 0, quiet: false });
            }
            Call::QuietCanary(name) => {
                self.samplings.iter_mut().filter(|sampling| sampling.name == name).for_each(|it| it.quiet = true);
            }
            Call::StopWatch(name) => {
                self.samplings.retain(|sampling| sampling.name != name);
                let lost = self.canaries.extract_if(.., |canary| canary.canary == name);
                self.entries.extend(lost.map(|canary| Entry::Canary(CanaryReading { seen: None, ..canary })));
            }
            Call::Preflight { .. } => assert!(self.target_up, "nothing can be sent to a target that is down"),
            Call::Execute { .. } => return 0.1,
            _ => {}
        }
        0.01
    }

    fn start_load(&mut self, name: &str) {
        assert!(self.target_up && self.running().is_none(), "a load needs a target, and runs once");
        let plan = self.plan();
        let (Load::MqttPublish(publish), Some(fleet)) = (&plan.loads[name], &plan.fleet) else {
            panic!("the virtual world knows no load but that of a fleet")
        };
        let wall_ns = WALL_S * 1_000_000_000 + (self.now * 1e9) as u64;
        let load = Publishing::new(name, publish, fleet, self.now, wall_ns, self.model.offered_share);
        self.load = Some(load);
    }
}

/// When a canary reading's fate is known.
fn due(canary: &CanaryReading) -> f64 {
    canary.seen.unwrap_or(canary.published + 30.0)
}

impl World for VirtualWorld {
    fn now(&self) -> f64 {
        self.now
    }

    fn call(&mut self, call: Call) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let name: String = format!("{call:?}").chars().take_while(|c| c.is_alphabetic()).collect();
        let broken = self.model.broken == Some(name.as_str());
        self.calls.push(name);
        let (delay, answer) = if broken {
            (0.01, Err(Failure::Failed("the virtual world says no".to_owned())))
        } else {
            self.answer(call)
        };
        self.answers.push((self.now + delay, ticket, answer));
        ticket
    }

    fn wait(&mut self, until: f64) -> Happening {
        loop {
            if let Some(entry) = self.entries.pop_front() {
                return Happening::Entry(entry);
            }
            if self.model.interrupted_at.first().is_some_and(|at| *at <= self.now) {
                self.model.interrupted_at.remove(0);
                self.interruptions += 1;
                return Happening::Interrupted(self.interruptions);
            }
            if let Some(index) = self.answers.iter().position(|(at, ..)| *at <= self.now) {
                let (_, ticket, answer) = self.answers.remove(index);
                return Happening::Answer(ticket, answer);
            }
            if self.now >= until {
                return Happening::Time;
            }
            self.now = self.next_moment().min(until).max(self.now);
            self.tick();
        }
    }
}
