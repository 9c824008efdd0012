//! A database that restarts while the load runs; nobody told scaler.

use std::{thread, time::Duration};

use super::{Going, assert_custody_is_whole, events, standing, stderr};
use crate::{end_to_end::Bench, reference::postgres::Cluster};

#[test]
fn a_database_that_restarts_is_an_outage_with_gaps_and_nothing_is_lost() {
    let bench = Bench::new();
    let cluster = Cluster::start();
    // As a deployment does, before the listener and the API start.
    cluster.execute(
        r#"CREATE TABLE point_history (point_uri text COLLATE "C" NOT NULL, ts timestamptz NOT NULL, value double precision NOT NULL);
        CREATE UNIQUE INDEX point_history_point_ts ON point_history (point_uri, ts);
        CREATE TABLE point_tags (topic text COLLATE "C" PRIMARY KEY, tags text NOT NULL);
        CREATE TABLE equip_tags (topic text COLLATE "C" PRIMARY KEY, tags text NOT NULL, points text NOT NULL);"#,
    );
    let port = format!("database_port={}", cluster.port);
    let mut run = Going::start(&bench, "tests/plans/database.toml", &[&port]);
    run.until_phase("soak");
    thread::sleep(Duration::from_millis(500));
    assert!(cluster.down());
    run.until("sample", "\"gaps\":{\"*\"");
    cluster.up();
    let run = run.end();
    assert_eq!(run.output.status.code(), Some(0), "{}", stderr(&run));
    assert_eq!(run.broken(0), Vec::<String>::new());
    assert_custody_is_whole(&run, 0);
    let truth = cluster.count("SELECT count(*) FROM point_history WHERE point_uri LIKE 'fbf/scale/s%'");
    let stored = run.metric(0, "custody.stored");
    assert_eq!(format!("{stored}"), format!("{truth}"), "the database's own count");
    assert!(run.truth(0, "listener_truth", "failures") > 0.0, "the listener met the outage");

    // The watch has gaps with reasons, never zeros; the canary says that the store could not be asked.
    let samples = run.cell(0)["samples"].as_array().expect("samples");
    let of_database: Vec<_> = samples.iter().filter(|sample| sample["watch"] == "database").collect();
    let gaps: Vec<&str> = of_database.iter().filter_map(|sample| sample["gaps"]["*"].as_str()).collect();
    assert!(!gaps.is_empty() && gaps.iter().all(|why| !why.is_empty()), "{gaps:?}");
    let values: Vec<f64> = of_database.iter().filter_map(|sample| sample["values"]["rows"].as_f64()).collect();
    assert_eq!(values.len() + gaps.len(), of_database.len());
    assert!(values.windows(2).all(|pair| pair[0] <= pair[1]), "no zero stands for an outage");
    let told = events(&run, 0, "note").into_iter().filter(|detail| detail.starts_with("the store cannot be asked: "));
    assert_eq!(told.count(), 1, "{:?}", events(&run, 0, "note"));
    assert_eq!(standing(&run, 0, "generator kept pace"), "held");
}
