//! Child processes: started, refused, lost, taken down with proof, brought back, and gone without a trace.

use std::{fs, net::TcpListener, time::Duration};

use scaler::{
    plan::phase::Signal,
    record::entry::EventKind,
    run::world::{Answer, Call, TakeDown, World},
};
use serde_json::json;

use super::bench::{Bench, eventually, free_port, kill_9, lives, services};

const START: Call = Call::StartTarget { fresh: false };
const WITHIN: Duration = Duration::from_secs(20);

fn sleeper() -> Bench {
    Bench::new(&services(&json!({ "it": { "command": ["sleep", "1000"] } })))
}

fn take_down(bench: &mut Bench, how: TakeDown) -> (u32, Option<String>, bool) {
    match bench.call(Call::TakeDown { service: "it".to_owned(), how }).unwrap() {
        Answer::Down { pid, ended, proven, .. } => (pid, ended, proven),
        other => panic!("{other:?}"),
    }
}

fn bring_back(bench: &mut Bench) -> (u32, Option<f64>) {
    match bench.call(Call::BringBack { service: "it".to_owned(), within: WITHIN }).unwrap() {
        Answer::Up { pid, ready_at, at } => {
            assert!(ready_at.is_none_or(|ready| ready >= at));
            (pid, ready_at)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_port_that_is_held_is_refused_and_its_holder_named() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port();
    let mut bench = Bench::new(&services(&json!({ "it": { "command": ["sleep", "1000"], "ports": [port] } })));
    let why = bench.refused(START);
    assert!(why.contains(&format!("port {port} is held by process {} (", std::process::id())), "{why}");
    drop(holder);
    bench.done(START);
}

#[test]
fn a_process_that_ends_before_it_is_ready_is_quoted() {
    let ready = json!({ "tcp": format!("127.0.0.1:{}", free_port()) });
    let command = json!(["sh", "-c", "echo noise; echo no such setting >&2; exit 3"]);
    let mut bench = Bench::new(&services(&json!({ "it": { "command": command, "ready": ready } })));
    let why = bench.refused(START);
    assert!(why.starts_with("it did not start: it ended with exit 3 before it was ready;"), "{why}");
    assert!(why.ends_with("noise\nno such setting"), "{why}");
    assert!(bench.events(EventKind::UnexpectedExit).is_empty());
}

#[test]
fn a_command_that_does_not_exist_is_named() {
    let mut bench = Bench::new(&services(&json!({ "it": { "command": ["no-such-program-anywhere"] } })));
    let why = bench.refused(START);
    assert!(why.contains("before it was ready") && why.contains("no-such-program-anywhere: "), "{why}");
}

#[test]
fn a_process_that_never_serves_is_refused_in_time() {
    let address = format!("127.0.0.1:{}", free_port());
    let ready = json!({ "tcp": address, "within": "200ms" });
    let mut bench = Bench::new(&services(&json!({ "it": { "command": ["sleep", "1000"], "ready": ready } })));
    let why = bench.refused(START);
    assert!(why.contains("not ready in time") && why.contains(&address), "{why}");
}

#[test]
fn services_start_in_order_and_an_unexpected_end_is_an_event() {
    let mut bench = Bench::new(&services(&json!({
        "second": { "command": ["sleep", "1000"], "after": ["first"] },
        "first": { "command": ["sh", "-c", "echo last words; exec sleep 1000"] },
    })));
    bench.done(START);
    let order: Vec<&str> = bench.events(EventKind::Started).iter().map(|event| event.subject.as_str()).collect();
    assert_eq!(order, ["first", "second"]);
    let log = bench.folder().join("logs/first.log");
    eventually("the log", || fs::read_to_string(&log).is_ok_and(|text| text.contains("last words")));
    kill_9(bench.pid("first"));
    let event = bench.event(EventKind::UnexpectedExit);
    assert_eq!(event.subject, "first");
    assert!(event.detail.starts_with("signal 9; ") && event.detail.ends_with("last words"), "{}", event.detail);
    let why = bench.failed(Call::TakeDown { service: "first".to_owned(), how: TakeDown::Stop });
    assert!(why.contains("had ended with signal 9 before"), "{why}");
}

#[test]
fn a_kill_is_proven_and_another_process_takes_its_place() {
    let mut bench = sleeper();
    bench.done(START);
    let before = bench.pid("it");
    assert_eq!(take_down(&mut bench, TakeDown::Kill(Signal::SigKill)), (before, Some("signal 9".to_owned()), true));
    assert!(!lives(before));
    let (after, ready_at) = bring_back(&mut bench);
    assert!(after != before && lives(after) && ready_at.is_some());
    bench.done(Call::StopTarget);
    assert!(!lives(after));
    assert!(bench.events(EventKind::UnexpectedExit).is_empty());
    assert_eq!(bench.events(EventKind::TakenDown)[0].detail, format!("kill SIGKILL, process {before}: signal 9"));
    assert_eq!(bench.events(EventKind::BroughtBack)[0].detail, format!("process {after}: ready"));
}

#[test]
fn a_signal_that_is_ignored_is_no_outage() {
    let command = json!(["sh", "-c", "trap '' INT; echo ready; while :; do sleep 0.01; done"]);
    let mut bench = Bench::new(&services(&json!({ "it": { "command": command, "stop_within": "300ms" } })));
    bench.done(START);
    let log = bench.folder().join("logs/it.log");
    eventually("the trap", || fs::read_to_string(&log).is_ok_and(|text| text.contains("ready")));
    let pid = bench.pid("it");
    assert_eq!(take_down(&mut bench, TakeDown::Kill(Signal::SigInt)), (pid, None, false));
    assert!(lives(pid));
}

#[test]
fn a_stop_that_takes_too_long_becomes_a_kill() {
    let command = json!(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"]);
    let mut bench = Bench::new(&services(&json!({ "it": { "command": command, "stop_within": "300ms" } })));
    bench.done(START);
    let log = bench.folder().join("logs/it.log");
    eventually("the trap", || fs::read_to_string(&log).is_ok_and(|text| text.contains("ready")));
    let pid = bench.pid("it");
    assert_eq!(take_down(&mut bench, TakeDown::Stop), (pid, Some("signal 9".to_owned()), true));
    assert!(!lives(pid));
}

#[test]
fn a_pause_is_proven_and_thawed() {
    let mut bench = sleeper();
    bench.done(START);
    let pid = bench.pid("it");
    let state = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().split(' ').nth(2).unwrap().to_owned();
    assert_eq!(take_down(&mut bench, TakeDown::Pause), (pid, None, true));
    assert_eq!(state(), "T");
    let (after, ready_at) = bring_back(&mut bench);
    assert!(after == pid && ready_at.is_some());
    assert_ne!(state(), "T");
}

#[test]
fn a_paused_process_can_be_stopped() {
    let mut bench = sleeper();
    bench.done(START);
    let pid = bench.pid("it");
    assert!(take_down(&mut bench, TakeDown::Pause).2);
    bench.done(Call::StopTarget);
    assert!(!lives(pid));
}

#[test]
fn a_fresh_start_empties_the_folder_and_replaces_the_processes() {
    let command = json!(["sh", "-c", "echo data > file; echo shared > ../history.sqlite; exec sleep 1000"]);
    let mut bench = Bench::new(&services(&json!({ "it": { "command": command } })));
    bench.done(START);
    let (own, shared) = (bench.folder().join("it/file"), bench.folder().join("history.sqlite"));
    eventually("the files", || own.exists() && shared.exists());
    fs::write(bench.folder().join("it/old"), "1").unwrap();
    let before = bench.pid("it");
    bench.done(START);
    assert_eq!(bench.pid("it"), before, "a target that runs is left alone");
    bench.done(Call::StartTarget { fresh: true });
    assert!(bench.pid("it") != before && !lives(before));
    assert!(!bench.folder().join("it/old").exists());
}

#[test]
fn only_the_plan_s_environment_is_passed_on() {
    let command = json!(["sh", "-c", "env > ../env; mv ../env ../environment; exec sleep 1000"]);
    let mut bench = Bench::new(&services(&json!({ "it": { "command": command, "env": { "OWN": "1" } } })));
    bench.done(START);
    let file = bench.folder().join("environment");
    eventually("the environment", || file.exists());
    let text = fs::read_to_string(file).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.contains(&"OWN") && names.contains(&"PATH"), "{names:?}");
    let known = ["OWN", "PATH", "HOME", "LANG", "TZ", "PWD", "SHLVL", "_", "OLDPWD"];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
}

#[test]
fn a_folder_with_files_of_others_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let folder = super::bench::target_folder(home.path());
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("thesis.tex"), "1").unwrap();
    let started = std::panic::catch_unwind(|| super::bench::world_in(home.path()).now());
    assert!(started.is_err());
    assert!(folder.join("thesis.tex").exists());
}

#[test]
fn nothing_lives_on_when_the_world_goes() {
    let command = json!(["sh", "-c", "sleep 1000 & echo $! > ../grandchild; mv ../grandchild ../known; wait"]);
    let mut bench = Bench::new(&services(&json!({ "it": { "command": command } })));
    bench.done(START);
    let known = bench.folder().join("known");
    eventually("the grandchild", || known.exists());
    let grandchild: u32 = fs::read_to_string(known).unwrap().trim().parse().unwrap();
    let pid = bench.pid("it");
    assert!(lives(pid) && lives(grandchild));
    drop(bench);
    assert!(!lives(pid));
    eventually("the end of the group", || !lives(grandchild));
}

#[test]
fn a_stop_during_a_start_ends_the_waiting() {
    let ready = json!({ "tcp": format!("127.0.0.1:{}", free_port()), "within": "1h" });
    let mut bench = Bench::new(&services(&json!({ "it": { "command": ["sleep", "1000"], "ready": ready } })));
    let starting = bench.world.call(START);
    eventually("the log", || bench.folder().join("logs/it.log").exists());
    let stopping = bench.world.call(Call::StopTarget);
    let mut answers = Vec::new();
    while answers.len() < 2 {
        if let scaler::run::world::Happening::Answer(ticket, answer) = bench.world.wait(60.0) {
            answers.push((ticket, answer.is_ok()));
        }
    }
    assert_eq!(answers, [(starting, false), (stopping, true)]);
}

#[test]
fn a_command_runs_to_its_end_or_to_its_limit() {
    let mut bench = sleeper();
    let mut run = |script: &str, within| {
        bench.call(Call::Command { command: ["sh", "-c", script].map(str::to_owned).to_vec(), within })
    };
    let Ok(Answer::Output { status, stdout, stderr, seconds }) = run("echo out; echo err >&2; exit 7", WITHIN) else {
        panic!("no output")
    };
    assert_eq!((status, stdout.as_str(), stderr.as_str()), (7, "out\n", "err"));
    assert!(seconds > 0.0);
    let Ok(Answer::Output { stdout, .. }) = run("head -c 3000000 /dev/zero | tr '\\0' x", WITHIN) else { panic!() };
    assert_eq!(stdout.len(), 1 << 20);
    let why = run("echo waiting >&2; sleep 1000", Duration::from_millis(300)).unwrap_err();
    assert!(why.reason().contains("killed after 0.3 s; it printed: waiting"), "{why:?}");
}
