//! `plan guard`, `plan up` and `plan down` of the real program.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::json;

use super::bench::{WAITING, caps, docker, home, left_of, shared, shell, stack, unique};

const REFUSED: i32 = 4;

/// Writes a plan around a stack; what is measured does not matter.
fn plan(home: &Path, project: &str, web: &serde_json::Value) {
    let tables = stack(home, project, &json!({ "web": web }), &caps(&["web"]));
    let compose = toml::to_string(&json!({ "target": tables["target"] })).unwrap();
    let text = format!(
        "format = 1\nname = \"verbs\"\nquestion = \"?\"\n{compose}\n[isolation]\nports_refused = [1883]\n\
         [[phase]]\nname = \"soak\"\nhold = {{ for = \"10s\", measure = true }}\n\
         [[gate]]\nmetric = \"engine.oom_kills\"\nequals = 0\n"
    );
    fs::write(home.join("verbs.toml"), text).unwrap();
}

fn scaler(home: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scaler"));
    let Output { status, stdout, stderr } = command.current_dir(home).args(arguments).output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned())
}

#[test]
fn a_stack_goes_up_and_comes_down_and_says_what_was_removed() {
    let _turn = shared();
    let (home, project) = (home(), unique("verbs"));
    let home = home.path();
    plan(home, &project, &shell(WAITING));
    let (code, out, _) = scaler(home, &["plan", "guard", "verbs.toml"]);
    assert_eq!(code, Some(0));
    let expected =
        format!("project   {project}\nnetworks  {project}_default\ncaps      web: 0.25 CPUs, 32MiB of memory\n");
    assert_eq!(out.trim_end(), expected.trim_end());

    let (code, out, err) = scaler(home, &["plan", "up", "verbs.toml"]);
    assert_eq!((code, out.trim_end()), (Some(0), &*format!("web running: container {project}-web-1")), "{err}");
    let limits = docker(&[
        "inspect",
        "--format",
        "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}} {{.HostConfig.LogConfig.Config}}",
        &format!("{project}-web-1"),
    ]);
    assert_eq!(limits, "250000000 33554432 map[max-file:3 max-size:50000000]");

    let (code, out, err) = scaler(home, &["plan", "down", "verbs.toml", "--volumes"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out, format!("removed container {project}-web-1\nremoved network {project}_default\n"));
    assert_eq!(left_of(&project), "");
}

#[test]
fn every_verb_refuses_with_every_reason_and_exit_code_4() {
    let _turn = shared();
    let (home, project) = (home(), unique("bad"));
    let home = home.path();
    let mut web = shell(WAITING);
    web["ports"] = json!(["1883:1883"]);
    plan(home, &project, &web);
    for verb in ["guard", "up", "down"] {
        let (code, out, err) = scaler(home, &["plan", verb, "verbs.toml"]);
        assert_eq!((code, out.as_str()), (Some(REFUSED), ""), "{verb}: {err}");
        assert!(err.contains("[open_port]") && err.contains("[live_port]"), "{verb}: {err}");
    }
    assert_eq!(left_of(&project), "");
}
