//! The real plan, interpreter, record, measures and judge, in virtual time.

use std::io;

use indexmap::IndexMap;
use proptest::prelude::*;

use super::{
    experiment::{Ending, Experiment, run},
    interpreter::{Log, Observer},
    virtual_world::{Model, VirtualWorld},
};
use crate::{
    judge::{
        judge_run,
        verdict::{CellVerdict, RunVerdict, Word},
    },
    measure::{measure, sample_cell},
    plan::{
        self,
        checked::{Checked, HostFacts, Part, RunScope, Window},
    },
    record::{
        cell::Record,
        entry::{CutShort, Entry, EventKind, Timed},
        fold::{Fold, fold},
    },
};

const QUICKSTART: &str = include_str!("../../plans/quickstart.toml");

/// A journal in memory that cannot be written from an entry on.
struct Memory {
    entries: Vec<Entry>,
    full_at: usize,
}

impl Log for Memory {
    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        if self.entries.len() >= self.full_at {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.entries.push(entry.clone());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Nobody;

impl Observer for Nobody {
    fn see(&mut self, _: f64, _: &Entry) {}
    fn look(&mut self, _: f64, _: &Fold) {}
}

/// A run that is over.
struct Done {
    ending: io::Result<Ending>,
    entries: Vec<Entry>,
    world: VirtualWorld,
}

impl Done {
    fn record(&self) -> Record {
        fold(self.entries.clone()).unwrap()
    }

    fn verdict(&self) -> RunVerdict {
        judge_run(&self.record())
    }

    /// Step, repeat and word of each cell.
    fn words(&self) -> Vec<(u64, u32, Word)> {
        let record = self.record();
        let word = |cell| crate::judge::judge_cell(&record.started, cell).word;
        record.cells.iter().map(|cell| (cell.started.step.unwrap(), cell.started.repeat, word(cell))).collect()
    }

    /// The verdict of a cell.
    fn cell(&self, number: usize) -> CellVerdict {
        let record = self.record();
        crate::judge::judge_cell(&record.started, &record.cells[number])
    }

    /// A metric of a cell over its default window.
    fn figure(&self, number: usize, metric: &str) -> f64 {
        let record = self.record();
        let window = Window { phase: None, part: Part::Whole };
        let measured = measure(&record.started, &record.cells[number], metric, &window);
        measured.figure().unwrap_or_else(|| panic!("{metric}: {measured:?}")).value()
    }

    fn count(&self, call: &str) -> usize {
        self.world.calls.iter().filter(|made| *made == call).count()
    }
}

/// The quickstart with changes; nothing else is read.
fn quickstart(changes: &str) -> Checked {
    let changes = format!("extends = 'quickstart.toml'\n{changes}");
    let read = |path: &str| match path {
        "quickstart.toml" => Ok(QUICKSTART.to_owned()),
        "changes.toml" => Ok(changes.clone()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    let host = HostFacts { cpus: 2, memory_bytes: 8_000_000_000, name: "host".into() };
    plan::load("changes.toml", &read, &[], &host).unwrap_or_else(|problems| panic!("{problems}"))
}

fn run_until_full(checked: &Checked, model: Model, full_at: usize) -> Done {
    let secrets = IndexMap::from([("SCALEGEN_PASSWORD".to_owned(), "secret".to_owned())]);
    let scope = RunScope { scaler: "scaler".into(), folder: "folder".into(), id: "id".into(), secrets };
    let cell = |step| checked.cell(step, Some(&scope));
    let mut started = sample_cell::run();
    started.plan.steps.clone_from(&checked.header.steps);
    let experiment = Experiment { started, header: &checked.header, cell: &cell };
    let mut log = Memory { entries: Vec::new(), full_at };
    let mut world = VirtualWorld::new(model);
    let ending = run(experiment, &mut world, &mut log, &mut Nobody);
    Done { ending, entries: log.entries, world }
}

fn run_all(checked: &Checked, model: Model) -> Done {
    run_until_full(checked, model, usize::MAX)
}

/// Two outages of the listener before the drain.
const FAULT: &str = r#"
[ladder]
steps = [400]
[[phase]]
name = "soak"
[[phase]]
name = "kill"
fault = { service = "listener", kill = "SIGKILL", after = { at_least = "500ms", at_most = "1500ms", seed = 1 }, down = "2s", times = 2, query = "rows_stored", retained = { connection = "broker", topics = "fbf/#" } }
[[teardown]]
name = "farewell"
exec = { command = ["true"], within = "5s" }
[[gate]]
metric = "kill.unproven"
equals = 0
"#;

/// A hundred seeds; `SCALER_VIRTUAL_SEEDS` says how many more in the long series.
#[test]
fn a_healthy_quickstart_passes_every_step_under_any_seed() {
    let checked = quickstart("");
    let seeds: u64 = std::env::var("SCALER_VIRTUAL_SEEDS").map_or(100, |seeds| seeds.parse().unwrap());
    let workers: u64 = 2;
    let of_worker = |worker: u64| {
        for seed in (worker..seeds).step_by(usize::try_from(workers).unwrap()) {
            let done = run_all(&checked, Model { seed, ..Model::default() });
            let passed = [(1_000, 1, Word::Pass), (5_000, 1, Word::Pass), (50_000, 1, Word::Pass)];
            assert_eq!(done.words(), passed, "seed {seed}: {:?}", done.verdict());
            assert_eq!(done.verdict().word, Word::Pass, "seed {seed}");
            assert_eq!(done.world.left_over(), Vec::<String>::new(), "seed {seed}");
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || of_worker(worker))).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    println!("{seeds} healthy runs of {} steps in virtual time, no false alarm", checked.header.steps.len());
}

#[test]
fn every_lost_reading_is_counted_and_named() {
    for (seed, lost_one_in) in [(1, 1000), (2, 7), (3, 90)] {
        let done = run_all(&quickstart("[ladder]\nsteps = [1000]"), Model { lost_one_in, seed, ..Model::default() });
        let record = done.record();
        let custody = &record.cells[0].custody[0];
        assert!(done.world.lost > 0 && custody.identified);
        assert_eq!((custody.missing, custody.changed, custody.surplus), (done.world.lost, 0, 0), "1 in {lost_one_in}");
        assert_eq!(custody.missing_named.len() as u64, custody.missing.min(20));
        let verdict = done.cell(0);
        assert_eq!((verdict.word, verdict.decided_by), (Word::Fail, vec!["nothing lost".to_owned()]));
    }
}

#[test]
fn a_store_that_moves_on_behind_its_rest_lost_nothing() {
    // The drain takes the store for at rest, and what is missing comes before it is asked again.
    let model = Model { lost_one_in: 7, late_s: Some(6.0), ..Model::default() };
    let done = run_all(&quickstart("[ladder]\nsteps = [1000]"), model.clone());
    let wrong = done.record().cells[0].custody[0].wrong.clone().unwrap();
    assert!(
        wrong.starts_with("the store was not at rest: ") && wrong.ends_with(" 0 missing; late is not lost"),
        "{wrong}"
    );
    let verdict = done.cell(0);
    assert_eq!(verdict.word, Word::Inconclusive, "{verdict:?}");
    // What never comes is lost.
    let lost = run_all(&quickstart("[ladder]\nsteps = [1000]"), Model { late_s: Some(600.0), ..model });
    assert_eq!((lost.cell(0).word, lost.record().cells[0].custody[0].missing), (Word::Fail, lost.world.lost));
}

#[test]
fn slow_lists_stop_the_climb_and_the_search_finds_the_ceiling() {
    // 30 ms allow (30 − 2) ms ÷ 1 µs = 28 000 points, give or take the jitter.
    let model = Model { list_s_per_point: 1e-6, ..Model::default() };
    let done = run_all(&quickstart(""), model.clone());
    assert_eq!(done.words(), [(1_000, 1, Word::Pass), (5_000, 1, Word::Pass), (50_000, 1, Word::Fail)]);
    assert_eq!(done.cell(2).decided_by, ["list-points within budget"]);
    assert_eq!((done.verdict().highest_pass, done.verdict().lowest_fail), (Some(5_000), Some(50_000)));

    let searched = run_all(&quickstart("[ladder]\nrefine = { until = '25%', confirm = 1, most = 12 }"), model);
    let (pass, fail) = (searched.verdict().highest_pass.unwrap(), searched.verdict().lowest_fail.unwrap());
    assert!((20_000..=30_500).contains(&pass) && (26_000..=40_000).contains(&fail) && pass < fail, "{pass}, {fail}");
    assert!(fail - pass <= pass / 4, "{pass}, {fail}");
    assert!(searched.words().contains(&(pass, 2, Word::Pass)), "the ceiling is confirmed");
}

#[test]
fn the_climb_goes_on_after_a_failure_when_the_plan_says_so() {
    let model = Model { list_s_per_point: 20e-6, ..Model::default() };
    let stopped = run_all(&quickstart(""), model.clone());
    assert_eq!(stopped.words(), [(1_000, 1, Word::Pass), (5_000, 1, Word::Fail)]);
    let all = run_all(&quickstart("[ladder]\ncontinue_on_fail = true"), model);
    assert_eq!(all.words(), [(1_000, 1, Word::Pass), (5_000, 1, Word::Fail), (50_000, 1, Word::Fail)]);
    assert_eq!((all.verdict().highest_pass, all.verdict().lowest_fail), (Some(1_000), Some(5_000)));
}

#[test]
fn a_small_host_begins_with_the_steps_for_it() {
    let small = "[ladder]\nsmall_host = { when = 'host.cpus < 4', first = [200, 400] }";
    let steps: Vec<u64> = run_all(&quickstart(small), Model::default()).words().iter().map(|row| row.0).collect();
    assert_eq!(steps, [200, 400, 1_000, 5_000, 50_000]);
}

#[test]
fn a_generator_that_is_short_says_nothing_of_the_target() {
    let done = run_all(&quickstart(""), Model { offered_share: 0.9, ..Model::default() });
    assert_eq!(done.words(), [(1_000, 1, Word::Inconclusive)]);
    let cause = done.cell(0).cause.unwrap();
    assert!(cause.starts_with("generator: readings.offered_ratio"), "{cause}");
    assert_eq!(done.verdict().lowest_fail, None, "no ceiling is made of it");
}

#[test]
fn a_store_that_is_too_slow_is_found_by_its_lag() {
    let done = run_all(&quickstart(""), Model { stored_per_s: 5_000.0, ..Model::default() });
    assert_eq!(done.words(), [(1_000, 1, Word::Pass), (5_000, 1, Word::Pass), (50_000, 1, Word::Fail)]);
    assert!(done.cell(2).decided_by.contains(&"lag.p95_s".to_owned()), "{:?}", done.cell(2).decided_by);
    assert_eq!(done.record().cells[2].custody[0].missing, 0, "late is not lost");
}

#[test]
fn what_is_stored_equals_what_was_offered() {
    let done = run_all(&quickstart("[ladder]\nsteps = [1000]"), Model::default());
    let (offered, stored) = (done.figure(0, "readings.offered_per_s"), done.figure(0, "custody.stored_per_s"));
    assert!((offered - 200.0).abs() < 1.0 && (stored - 200.0).abs() < 1e-9, "{offered} offered, {stored} stored");
}

/// A live system beside the target.
fn beside_a_live_system(changes: &str) -> Checked {
    quickstart(&format!("{changes}\n[live_safety]\nurl = 'http://127.0.0.1:1/'\nevery = '1s'\nbad_samples = 3"))
}

#[test]
fn a_live_system_that_suffers_stops_the_load_at_once() {
    let done = run_all(&beside_a_live_system(""), Model { live_latency_s: 2.0, ..Model::default() });
    let record = done.record();
    let cell = &record.cells[0];
    let trip = cell.events.iter().find(|event| event.kind == EventKind::LiveSafety).unwrap();
    let stop = cell.slices.last().unwrap().to;
    assert!(stop - trip.at < 0.1, "it tripped at {} and the load stopped at {stop}", trip.at);
    assert!(matches!(cell.finished.as_ref().unwrap().cut_short, Some(CutShort::LiveSafety(_))));
    let verdict = done.cell(0);
    assert_eq!(verdict.word, Word::Inconclusive);
    assert!(verdict.cause.unwrap().starts_with("live-safety: "));
    assert_eq!((done.words().len(), done.world.left_over().len()), (1, 0));
}

#[test]
fn no_step_follows_one_that_hurt_the_live_system() {
    let checked = beside_a_live_system("[ladder]\ncontinue_on_fail = true");
    let done = run_all(&checked, Model { live_latency_s: 2.0, ..Model::default() });
    assert_eq!(done.words().len(), 1, "{:?}", done.words());
    assert_eq!(done.verdict().word, Word::Inconclusive);
}

#[test]
fn a_live_system_that_is_well_changes_nothing() {
    let done = run_all(&beside_a_live_system("[ladder]\nsteps = [1000]"), Model::default());
    assert_eq!(done.words(), [(1_000, 1, Word::Pass)]);
}

#[test]
fn a_phase_that_fails_ends_the_cell_and_everything_is_put_right() {
    for broken in ["Publish", "StartLoad", "StartWatch", "QuietCanary", "StopLoad", "TakeDown", "Preflight"] {
        let done = run_all(&quickstart(FAULT), Model { broken: Some(broken), ..Model::default() });
        assert_eq!(done.words().last().map(|word| word.2), Some(Word::Inconclusive), "{broken}");
        assert!(!done.world.target_is_up(), "{broken}");
        assert!(matches!(done.entries.last(), Some(Entry::RunFinished(_))), "{broken}");
    }
}

#[test]
fn a_repeated_fault_takes_down_and_brings_back_each_time() {
    let done = run_all(&quickstart(FAULT), Model::default());
    assert_eq!((done.count("TakeDown"), done.count("BringBack")), (2, 2));
    assert_eq!(done.words(), [(400, 1, Word::Pass)], "{:?}", done.cell(0));
    let outages = done.record().cells[0].outages.clone();
    assert_eq!(outages.len(), 2);
    for outage in outages {
        assert_eq!(outage.wal_replay, Timed::Seconds(0.25));
        let Timed::Seconds(first_query) = outage.first_query else { panic!("{:?}", outage.first_query) };
        assert!(first_query >= 2.0, "it was down for two seconds, not {first_query}");
        assert!(matches!(outage.retained_replay, Timed::Seconds(seconds) if seconds > 0.0), "{outage:?}");
    }
}

#[test]
fn a_counter_that_does_not_count_right_is_not_trusted() {
    let done = |by: u32| {
        let changes = format!(
            "[connections.pg.postgres]\nurl = 'postgres://u@127.0.0.1/d'\n[queries.statements_run.sql]\nconnection = 'pg'\n\
             statement = 'SELECT 1'\n[ladder]\nsteps = [400]\n[[setup]]\nname = 'counts'\n[setup.sql]\nconnection = 'pg'\n\
             statement = 'INSERT'\nmoves = {{ query = 'statements_run', by = {by}, within = '2s' }}"
        );
        run_all(&quickstart(&changes), Model::default())
    };
    assert!(matches!(done(1).ending, Ok(Ending::Complete)));
    let too_slow = done(2);
    let why = "query `statements_run` rose by 1 instead of 2 within 2s";
    assert!(matches!(&too_slow.ending, Ok(Ending::Refused(reason)) if reason.contains(why)), "{:?}", too_slow.ending);
    assert!(too_slow.words().is_empty() && !too_slow.world.target_is_up());
}

/// How long the plan with a fault takes when nobody stops it, and how many entries it writes.
fn undisturbed() -> (f64, usize) {
    let done = run_all(&quickstart(FAULT), Model::default());
    let Some(Entry::RunFinished(finished)) = done.entries.last() else { panic!("it has an end") };
    (finished.at, done.entries.len())
}

#[test]
fn a_journal_that_cannot_be_written_stops_the_target() {
    let checked = quickstart(FAULT);
    let (_, entries) = undisturbed();
    let moments = (0..40).chain((40..entries).step_by(7)).chain(entries - 8..entries);
    for full_at in moments {
        let done = run_until_full(&checked, Model::default(), full_at);
        assert_eq!(done.ending.unwrap_err().kind(), io::ErrorKind::StorageFull, "at {full_at}");
        assert!(!done.world.target_is_up(), "full at entry {full_at} of {entries}: the target runs on");
        assert_eq!(done.world.calls.iter().filter(|call| *call == "StopTarget").count().min(2), {
            usize::from(done.world.calls.iter().any(|call| call == "StartTarget"))
        });
    }
}

#[test]
fn an_interruption_at_any_moment_leaves_nothing_behind() {
    let checked = quickstart(FAULT);
    let (length_s, _) = undisturbed();
    let stopped = |at: Vec<f64>| {
        let twice = at.len() > 1;
        let done = run_all(&checked, Model { interrupted_at: at.clone(), ..Model::default() });
        let record = fold(done.entries.clone()).unwrap_or_else(|error| panic!("{at:?}: {error}"));
        assert_eq!(done.ending.as_ref().unwrap(), &Ending::Interrupted, "{at:?}");
        assert!(matches!(done.entries.last(), Some(Entry::RunFinished(end)) if end.interrupted), "{at:?}");
        assert!(record.interrupted(), "{at:?}");
        assert!(!done.world.is_down() && !done.world.target_is_up(), "{at:?}: {:?}", done.world.left_over());
        assert!(done.count("TakeDown") <= done.count("BringBack"), "{at:?}");
        assert!(twice || done.world.left_over().is_empty(), "{at:?}: {:?}", done.world.left_over());
        assert_ne!(judge_run(&record).word, Word::Pass, "{at:?}");
    };
    proptest!(ProptestConfig::with_cases(150), |(first in 0.0..0.99_f64, then in 0.0..3.0_f64, twice: bool)| {
        let at = first * length_s;
        stopped(if twice { vec![at, at + then] } else { vec![at] });
    });
}
