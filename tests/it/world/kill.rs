//! `kill -9` of scaler leaves no child. The test plays both parts: started with a folder in its environment, it is the victim.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use scaler::{
    record::entry::Entry,
    run::world::{Call, Happening, World},
};
use serde_json::json;

use super::bench::{cell, eventually, kill_9, lives, services, world_in};

const VICTIM: &str = "SCALER_TEST_VICTIM_HOME";

#[test]
fn kill_9_of_the_parent_leaves_no_child() {
    if let Some(home) = std::env::var_os(VICTIM) {
        victim(Path::new(&home));
    }
    let home = tempfile::tempdir().unwrap();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["world::kill::kill_9_of_the_parent_leaves_no_child", "--exact", "--nocapture"])
        .env(VICTIM, home.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let mut said = lines.map_while(Result::ok).filter_map(|line| Some(line.split("victim: ").nth(1)?.to_owned()));
    let pid = said.next().unwrap().parse().unwrap();
    assert!(lives(pid));
    // Each wish to stop is counted, also one that comes while nobody waits for it.
    for (signal, times) in [("-INT", "interrupted 1"), ("-TERM", "interrupted 2"), ("-HUP", "interrupted 3")] {
        assert!(Command::new("kill").args([signal, &victim.id().to_string()]).status().unwrap().success());
        assert_eq!(said.next().as_deref(), Some(times));
    }
    kill_9(victim.id());
    victim.wait().unwrap();
    eventually("the end of the child", || !lives(pid));
}

/// Starts a target, says its process, and waits for its death.
fn victim(home: &Path) -> ! {
    let mut world = world_in(home);
    world.call(Call::UsePlan(Box::new(cell(&services(&json!({ "it": { "command": ["sleep", "1000"] } }))))));
    world.call(Call::StartTarget { fresh: false });
    loop {
        match world.wait(600.0) {
            Happening::Entry(Entry::Event(event)) => {
                let pid = event.detail.strip_prefix("process ").unwrap().split(',').next().unwrap();
                println!("\nvictim: {pid}");
            }
            Happening::Interrupted(times) => println!("\nvictim: interrupted {times}"),
            _ => {}
        }
    }
}

#[test]
fn a_launch_whose_parent_is_gone_does_not_run() {
    let output = Command::new(env!("CARGO_BIN_EXE_scaler"))
        .args(["launch", "--parent", "1", "--", "echo", "alive"])
        .output()
        .unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("is gone"));
}

#[test]
fn a_launch_confines_its_command() {
    let me = std::process::id().to_string();
    let launch = |cpus: &str| {
        let script = "grep Cpus_allowed_list /proc/self/status";
        let arguments = ["launch", "--parent", &me, "--cpuset", cpus, "--", "sh", "-c", script];
        Command::new(env!("CARGO_BIN_EXE_scaler")).args(arguments).output().unwrap()
    };
    assert_eq!(String::from_utf8_lossy(&launch("0").stdout), "Cpus_allowed_list:\t0\n");
    assert!(!launch("1-0").status.success());
}
