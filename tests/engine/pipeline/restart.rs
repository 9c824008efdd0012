//! A container that dies during the step, and that the engine starts again.

use std::process::Command;

use super::bench::{Pipeline, bottleneck, ended, pid, subjects};
use crate::ran::{assert_custody_is_whole, cause, stderr};

#[test]
fn a_restart_that_nobody_asked_for_fails_the_step_although_nothing_was_lost() {
    let pipeline = Pipeline::new(200_000);
    let mut run = pipeline.start("pipeline.toml", &["soak=10s"]);
    run.until_phase("soak");
    assert!(Command::new("kill").args(["-KILL", &pid("listener")]).status().unwrap().success());
    let run = run.end();
    assert_eq!(ended(&run), (Some(1), vec!["fail"]), "{}", stderr(&run));
    assert_eq!(run.broken(0), ["no container ended by itself", "no container was restarted"]);
    assert_eq!(subjects(&run, 0, "unexpected_exit"), ["listener"]);
    assert_eq!(subjects(&run, 0, "restarted"), ["listener"]);
    assert!(cause(&run, 0).starts_with("target.unexpected_exits = 1, must be = 0"), "{}", cause(&run, 0));
    let (part, evidence) = bottleneck(&run, 0);
    assert_eq!(part, Some("listener"), "{evidence}");
    assert!(evidence.starts_with("listener ended although nobody took it down: exit 137"), "{evidence}");
    assert_custody_is_whole(&run, 0);
}
