//! A part of scaler fails in the middle of a run: the run is given up, what was started ends, and the journal makes a result.

use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use scaler::{
    host,
    load::RunClock,
    plan,
    record::{
        cell::Record,
        entry::{Entry, RunStarted},
        fold::Fold,
        journal::{self, Journal},
        redact::Redactor,
    },
    run::{
        experiment::{self, Ending, Experiment},
        interpreter::Observer,
        real::{Defects, RealWorld, RealWorldConfig},
        world::World,
    },
};

use super::expect_nobody;

const PLAN: &str = r#"
format = 1
name = "defect"
question = "What is left when a thread of scaler fails?"

[target.processes.services.sleeper]
command = ["sleep", "601"]

[[phase]]
name = "wait"
hold = { for = "10m", measure = true }

[[gate]]
metric = "target.unexpected_exits"
equals = 0
"#;

/// Reports a defect as soon as the phase is open, as the panic hook does from whatever thread it was.
struct Saboteur(Option<Defects>);

impl Observer for Saboteur {
    fn see(&mut self, _now: f64, entry: &Entry) {
        if matches!(entry, Entry::WindowOpened(_))
            && let Some(defects) = self.0.take()
        {
            std::thread::spawn(move || defects.report("a thread panicked"));
        }
    }

    fn look(&mut self, _now: f64, _fold: &Fold) {}
}

#[test]
fn the_run_is_given_up_and_its_journal_makes_a_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let checked =
        plan::load("defect.toml", &|_| Ok::<_, io::Error>(PLAN.to_owned()), &[], &host::facts().expect("facts"))
            .expect("the plan is right");
    let clock = RunClock { start: Instant::now(), wall_unix_ms_at_start: 1_796_061_600_000 };
    let mut world = RealWorld::start(RealWorldConfig {
        scaler: env!("CARGO_BIN_EXE_scaler").into(),
        folder: folder.path().join("target"),
        plan_folder: folder.path().to_owned(),
        host_cpus: 2,
        clock,
        live_check: false,
    })
    .expect("a world");
    let path = folder.path().join("defect.journal");
    let mut log = Journal::create(&path, Redactor::default()).expect("a journal");
    let cell = |step| checked.cell(step, None);
    let experiment = Experiment { started: started(), header: &checked.header, cell: &cell };
    let mut saboteur = Saboteur(Some(world.defects()));
    let ending = experiment::run(experiment, &mut world, &mut log, &mut saboteur).expect("the journal is kept");
    assert_eq!(ending, Ending::Defect("a thread panicked".to_owned()));
    assert!(world.now() < Duration::from_mins(5).as_secs_f64(), "the phase was not waited for");
    drop((world, log));
    expect_nobody(folder.path());
    let record = Record::recovered(journal::read(&path).expect("the journal")).expect("a record");
    assert!(record.finished.is_none() && record.interrupted(), "the journal has no end");
    assert_eq!(record.cells[0].windows[0].name, "wait");
}

/// The first entry of the committed journal of a killed run.
fn started() -> RunStarted {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/killed.journal");
    let text = fs::read_to_string(path).expect("the journal");
    match serde_json::from_str(text.lines().next().expect("a line")).expect("an entry") {
        Entry::RunStarted(started) => *started,
        other => panic!("{other:?} is no start"),
    }
}
