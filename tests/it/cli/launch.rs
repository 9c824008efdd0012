//! `scaler launch`: children that end with their parent.

use std::{
    fs,
    process::{Command, Stdio},
};

use super::{err, expect_code, folder, out, scaler};

#[test]
fn launch_becomes_the_command_only_under_its_parent() {
    let own = std::process::id().to_string();
    let output = scaler(&[
        "launch",
        "--parent",
        &own,
        "--cpuset",
        "0",
        "--",
        "sh",
        "-c",
        "grep Cpus_allowed_list /proc/self/status; exit 7",
    ]);
    expect_code(&output, 7);
    assert_eq!(out(&output).split_whitespace().last(), Some("0"));
    let orphan = scaler(&["launch", "--parent", "1", "--", "true"]);
    expect_code(&orphan, 4);
    let missing = scaler(&["launch", "--parent", &own, "--", "no-such-program"]);
    expect_code(&missing, 4);
    assert!(err(&missing).contains("no-such-program"), "{}", err(&missing));
}

#[test]
fn a_launched_command_ends_with_its_parent() {
    let folder = folder();
    let script = format!("\"{}\" launch --parent $$ -- sleep 600 & echo $! > pid; wait", env!("CARGO_BIN_EXE_scaler"));
    let mut parent = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .spawn()
        .expect("sh starts");
    let child = wait_for(|| {
        let pid = fs::read_to_string(folder.path().join("pid")).ok()?.trim().to_owned();
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        (name.trim() == "sleep").then_some(pid)
    });
    parent.kill().expect("SIGKILL");
    parent.wait().expect("the parent ends");
    wait_for(|| {
        let status = fs::read_to_string(format!("/proc/{child}/stat"));
        // A killed process that nobody has reaped yet is a zombie.
        status.map_or(true, |text| text.contains(") Z ")).then_some(())
    });
}

/// Asks until there is an answer; a minute is for machines that do much else.
fn wait_for<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    for _ in 0..6_000 {
        if let Some(answer) = ask() {
            return answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it did not happen within a minute");
}
