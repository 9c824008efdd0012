//! A target that holds data already is not climbed.

use std::{fs, process::Command};

const PLAN: &str = r#"
format = 1
name = "clean"
question = "Does a run begin on old data?"
[target.external]
description = "a file"
[connections.store.sqlite]
path = "old.sqlite"
[queries.points.sql]
connection = "store"
statement = "SELECT count(*) FROM points"
[clean]
query = "points"
at_most = 2
[watches.host.host]
[[phase]]
name = "soak"
hold = { for = "2s", measure = true }
[[gate]]
metric = "host.load1.max"
above = "0"
"#;

#[test]
fn a_run_on_old_data_is_refused() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("clean.toml"), PLAN).unwrap();
    let store = rusqlite::Connection::open(home.path().join("old.sqlite")).unwrap();
    store.execute_batch("CREATE TABLE points (name); INSERT INTO points VALUES (1), (2)").unwrap();
    let run = || {
        let mut scaler = Command::new(env!("CARGO_BIN_EXE_scaler"));
        let output = scaler.current_dir(home.path()).args(["plan", "run", "clean.toml"]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run();
    assert!(code != Some(4), "two points are allowed: {said}");
    store.execute("INSERT INTO points VALUES (3)", []).unwrap();
    let (code, said) = run();
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("the target is not clean: `points` gives 3"), "{said}");
}
