//! A world in virtual time, for the interpreter's own tests: whole ladders run in milliseconds and under any seed.
//!
//! It models a target by a few numbers ([`Model`]): how many rows it stores per second, how long a list takes per point, what it loses. Only
//! time and the target are made up; the plan, the interpreter, the record, the measures and the judge are the real ones.

use std::collections::{BTreeMap, VecDeque};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::world::{Answer, Call, Datum, Failure, Happening, Request, TakeDown, Ticket, World};
use crate::{
    judge::live_safety::LiveLook,
    measure::histogram::Latencies,
    plan::{checked::CellPlan, load::Load, probe::Probe, watch::Watch},
    record::entry::{CanaryReading, Entry, Event, EventKind, Ledger, Reading, Sample, Second, Slice},
};

/// What the target is like.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// Rows that it stores per second at the most.
    pub(crate) stored_per_s: f64,
    /// Seconds that a list takes for each point.
    pub(crate) list_s_per_point: f64,
    /// One in this many acknowledged readings is lost; none when 0.
    pub(crate) lost_one_in: u64,
    /// The share of the due readings that the generator manages.
    pub(crate) offered_share: f64,
    /// Latency of the live system while a load runs, seconds.
    pub(crate) live_latency_s: f64,
    /// The user asks to stop at these times.
    pub(crate) interrupted_at: Vec<f64>,
    /// The seed of all jitter.
    pub(crate) seed: u64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            stored_per_s: 1e9,
            list_s_per_point: 1e-6,
            lost_one_in: 0,
            offered_share: 1.0,
            live_latency_s: 0.01,
            interrupted_at: Vec::new(),
            seed: 1,
        }
    }
}

struct Publishing {
    name: String,
    began: f64,
    cut: f64,
    rate: f64,
}

struct Sampling {
    name: String,
    next: f64,
    every: f64,
    number: u64,
}

pub(crate) struct VirtualWorld {
    model: Model,
    chance: ChaCha8Rng,
    now: f64,
    tickets: u64,
    answers: Vec<(f64, Ticket, Result<Answer, Failure>)>,
    entries: VecDeque<Entry>,
    plan: Option<CellPlan>,
    load: Option<Publishing>,
    ledger: BTreeMap<i64, Second>,
    samplings: Vec<Sampling>,
    interruptions: u32,
    /// Every call that was made, by its first word; the tests read it.
    pub(crate) calls: Vec<String>,
}

/// The wall clock at the start of a virtual run, Unix seconds.
const WALL_S: i64 = 1_000_000;

impl VirtualWorld {
    pub(crate) fn new(model: Model) -> Self {
        Self {
            chance: ChaCha8Rng::seed_from_u64(model.seed),
            model,
            now: 0.0,
            tickets: 0,
            answers: Vec::new(),
            entries: VecDeque::new(),
            plan: None,
            load: None,
            ledger: BTreeMap::new(),
            samplings: Vec::new(),
            interruptions: 0,
            calls: Vec::new(),
        }
    }

    fn points(&self) -> f64 {
        self.plan.as_ref().and_then(|plan| plan.fleet.as_ref()).map_or(0.0, |fleet| fleet.points.0 as f64)
    }

    fn acked(&self) -> u64 {
        self.ledger.values().map(|second| second.acked).sum()
    }

    /// What the store holds now: everything that was acknowledged, as fast as it can, less what it loses.
    fn stored(&self) -> f64 {
        let began = self.load.as_ref().map_or(0.0, |load| load.began);
        let kept = self.acked() - self.acked().checked_div(self.model.lost_one_in).unwrap_or(0);
        (kept as f64).min(self.model.stored_per_s * (self.now - began))
    }

    /// Seconds that the store lags behind.
    fn lag_s(&mut self) -> f64 {
        let jitter = self.chance.random::<f64>() * 0.02;
        let Some(load) = &self.load else { return 0.02 + jitter };
        let behind = (load.rate - self.model.stored_per_s).max(0.0) * (self.now - load.began);
        0.02 + jitter + behind / self.model.stored_per_s
    }

    /// Ends the present slice: what the load did since the last one.
    fn cut(&mut self) {
        let Some(load) = &mut self.load else { return };
        let (from, to) = (load.cut, self.now);
        let count = |at: f64, rate: f64| (rate * (at - load.began)) as u64;
        let due = count(to, load.rate) - count(from, load.rate);
        let shared = load.rate * self.model.offered_share;
        let offered = count(to, shared) - count(from, shared);
        load.cut = to;
        let mut lag = Latencies::new();
        (0..offered.min(400)).for_each(|_| lag.record(500 + self.chance.random_range(0..1_000)));
        let (name, lag) = (load.name.clone(), lag.encode());
        let second = WALL_S + to as i64;
        let entry = self.ledger.entry(second).or_insert(Second { second, ..Second::default() });
        entry.due += due;
        entry.offered += offered;
        entry.acked += offered;
        let changed = *entry;
        self.entries.push_back(Entry::Slice(Slice {
            load: name.clone(),
            from,
            to,
            due,
            offered,
            acked: offered,
            backlog: due - offered,
            cpu_s: 0.01 * (to - from),
            schedule_lag: lag.clone(),
            ack_service: lag.clone(),
            ack_response: lag,
            ..Slice::default()
        }));
        self.entries.push_back(Entry::Ledger(Ledger { load: name, seconds: vec![changed] }));
    }

    /// Watches whose time has come.
    fn sample(&mut self) {
        let plan = self.plan.clone();
        let Some(plan) = plan else { return };
        let lag = self.lag_s();
        let now = self.now;
        for sampling in &mut self.samplings {
            if sampling.next > now {
                continue;
            }
            sampling.next += sampling.every;
            sampling.number += 1;
            let Some(watch) = plan.watches.get(&sampling.name) else { continue };
            let entry = if let Watch::Canary(_) = watch.watch {
                let seen = Some(now + lag);
                Entry::Canary(CanaryReading { canary: sampling.name.clone(), number: sampling.number, published: now, seen })
            } else {
                let names = series_names(&plan, &sampling.name);
                let values = names.into_iter().map(|name| (name, 1.0)).collect();
                Entry::Sample(Sample { at: now, watch: sampling.name.clone(), values, gaps: indexmap::IndexMap::new() })
            };
            self.entries.push_back(entry);
        }
        if self.load.as_ref().is_some_and(|load| now - load.cut >= 1.0) {
            self.cut();
        }
    }

    /// The next moment at which something happens by itself.
    fn next_moment(&self) -> f64 {
        let samples = self.samplings.iter().map(|sampling| sampling.next);
        let answers = self.answers.iter().map(|(at, ..)| *at);
        let slice = self.load.iter().map(|load| load.cut + 1.0);
        let stop = self.model.interrupted_at.iter().copied().take(1);
        samples.chain(answers).chain(slice).chain(stop).fold(f64::INFINITY, f64::min)
    }

    fn answer(&mut self, call: Call) -> (f64, Result<Answer, Failure>) {
        let done = Ok(Answer::Done);
        match call {
            Call::UsePlan(plan) => {
                self.plan = Some(*plan);
                (0.0, done)
            }
            Call::StartTarget { .. } => {
                self.ledger.clear();
                (0.3, done)
            }
            Call::StartLoad(name) => {
                let interval = match self.plan.as_ref().and_then(|plan| plan.loads.get(&name)) {
                    Some(Load::MqttPublish(publish)) => publish.interval.as_secs_f64(),
                    _ => 1.0,
                };
                let rate = self.points() / interval;
                self.load = Some(Publishing { name, began: self.now, cut: self.now, rate });
                (0.0, done)
            }
            Call::StopLoad(_) => {
                self.cut();
                self.load = None;
                (0.0, done)
            }
            Call::CutSlices => {
                self.cut();
                (0.0, done)
            }
            Call::StartWatch(name) => {
                let every = self.plan.as_ref().map_or(1.0, |plan| plan.watches[&name].every.as_secs_f64());
                self.samplings.push(Sampling { name, next: self.now, every, number: 0 });
                (0.0, done)
            }
            Call::StopWatch(name) | Call::QuietCanary(name) => {
                self.samplings.retain(|sampling| sampling.name != name);
                (0.0, done)
            }
            Call::Query(name) => (0.001, Ok(Answer::Number(self.number(&name)))),
            Call::CanaryUnseen(_) => (0.001, Ok(Answer::Number(0.0))),
            Call::Rows { .. } => (0.01, Ok(Answer::Rows { rows: self.stored_rows(), seconds: 0.01 })),
            Call::Request(request) => self.response(&request),
            Call::Command { .. } => {
                (0.1, Ok(Answer::Output { status: 0, stdout: String::new(), stderr: String::new(), seconds: 0.1 }))
            }
            Call::Publish { .. } => {
                let messages = self.points() as u64;
                (0.5, Ok(Answer::Published { messages, acked: messages, seconds: 0.5 }))
            }
            Call::TakeDown { how, .. } => {
                let ended = (how != TakeDown::Pause).then(|| "signal 9".to_owned());
                (0.01, Ok(Answer::Down { at: self.now + 0.01, pid: 10, ended, proven: true }))
            }
            Call::BringBack { .. } => {
                (0.2, Ok(Answer::Up { at: self.now, ready_at: Some(self.now + 0.2), pid: 11 }))
            }
            Call::SampleLive => {
                let latency_s = if self.load.is_some() { self.model.live_latency_s } else { 0.01 };
                let look = LiveLook { latency_s: Some(Ok(latency_s)), load_per_cpu: 0.5, disk_free_bytes: 1 << 40 };
                (0.01, Ok(Answer::Live(look)))
            }
            Call::Preflight { .. } | Call::Execute { .. } | Call::StopTarget => (0.01, done),
        }
    }

    fn number(&self, query: &str) -> f64 {
        match query {
            "preflight_rows" => 1.0,
            "points_tagged" => self.points(),
            "rows_stored" => self.stored(),
            other => panic!("the virtual world knows no query {other}"),
        }
    }

    /// The rows of each payload second; what is lost is missing from the first one.
    fn stored_rows(&self) -> Vec<Vec<Datum>> {
        let mut lost = self.acked().checked_div(self.model.lost_one_in).unwrap_or(0);
        let mut rows = Vec::new();
        for second in self.ledger.values() {
            let gone = lost.min(second.acked);
            lost -= gone;
            let kept = i64::try_from(second.acked - gone).expect("few rows");
            rows.push(vec![Datum::Integer(second.second), Datum::Integer(kept), Datum::Real(0.0)]);
        }
        rows
    }

    fn response(&mut self, request: &Request) -> (f64, Result<Answer, Failure>) {
        let seconds = 0.002 + self.points() * self.model.list_s_per_point * (0.95 + self.chance.random::<f64>() * 0.1);
        let list = self.plan.iter().flat_map(|plan| plan.probes.values()).any(|probe| match &probe.probe {
            Probe::Http(http) => http.path == request.path && http.expect.rows.is_some(),
            _ => false,
        });
        let body = if list {
            format!("[{}]", vec!["1"; self.points() as usize].join(",")).into_bytes()
        } else {
            br#"{"ok":true}"#.to_vec()
        };
        let seconds = if list { seconds } else { 0.002 };
        (seconds, Ok(Answer::Response { status: 200, body, seconds }))
    }
}

fn series_names(plan: &CellPlan, watch: &str) -> Vec<String> {
    match super::subjects::subjects(plan).get(watch) {
        Some(crate::record::entry::Subject::Series { names, .. }) => names.clone(),
        _ => Vec::new(),
    }
}

impl World for VirtualWorld {
    fn now(&self) -> f64 {
        self.now
    }

    fn call(&mut self, call: Call) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.calls.push(format!("{call:?}").chars().take_while(|c| c.is_alphabetic()).collect());
        let (delay, answer) = self.answer(call);
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
            self.sample();
        }
    }
}

