//! What was run is listed, shown, recovered and judged again by the real program.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

/// A run that was killed in its first soak, in the middle of a line.
const KILLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/killed.journal");
const NAME: &str = "20261130T180000Z-quickstart";

/// A folder with the journal of the killed run.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = folder.path().join(format!("{NAME}.journal"));
    fs::copy(KILLED, &journal).expect("the journal is copied");
    (folder, journal)
}

fn results(folder: &Path, arguments: &[&str]) -> Output {
    let folder = folder.to_str().expect("UTF-8");
    Command::new(env!("CARGO_BIN_EXE_scaler"))
        .arg("results")
        .args(arguments)
        .args(["--results", folder])
        .env("LC_ALL", "C.UTF-8")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("scaler starts")
}

#[track_caller]
fn expect(output: &Output, code: i32, texts: &[&str]) -> String {
    let all = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{all}");
    for text in texts {
        assert!(all.contains(text), "{text:?} is not in:\n{all}");
    }
    all.into_owned()
}

#[test]
fn a_damaged_journal_is_not_taken_for_a_torn_one() {
    let (folder, journal) = folder();
    let text = fs::read_to_string(&journal).expect("the journal");
    let damaged: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 9 { line.replace(':', "#") } else { line.to_owned() })
        .collect();
    fs::write(&journal, damaged.join("\n")).expect("a journal");
    let said = format!("line 10 of {} is damaged", journal.display());
    let behind = format!("the {} lines behind it are left out", damaged.len() - 10);
    expect(&results(folder.path(), &["recover", NAME]), 0, &[&said, &behind]);
}

#[test]
fn a_killed_run_is_recovered_shown_and_judged_again() {
    let (folder, _journal) = folder();
    let scaler = |arguments: &[&str]| results(folder.path(), arguments);
    expect(&scaler(&["list"]), 0, &["killed", "`scaler results recover RUN` makes a result"]);
    expect(&scaler(&["show", "20261130"]), 3, &["the run did not end", "scaler results recover"]);
    let recovered = scaler(&["recover", "20261130"]);
    expect(&recovered, 0, &["Verdict       inconclusive, interrupted", "scaler was killed", &format!("{NAME}.json")]);

    let path = folder.path().join(format!("{NAME}.json"));
    assert_eq!(fs::metadata(&path).expect("the result").permissions().mode() & 0o777, 0o644);
    let result: Value = serde_json::from_slice(&fs::read(&path).expect("the result")).expect("JSON");
    let schema: Value = serde_json::from_str(include_str!("../../schema/result.schema.json")).expect("JSON");
    jsonschema::draft7::new(&schema).expect("a schema").validate(&result).expect("the result is valid");
    assert_eq!(result["interrupted"], true);
    assert_eq!(result["cells"][0]["cut_short"], "interrupted");
    let note = result["cells"][0]["events"][0]["detail"].as_str().expect("a note");
    assert!(note.starts_with("from line 31 on the journal could not be read"), "{note}");

    expect(&scaler(&["recover", NAME]), 3, &["is there already"]);
    expect(&scaler(&["list"]), 0, &["inconclusive, interrupted"]);
    expect(&scaler(&["show", "20261130T18"]), 0, &["points=1000: inconclusive", "Cut short     interrupted"]);
    expect(&scaler(&["show", NAME, "--figures"]), 0, &["readings.acked_per_s"]);
    let twice = [NAME, path.to_str().expect("UTF-8")];
    let table = |kind: &str| scaler(&[&["table", "--as", kind][..], &twice].concat());
    expect(&scaler(&[&["table"][..], &twice].concat()), 0, &["| Points |", "| 20261130T180000Z | quickstart |"]);
    expect(&table("host"), 0, &["| Run ", "Max sustained points"]);
    expect(&table("before-after"), 0, &["before: run `20261130T180000Z`"]);
    expect(&table("crash"), 0, &["No process was killed under a load"]);
    expect(&table("disk"), 0, &["Bytes/day at 1M points", "unmeasured"]);
    expect(&table("versus"), 0, &["RAM / disk"]);
    expect(&scaler(&["table", NAME, "--add", "lag.lost"]), 0, &["| lag.lost |"]);
    expect(&scaler(&["table", NAME, "--add", "lag.lots"]), 3, &["none of these results has a metric `lag.lots`"]);
    expect(&scaler(&["judge", NAME]), 2, &["none: the bars are the same", "inconclusive"]);
}

#[test]
fn a_result_is_judged_under_the_bars_of_another_plan() {
    let (folder, _journal) = folder();
    expect(&results(folder.path(), &["recover", NAME]), 0, &[]);
    let judge = |more: &[&str]| results(folder.path(), &[&["judge", NAME][..], more].concat());
    let plan = ["--plan", "plans/quickstart.toml"];
    expect(&judge(&plan), 2, &["gate lag.max_s removed", "gate lag.p95_s added: lag.p95_s < 5s", "(tightened)"]);
    expect(&judge(&["--set", "soak=1s"]), 3, &["no plan is given"]);
    expect(&judge(&["--plan", "plans/none.toml"]), 3, &["plans/none.toml"]);
}

#[test]
fn a_journal_that_is_being_written_is_left_alone() {
    let (folder, journal) = folder();
    let writer = File::open(&journal).expect("the journal");
    flock(&writer, FlockOperation::LockExclusive).expect("a lock");
    expect(&results(folder.path(), &["list"]), 0, &["running"]);
    expect(&results(folder.path(), &["recover", NAME]), 3, &["a run is still writing it"]);
    expect(&results(folder.path(), &["show", NAME]), 3, &["the run still goes on", "wait for its end"]);
    assert!(!folder.path().join(format!("{NAME}.json")).exists());
}

#[test]
fn what_is_no_result_is_named_and_nothing_panics() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("{NAME}.json"));
    let scaler = |arguments: &[&str]| results(folder.path(), arguments);
    for text in ["", "{}", "[]", "{\"format\":1}", "{\"format\":7}", "\u{0}\u{0}"] {
        fs::write(&path, text).expect("a file");
        expect(&scaler(&["list"]), 0, &["unreadable"]);
        for verb in ["show", "table", "judge"] {
            let said = expect(&scaler(&[verb, NAME]), 3, &["is no result"]);
            assert!(!said.contains("panicked"), "{said}");
        }
    }
    expect(&scaler(&["show", "2099"]), 3, &["no run \"2099\"", "scaler results list"]);
    expect(&results(&folder.path().join("gone"), &["list"]), 3, &["cannot list"]);
    let journal = folder.path().join("20270101T000000Z-crash.journal");
    fs::write(&journal, "no journal\n").expect("a file");
    expect(&scaler(&["recover", "2027"]), 3, &["is no journal of a run"]);
}
