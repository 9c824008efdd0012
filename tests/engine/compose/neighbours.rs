//! What else is on the engine stays as it is, and that is proven.

use scaler::{
    plan::phase::Signal,
    record::entry::EventKind,
    run::world::{Call, TakeDown},
};
use serde_json::json;

use super::bench::{WAITING, caps, docker, home, left_of, shared, shell, stack, unique, waiting};
use crate::world::bench::Bench;

/// A container that is live as far as the tests go; it is gone when this is dropped.
struct Neighbour(String);

impl Neighbour {
    fn start() -> Self {
        let name = unique("neighbour");
        let run = ["run", "--detach", "--name", &name, "--memory", "16m", "--cpus", "0.1"];
        docker(&[&run[..], &["scaler-reference-base:latest", "sh", "-c", WAITING]].concat());
        Self(name)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        docker(&["rm", "--force", "--volumes", &self.0]);
    }
}

#[test]
fn a_neighbour_is_untouched_while_ours_is_killed_and_removed() {
    let _turn = shared();
    let neighbour = Neighbour::start();
    let facts = || docker(&["inspect", "--format", "{{.Id}} {{.State.StartedAt}} {{.RestartCount}}", &neighbour.0]);
    let before = facts();
    let (mut bench, project) = waiting("ours");
    let how = TakeDown::Kill(Signal::SigKill);
    bench.call(Call::TakeDown { service: "web".to_owned(), how }).unwrap();
    bench.call(Call::BringBack { service: "web".to_owned(), within: std::time::Duration::from_secs(30) }).unwrap();
    bench.done(Call::CompareOthers);
    let theirs = |bench: &Bench| {
        let changed =
            bench.events(EventKind::OtherChanged).into_iter().filter(|event| event.subject.contains(&neighbour.0));
        changed.map(|event| event.detail.clone()).collect::<Vec<_>>()
    };
    assert_eq!((theirs(&bench), bench.events(EventKind::OthersCompared).len()), (Vec::new(), 1));

    docker(&["restart", "--time", "1", &neighbour.0]);
    bench.done(Call::CompareOthers);
    assert_eq!(theirs(&bench).len(), 1, "somebody restarted it, and that shows");

    docker(&["restart", "--time", "1", &neighbour.0]);
    let restarted = facts();
    bench.done(Call::StopTarget);
    assert_eq!((left_of(&project), facts()), (String::new(), restarted));
    assert_ne!(before, facts());
}

#[test]
fn a_port_that_something_else_holds_refuses_the_start() {
    let _turn = shared();
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = held.local_addr().unwrap().port();
    let mut web = shell(WAITING);
    web["ports"] = json!([format!("127.0.0.1:{port}:80")]);
    let (home, project) = (home(), unique("port"));
    let plan = stack(home.path(), &project, &json!({ "web": web }), &caps(&["web"]));
    let mut bench = Bench::in_home(home, &plan);
    let why = bench.refused(Call::StartTarget { fresh: false });
    assert!(why.starts_with(&format!("services.web: port {port} is held by process")), "{why}");
    assert_eq!(left_of(&project), "");
}

#[test]
fn a_container_that_does_not_become_healthy_tells_its_last_words_and_leaves_nothing() {
    let _turn = shared();
    let mut web = shell(&format!("echo the disk is on fire; {WAITING}"));
    web["healthcheck"] = json!({ "test": ["CMD", "false"], "interval": "1s", "retries": 1 });
    let (home, project) = (home(), unique("sick"));
    let plan = stack(home.path(), &project, &json!({ "web": web }), &caps(&["web"]));
    let mut bench = Bench::in_home(home, &plan);
    let why = bench.refused(Call::StartTarget { fresh: false });
    assert!(why.contains("web is running unhealthy") && why.contains("the disk is on fire"), "{why}");
    assert_eq!(left_of(&project), "");
}

#[test]
fn the_guard_refuses_before_anything_is_started() {
    let _turn = shared();
    let mut web = shell(WAITING);
    web["privileged"] = json!(true);
    let (home, project) = (home(), unique("refused"));
    let plan = stack(home.path(), &project, &json!({ "web": web }), &json!({}));
    let mut bench = Bench::in_home(home, &plan);
    let why = bench.refused(Call::StartTarget { fresh: false });
    assert!(why.contains("[privileged]") && why.contains("[uncapped]"), "{why}");
    assert_eq!(left_of(&project), "");
}
