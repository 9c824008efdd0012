//! scaler killed with `kill -9` while containers run: they stay up, and the next run takes them over as they are, or refuses and says why.

use std::process::{Command, Output};

use rustix::process::Signal;

use super::bench::{PROJECT, Pipeline, assert_nothing_is_left, container, ended, pid};
use crate::{
    compose::bench::docker,
    ran::{Going, assert_custody_is_whole, stderr},
};

/// What `scaler plan run` says to containers that an outage left as they are now.
fn refusal(pipeline: &Pipeline) -> String {
    let Output { status, stderr, .. } = pipeline.command("pipeline.toml", &["soak=4s"]).output().unwrap();
    let words = String::from_utf8_lossy(&stderr).into_owned();
    assert_eq!(status.code(), Some(4), "{words}");
    words
}

#[test]
fn containers_of_a_killed_run_are_taken_over_or_refused() {
    let pipeline = Pipeline::new(200_000);
    let mut run = pipeline.start("pipeline.toml", &["soak=60s"]);
    run.until_phase("soak");
    run.until("slice", "readings");
    run.signal(Signal::KILL);
    assert!(run.output().status.code().is_none(), "it was killed");
    let (listener, first) = (container("listener"), pid("listener"));

    // An outage that was going on when scaler was killed stays: such a container is not measured.
    let network = format!("{PROJECT}_default");
    docker(&["network", "disconnect", &network, &listener]);
    let words = refusal(&pipeline);
    assert!(words.contains(&format!("{listener} is cut off the network {network}")), "{words}");
    docker(&["network", "connect", "--alias", "listener", &network, &listener]);
    docker(&["pause", &listener]);
    let words = refusal(&pipeline);
    assert!(words.contains(&format!("{listener} is paused")), "{words}");
    assert!(words.contains("scaler plan down"), "{words}");
    docker(&["unpause", &listener]);

    // Whole again, they are taken over as they are; the new run measures its own readings only, and leaves them up.
    let mut command = pipeline.command("live.toml", &["soak=4s"]);
    command.arg("--no-live-check");
    let run = Going::of(pipeline.results.path(), command).end();
    assert_eq!(ended(&run), (Some(0), vec!["pass", "pass"]), "{}", stderr(&run));
    assert_eq!(pid("listener"), first);
    assert_custody_is_whole(&run, 0);
    let text = run.result.to_string();
    assert!(text.contains("it was up already, and is left up at the end"), "{}", stderr(&run));
    for words in ["the live system was not looked at", "--no-live-check"] {
        assert!(text.contains(words), "{}", stderr(&run));
    }

    let down = Command::new(env!("CARGO_BIN_EXE_scaler"))
        .current_dir(pipeline.home.path())
        .args(["plan", "down", "pipeline.toml", "--volumes"])
        .output()
        .unwrap();
    assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
    assert_nothing_is_left();
}
