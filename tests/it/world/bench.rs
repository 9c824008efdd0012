//! A world, a plan to use in it, and what came back.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use indexmap::IndexMap;
use scaler::{
    load::RunClock,
    plan::{
        checked::{CellPlan, CheckedWatch},
        connection::ConnectionTable,
        query::QueryTable,
        target::TargetTable,
        watch::WatchTable,
    },
    record::entry::{Entry, Event, EventKind, Sample},
    run::{
        real::{RealWorld, RealWorldConfig},
        world::{Answer, Call, Failure, Happening, World},
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take before a test gives up.
pub(crate) const LIMIT: Duration = Duration::from_mins(1);

/// A world with its folders; entries that came in are kept.
pub(crate) struct Bench {
    pub(crate) world: RealWorld,
    pub(crate) entries: Vec<Entry>,
    pub(crate) home: TempDir,
}

/// The folder of the target inside a home.
pub(crate) fn target_folder(home: &Path) -> PathBuf {
    home.join("target")
}

pub(crate) fn world_in(home: &Path) -> RealWorld {
    RealWorld::start(RealWorldConfig {
        scaler: env!("CARGO_BIN_EXE_scaler").into(),
        folder: target_folder(home),
        plan_folder: home.to_owned(),
        host_cpus: 2,
        clock: RunClock { start: Instant::now(), wall_unix_ms_at_start: jiff_ms() },
        live_check: true,
    })
    .unwrap()
}

fn jiff_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

impl Bench {
    pub(crate) fn new(plan: &Value) -> Self {
        Self::in_home(tempfile::tempdir().unwrap(), plan)
    }

    pub(crate) fn in_home(home: TempDir, plan: &Value) -> Self {
        let mut bench = Self { world: world_in(home.path()), entries: Vec::new(), home };
        bench.done(Call::UsePlan(Box::new(cell(plan))));
        bench
    }

    pub(crate) fn folder(&self) -> PathBuf {
        target_folder(self.home.path())
    }

    /// Makes a call and waits for its answer.
    pub(crate) fn call(&mut self, call: Call) -> Result<Answer, Failure> {
        let ticket = self.world.call(call);
        let deadline = self.world.now() + LIMIT.as_secs_f64();
        loop {
            match self.world.wait(deadline) {
                Happening::Entry(entry) => self.entries.push(entry),
                Happening::Answer(answered, answer) if answered == ticket => return answer,
                other => panic!("{other:?} instead of an answer"),
            }
        }
    }

    pub(crate) fn done(&mut self, call: Call) {
        assert_eq!(self.call(call).unwrap(), Answer::Done);
    }

    pub(crate) fn refused(&mut self, call: Call) -> String {
        match self.call(call) {
            Err(Failure::Refused(why)) => why,
            other => panic!("{other:?} instead of a refusal"),
        }
    }

    pub(crate) fn failed(&mut self, call: Call) -> String {
        match self.call(call) {
            Err(Failure::Failed(why)) => why,
            other => panic!("{other:?} instead of a failure"),
        }
    }

    pub(crate) fn number(&mut self, query: &str) -> f64 {
        match self.call(Call::Query(query.to_owned())) {
            Ok(Answer::Number(number)) => number,
            other => panic!("{other:?} instead of a number"),
        }
    }

    /// Waits until an entry fits, and gives what was made of it; entries before it are kept.
    pub(crate) fn until<T>(&mut self, mut fits: impl FnMut(&Entry) -> Option<T>) -> T {
        let deadline = self.world.now() + LIMIT.as_secs_f64();
        loop {
            match self.world.wait(deadline) {
                Happening::Entry(entry) => {
                    let fit = fits(&entry);
                    self.entries.push(entry);
                    if let Some(fit) = fit {
                        return fit;
                    }
                }
                other => panic!("{other:?} instead of an entry"),
            }
        }
    }

    /// Waits for a sample that fits.
    pub(crate) fn sample(&mut self, mut fits: impl FnMut(&Sample) -> bool) -> Sample {
        self.until(|entry| match entry {
            Entry::Sample(sample) if fits(sample) => Some(sample.clone()),
            _ => None,
        })
    }

    pub(crate) fn event(&mut self, kind: EventKind) -> Event {
        self.until(|entry| match entry {
            Entry::Event(event) if event.kind == kind => Some(event.clone()),
            _ => None,
        })
    }

    /// The events of a kind so far.
    pub(crate) fn events(&self, kind: EventKind) -> Vec<&Event> {
        let events = self.entries.iter().filter_map(|entry| match entry {
            Entry::Event(event) => Some(event),
            _ => None,
        });
        events.filter(|event| event.kind == kind).collect()
    }

    /// The process of a service, as the event of its start says.
    pub(crate) fn pid(&self, service: &str) -> u32 {
        let started = self.events(EventKind::Started);
        let event = started.iter().rev().find(|event| event.subject == service).unwrap();
        let word = event.detail.strip_prefix("process ").unwrap().split(',').next().unwrap();
        word.parse().unwrap()
    }
}

/// A plan for one cell from the tables of a plan file.
pub(crate) fn cell(plan: &Value) -> CellPlan {
    let table = |key: &str| plan.get(key).cloned().unwrap_or_else(|| json!({}));
    let target = plan.get("target").cloned().unwrap_or_else(|| json!({ "external": { "description": "nothing" } }));
    let connections: IndexMap<String, ConnectionTable> = serde_json::from_value(table("connections")).unwrap();
    let queries: IndexMap<String, QueryTable> = serde_json::from_value(table("queries")).unwrap();
    let watches: IndexMap<String, WatchTable> = serde_json::from_value(table("watches")).unwrap();
    let loads: IndexMap<String, scaler::plan::load::LoadTable> = serde_json::from_value(table("loads")).unwrap();
    let watch = |table: &WatchTable| CheckedWatch { every: table.every, watch: table.kind().unwrap() };
    CellPlan {
        step: None,
        target: serde_json::from_value::<TargetTable>(target).unwrap().kind().unwrap(),
        isolation: serde_json::from_value(table("isolation")).unwrap(),
        connections: connections.iter().map(|(name, table)| (name.clone(), table.kind().unwrap())).collect(),
        fleet: plan.get("fleet").map(|fleet| serde_json::from_value(fleet.clone()).unwrap()),
        messages: serde_json::from_value(table("messages")).unwrap(),
        loads: loads.iter().map(|(name, table)| (name.clone(), table.kind().unwrap())).collect(),
        queries: queries.iter().map(|(name, table)| (name.clone(), table.kind().unwrap())).collect(),
        watches: watches.iter().map(|(name, table)| (name.clone(), watch(table))).collect(),
        probes: IndexMap::new(),
        workflows: IndexMap::new(),
        setup: Vec::new(),
        phases: Vec::new(),
        teardown: Vec::new(),
        gates: Vec::new(),
        clean: None,
        live_safety: plan.get("live_safety").map(|safety| serde_json::from_value(safety.clone()).unwrap()),
        durability: None,
        growth: None,
    }
}

/// A plan whose target has these services.
pub(crate) fn services(services: &Value) -> Value {
    json!({ "target": { "processes": { "services": services } } })
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Whether a process lives: it is there and no zombie.
pub(crate) fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with(['Z', 'X']))
}

/// Waits until something is so.
pub(crate) fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a process from outside, as nobody in the plan asked for.
pub(crate) fn kill_9(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}
