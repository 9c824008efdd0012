//! Containers taken down in every way, and brought back with proof.

use std::time::Duration;

use scaler::{
    plan::phase::Signal,
    record::entry::EventKind,
    run::world::{Answer, Call, TakeDown},
};

use super::bench::{docker, shared, waiting};
use crate::world::bench::Bench;

fn take_down(bench: &mut Bench, how: TakeDown) -> (u32, Option<String>, bool) {
    match bench.call(Call::TakeDown { service: "web".to_owned(), how }) {
        Ok(Answer::Down { pid, ended, proven, .. }) => (pid, ended, proven),
        other => panic!("{other:?} instead of a container that is down"),
    }
}

fn bring_back(bench: &mut Bench) -> u32 {
    match bench.call(Call::BringBack { service: "web".to_owned(), within: Duration::from_secs(30) }) {
        Ok(Answer::Up { pid, ready_at: Some(_), .. }) => pid,
        other => panic!("{other:?} instead of a container that is up"),
    }
}

#[test]
fn a_container_is_taken_down_in_each_way_and_proven() {
    let _turn = shared();
    let (mut bench, project) = waiting("faults");
    let name = format!("{project}-web-1");
    for (how, ended) in [
        (TakeDown::Kill(Signal::SigKill), "exit 137"),
        (TakeDown::Kill(Signal::SigTerm), "exit 0"),
        (TakeDown::Stop, "exit 0"),
        (TakeDown::KillByHost(Signal::SigKill), "exit 137"),
    ] {
        let (before, how_ended, proven) = take_down(&mut bench, how);
        assert_eq!((how_ended.as_deref(), proven), (Some(ended), true), "{how:?}");
        assert_ne!(bring_back(&mut bench), before, "{how:?}: another process");
    }
    let by: Vec<&str> =
        bench.events(EventKind::BroughtBack).iter().map(|event| event.detail.split(',').next().unwrap()).collect();
    let scaler = "started by scaler";
    assert_eq!(by, [scaler, scaler, scaler, "started by its restart policy"]);

    let (before, ended, proven) = take_down(&mut bench, TakeDown::Pause);
    assert_eq!(
        (ended, proven, docker(&["inspect", "--format", "{{.State.Status}}", &name])),
        (None, true, "paused".into())
    );
    assert_eq!(bring_back(&mut bench), before, "the same process");

    let (before, ended, proven) = take_down(&mut bench, TakeDown::Disconnect);
    let networks = ["inspect", "--format", "{{len .NetworkSettings.Networks}}", &name];
    assert_eq!((ended, proven, docker(&networks)), (None, true, "0".into()));
    assert_eq!((bring_back(&mut bench), docker(&networks)), (before, "1".into()));

    // Everything was caused by scaler, so nothing of it was unexpected.
    for kind in [EventKind::UnexpectedExit, EventKind::Restarted, EventKind::EngineLost] {
        assert!(bench.events(kind).is_empty(), "{:?}", bench.events(kind));
    }
}

#[test]
fn what_somebody_else_does_to_a_container_is_unexpected() {
    let _turn = shared();
    let (mut bench, project) = waiting("unexpected");
    let name = format!("{project}-web-1");
    let pid = docker(&["inspect", "--format", "{{.State.Pid}}", &name]);
    let killed = std::process::Command::new("kill").args(["-KILL", &pid]).status().unwrap();
    assert!(killed.success());
    assert_eq!(bench.event(EventKind::UnexpectedExit).detail, "exit 137");
    assert_eq!(bench.event(EventKind::Restarted).subject, "web");
}
