//! Caps that are too small: held back on the CPU, killed for want of memory.

use std::process::Command;

use super::bench::{Pipeline, assert_nothing_is_left, bottleneck, container, ended, subjects};
use crate::{
    compose::bench::docker,
    ran::{cause, stderr},
};

#[test]
fn a_cap_that_is_too_small_ends_the_ladder_and_is_named_by_its_throttled_periods() {
    let pipeline = Pipeline::new(200_000);
    let mut command = pipeline.command("pipeline.toml", &["top=2000", "soak=12s", "lag_bar=5s"]);
    command.env("SCALE_CPUS_LISTENER", "0.02");
    let run = crate::ran::Going::of(pipeline.results.path(), command).end();
    assert_eq!(ended(&run), (Some(1), vec!["pass", "fail"]), "{}", stderr(&run));
    assert_eq!((&run.line["highest_pass"], run.broken(0)), (&100.into(), Vec::new()));
    let (part, evidence) = bottleneck(&run, 1);
    assert_eq!(part, Some("listener"), "{evidence}");
    let words = "listener was held back by its CPU cap in a share of its periods of ";
    assert!(evidence.starts_with(words), "{evidence}");
    assert!(run.metric(1, "containers.listener.throttled_pct.mean") > 50.0);
    assert!(run.broken(1).contains(&"lag bounded".to_owned()), "{:?}", run.broken(1));
    assert_nothing_is_left();
}

#[test]
fn a_child_that_is_killed_for_want_of_memory_fails_the_step_although_its_container_lives() {
    let pipeline = Pipeline::new(200_000);
    let mut run = pipeline.start("pipeline.toml", &[]);
    run.until_phase("soak");
    let worker = container("worker");
    let child = Command::new("docker").args(["exec", &worker, "sh", "-c", "tail /dev/zero; echo $?"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&child.stdout).trim(), "137", "the kernel killed the child");
    let state = docker(&["inspect", "--format", "{{.State.Running}} {{.RestartCount}}", &worker]);
    assert_eq!(state, "true 0", "its first process lives on");
    let run = run.end();
    assert_eq!(ended(&run), (Some(1), vec!["fail"]), "{}", stderr(&run));
    assert_eq!(run.broken(0), ["no container ran out of memory"]);
    assert_eq!(subjects(&run, 0, "out_of_memory"), ["worker"]);
    assert!(cause(&run, 0).starts_with("engine.oom_kills = 1, must be = 0"), "{}", cause(&run, 0));
    let (part, evidence) = bottleneck(&run, 0);
    assert_eq!(part, Some("worker"), "{evidence}");
    assert!(evidence.starts_with("the kernel killed a process of worker for want of memory"), "{evidence}");
}
