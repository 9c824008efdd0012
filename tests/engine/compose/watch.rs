//! What containers use, and what the kernel does to them.

use scaler::{plan::metric::CONTAINER_SERIES, record::entry::EventKind, run::world::Call};
use serde_json::json;

use super::bench::{WAITING, caps, docker, event_of, home, shared, shell, stack, unique};
use crate::world::bench::Bench;

#[test]
fn what_containers_use_is_seen() {
    let _turn = shared();
    let project = unique("watch");
    let home = home();
    let services = json!({ "busy": shell("while :; do :; done"), "idle": shell(WAITING) });
    let mut caps = caps(&["busy", "idle"]);
    caps["busy"]["cpus"] = json!(0.05);
    let plan = stack(home.path(), &project, &services, &caps);
    let mut bench = Bench::in_home(home, &plan);
    bench.done(Call::StartTarget { fresh: false });
    bench.done(Call::StartWatch("containers".to_owned()));
    let sample = bench.sample(|sample| {
        ["busy", "idle"].iter().all(|service| sample.values.contains_key(&format!("{service}.cpu_pct")))
    });
    bench.done(Call::StopWatch("containers".to_owned()));
    let value = |series: &str| sample.values.get(series).copied();
    let busy = value("busy.cpu_pct").unwrap();
    assert!((1.0..20.0).contains(&busy), "a twentieth of a core, not {busy}%");
    assert!(value("busy.throttled_pct").unwrap() > 20.0, "{sample:?}");
    assert!(value("idle.cpu_pct").unwrap() < busy);
    for series in ["memory_bytes", "anon_bytes", "memory_cap_pct", "processes"] {
        assert!(value(&format!("idle.{series}")).unwrap() > 0.0, "{series}");
    }
    assert_eq!((value("busy.restarts"), value("idle.restarts")), (Some(0.0), Some(0.0)));
    // Every series has a value or a reason.
    for (series, _) in CONTAINER_SERIES {
        let name = format!("idle.{series}");
        assert!(sample.values.contains_key(&name) != sample.gaps.contains_key(&name), "{name}");
    }
}

#[test]
fn a_child_that_is_killed_for_memory_is_an_event_although_the_container_lives() {
    let _turn = shared();
    let project = unique("oom");
    let home = home();
    let services = json!({ "web": shell("sleep 2; tail /dev/zero; while :; do sleep 0.2; done") });
    let plan = stack(home.path(), &project, &services, &caps(&["web"]));
    let mut bench = Bench::in_home(home, &plan);
    bench.done(Call::StartTarget { fresh: false });
    event_of(&mut bench, EventKind::OutOfMemory, "web");
    let running = docker(&["inspect", "--format", "{{.State.Running}}", &format!("{project}-web-1")]);
    assert_eq!((running.as_str(), bench.events(EventKind::UnexpectedExit).len()), ("true", 0));
}
