//! A wall clock that steps: it is read once, at the start of a run, and never again.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use super::{Going, assert_custody_is_whole, stderr};
use crate::end_to_end::Bench;

/// Who reads the wall clock, and why a step of it moves nothing that is measured.
const READERS: &[(&str, &str)] = &[
    ("src/cli/plan/run/prepared.rs", "the start of the run: all later times are this plus the monotonic time since"),
    (
        "src/engine/containers.rs",
        "an engine dates a container's start by the wall clock, and is on this host: only the age is used",
    ),
    ("src/load/ceiling.rs", "when a calibration was made, and the start of its load"),
];

/// What reads the wall clock.
const WORDS: &[&str] = &["SystemTime::now", "Timestamp::now", "Zoned::now", "ClockId::Realtime", "UNIX_EPOCH.elapsed"];

#[test]
fn nothing_that_is_measured_looks_at_the_wall_clock() {
    let mut readers = Vec::new();
    visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut |path, text| {
        if WORDS.iter().any(|word| text.contains(word)) {
            readers.push(path.to_owned());
        }
    });
    readers.sort();
    assert_eq!(readers, READERS.iter().map(|(path, _)| (*path).to_owned()).collect::<Vec<_>>());
}

fn visit(folder: &Path, see: &mut dyn FnMut(&str, &str)) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            visit(&path, see);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("within").to_str().expect("UTF-8");
            see(name, &text);
        }
    }
}

/// A wall clock of scaler's own, which the test can set; the target keeps the true one, for no variable is passed on to it.
struct OwnClock(tempfile::TempDir);

impl OwnClock {
    fn new() -> Self {
        let clock = Self(tempfile::tempdir().expect("a folder"));
        clock.set("+0");
        clock
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("offset")
    }

    fn set(&self, offset: &str) {
        fs::write(self.file(), format!("{offset}\n")).expect("the clock is set");
    }

    fn give(&self, command: &mut Command) {
        let libraries = fs::read_dir("/usr/lib").expect("/usr/lib").flatten().map(|entry| entry.path());
        let library = libraries.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|path| path.exists());
        command.env("LD_PRELOAD", library.expect("libfaketime of Debian"));
        command
            .env("FAKETIME_TIMESTAMP_FILE", self.file())
            .env("FAKETIME_NO_CACHE", "1")
            .env("DONT_FAKE_MONOTONIC", "1");
    }

    /// Unix seconds by this clock.
    fn now(&self) -> i64 {
        let mut date = Command::new("date");
        self.give(date.arg("+%s"));
        let output = date.output().expect("date");
        String::from_utf8_lossy(&output.stdout).trim().parse().expect("seconds")
    }
}

#[test]
fn a_wall_clock_that_steps_back_an_hour_changes_nothing() {
    let bench = Bench::new();
    let clock = OwnClock::new();
    let mut command = bench.command("tests/plans/around.toml", &[]);
    clock.give(&mut command);
    let mut run = Going::of(bench.results.path(), command);
    run.until_phase("soak");
    run.until("slice", "readings");
    let before = clock.now();
    clock.set("-3600");
    assert!(clock.now() < before - 3000, "the clock has stepped");
    thread::sleep(Duration::from_millis(100));
    let run = run.end();
    assert_eq!(run.output.status.code(), Some(0), "{}", stderr(&run));
    for cell in 0..2 {
        assert_eq!(run.broken(cell), Vec::<String>::new());
        assert_custody_is_whole(&run, cell);
        let seconds = run.cell(cell)["seconds"]["readings"].as_array().expect("the ledger");
        let seconds: Vec<i64> = seconds.iter().filter_map(|second| second["second"].as_i64()).collect();
        assert!(seconds.windows(2).all(|pair| pair[1] == pair[0] + 1), "no payload second is left out: {seconds:?}");
    }
}
