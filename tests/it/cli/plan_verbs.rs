//! The verbs of `scaler plan` that need nothing but files.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{err, expect_code, folder, out, scaler, scaler_in};

const QUICKSTART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/plans/quickstart.toml");

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(arguments);
    let output = command.output().expect("git starts");
    assert!(output.status.success(), "git {arguments:?}: {}", err(&output));
}

/// The quickstart plan in a folder of its own, as `plan.toml`.
fn with_plan(folder: &Path) -> PathBuf {
    let path = folder.join("plan.toml");
    fs::copy(QUICKSTART, &path).expect("a copy");
    path
}

#[test]
fn check_prints_the_estimate_or_all_problems() {
    let good = scaler(&["plan", "check", QUICKSTART]);
    expect_code(&good, 0);
    assert!(out(&good).contains("50,000") && out(&good).contains("messages"), "{}", out(&good));

    let folder = folder();
    let path = with_plan(folder.path());
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace("measure = true", "measured = true")
        .replace("below = \"5s\"", "below = \"5 parsecs\"");
    fs::write(&path, text).unwrap();
    let bad = scaler_in(folder.path(), &["plan", "check", "plan.toml"]);
    expect_code(&bad, 3);
    assert!(
        err(&bad).contains("measured") && err(&bad).contains("parsecs") && err(&bad).contains("plan.toml:"),
        "{}",
        err(&bad)
    );

    let json = scaler_in(folder.path(), &["plan", "check", "plan.toml", QUICKSTART, "--json"]);
    expect_code(&json, 3);
    let lines: Vec<Value> =
        out(&json).lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(lines.len(), 2);
    let errors = lines[0]["problems"].as_array().unwrap();
    assert!(errors.len() >= 2 && errors.iter().all(|problem| problem["line"].is_u64()), "{errors:?}");
    assert_eq!(lines[1]["estimate"].as_array().map(Vec::len), Some(3));
    assert_eq!(lines[1]["estimate"][2]["step"], 50_000);
}

#[test]
fn an_undeclared_variable_is_refused() {
    let output = scaler(&["plan", "check", QUICKSTART, "--set", "soack=1m"]);
    expect_code(&output, 3);
    assert!(err(&output).contains("soack") && err(&output).contains("did you mean `soak`?"), "{}", err(&output));
    expect_code(&scaler(&["plan", "check", QUICKSTART, "--set", "soak=1m"]), 0);
}

#[test]
fn show_is_the_plan_with_origins_and_touches() {
    let output = scaler(&["plan", "show", "plans/quickstart.toml", "--set", "soak=31s"]);
    expect_code(&output, 0);
    let text = out(&output);
    let plan: toml::Value = toml::from_str(&text).expect("TOML");
    assert_eq!(plan["vars"]["soak"].as_str(), Some("31s"));
    for part in [
        "# plans/quickstart.toml:",
        "# --set:1",
        "{{ run.scaler }} reference broker",
        "mqtt://127.0.0.1:21883",
        "quickstart.env",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn a_template_says_what_it_asks_for() {
    let output = scaler(&["plan", "new", "reference-host"]);
    expect_code(&output, 0);
    assert!(out(&output).contains("* host") && out(&output).contains("--set host=…"), "{}", out(&output));
    let unknown = scaler(&["plan", "new", "reference-hots"]);
    expect_code(&unknown, 3);
    assert!(err(&unknown).contains("reference-host"), "{}", err(&unknown));
}

#[test]
fn new_makes_a_plan_that_is_right_and_overwrites_none() {
    let folder = folder();
    fs::create_dir(folder.path().join("schema")).unwrap();
    fs::write(folder.path().join("schema/plan.schema.json"), "{}").unwrap();
    let new = |extra: &[&str]| {
        scaler_in(folder.path(), &[&["plan", "new", "reference-host", "-o", "plans/deep/nash.toml"], extra].concat())
    };
    let missing = new(&[]);
    expect_code(&missing, 3);
    assert!(err(&missing).contains("needs the variable `host`"), "{}", err(&missing));
    let stranger = new(&["--set", "host=nash", "--set", "saok=1m"]);
    expect_code(&stranger, 3);
    assert!(err(&stranger).contains("did you mean `soak`?"), "{}", err(&stranger));
    let wrong = new(&["--set", "host=nash", "--set", "soak=1 moon"]);
    expect_code(&wrong, 3);
    assert!(!folder.path().join("plans").exists(), "a plan that is wrong is not written");

    expect_code(&new(&["--set", "host=nash", "--set", "steps=1k,2k"]), 0);
    let path = folder.path().join("plans/deep/nash.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("#:schema ../../schema/plan.schema.json\n"), "{text}");
    expect_code(&scaler(&["plan", "check", path.to_str().unwrap()]), 0);
    let again = new(&["--set", "host=other"]);
    expect_code(&again, 3);
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "a plan is never overwritten");
}

#[test]
fn init_writes_each_secret_once() {
    let folder = folder();
    with_plan(folder.path());
    let path = folder.path().join("plan.env");
    fs::write(&path, "# mine\nOTHER=kept\n").unwrap();
    expect_code(&scaler_in(folder.path(), &["plan", "init", "plan.toml"]), 0);
    let first = fs::read_to_string(&path).unwrap();
    let value = first.lines().find_map(|line| line.strip_prefix("SCALEGEN_PASSWORD=")).expect("the secret");
    assert!(value.len() == 32 && value.chars().all(|c| c.is_ascii_alphanumeric()), "{first}");
    assert!(first.starts_with("# mine\nOTHER=kept\n"), "{first}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    let again = scaler_in(folder.path(), &["plan", "init", "plan.toml"]);
    expect_code(&again, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), first, "a secret is never overwritten");
    assert!(!err(&again).contains(value) && !out(&again).contains(value), "a secret is never printed");
    let rotated = scaler_in(folder.path(), &["plan", "init", "plan.toml", "--rotate"]);
    expect_code(&rotated, 0);
    let second = fs::read_to_string(&path).unwrap();
    assert!(second != first && second.contains("OTHER=kept"), "{second}");
}

#[test]
fn init_refuses_a_file_that_git_would_commit() {
    let folder = folder();
    with_plan(folder.path());
    git(folder.path(), &["init", "--quiet"]);
    let refused = scaler_in(folder.path(), &["plan", "init", "plan.toml"]);
    expect_code(&refused, 3);
    assert!(err(&refused).contains("git does not ignore plan.env"), "{}", err(&refused));
    assert!(!folder.path().join("plan.env").exists());
    fs::write(folder.path().join(".gitignore"), "*.env\n").unwrap();
    expect_code(&scaler_in(folder.path(), &["plan", "init", "plan.toml"]), 0);
}

#[test]
fn diff_tells_what_changes_in_meaning() {
    let folder = folder();
    let path = with_plan(folder.path());
    git(folder.path(), &["init", "--quiet"]);
    git(folder.path(), &["add", "plan.toml"]);
    git(folder.path(), &["commit", "--quiet", "-m", "a"]);
    let same = scaler_in(folder.path(), &["plan", "diff", "HEAD:plan.toml", "plan.toml"]);
    expect_code(&same, 0);
    assert!(out(&same).contains("The two plans mean the same."), "{}", out(&same));

    let text = fs::read_to_string(&path).unwrap();
    let text = text
        .replace("soak = \"15s\"", "soak = \"5s\"")
        .replace("below = \"5s\"", "below = \"10s\"")
        .replace("warm_up = \"3s\"", "warm_up = \"3000ms\"");
    fs::write(&path, text).unwrap();
    let changed = scaler_in(folder.path(), &["plan", "diff", "HEAD:plan.toml", "plan.toml"]);
    expect_code(&changed, 0);
    let shown = out(&changed);
    for line in
        ["gate lag.p95_s: < 5s → < 10s (loosened)", "soak: hold.for 15s → 5s", "variable soak: 15s → 5s", "rows: "]
    {
        assert!(shown.contains(line), "{line:?} is not in\n{shown}");
    }
    assert!(!shown.contains("warm"), "another spelling is no change:\n{shown}");
    let markdown = scaler_in(folder.path(), &["plan", "diff", "HEAD:plan.toml", "plan.toml", "--markdown"]);
    assert!(
        out(&markdown).starts_with("### Gates\n\n- gate lag.p95_s: `< 5s` → `< 10s` (loosened)\n"),
        "{}",
        out(&markdown)
    );
    let nowhere = scaler_in(folder.path(), &["plan", "diff", "nowhere:plan.toml", "plan.toml"]);
    expect_code(&nowhere, 3);
    assert!(err(&nowhere).contains("nowhere"), "{}", err(&nowhere));
}

#[test]
fn diff_tells_what_a_plan_leaves_out_and_not_how_it_says_so() {
    let folder = folder();
    with_plan(folder.path());
    let write = |name: &str, text: &str| {
        let head = "format = 1\nname = \"quickstart\"\nextends = \"plan.toml\"\n";
        fs::write(folder.path().join(name), format!("{head}{text}")).expect("a plan");
    };
    let diff = |before: &str, after: &str| {
        let output = scaler_in(folder.path(), &["plan", "diff", before, after]);
        expect_code(&output, 0);
        out(&output)
    };
    let (gate, watch) = ("gate/no growing backlog", "watches/queue");
    write("less.toml", &format!("without = [\"{gate}\", \"{watch}\", \"not_proven/one host\"]"));
    let left_out = diff("plan.toml", "less.toml");
    let gone = "gate no growing backlog removed: lag.growth_s ≤ 2s, a miss is fail (loosened)";
    for line in [gone, "watch queue removed: ", "not proven: one host removed: "] {
        assert!(left_out.contains(line), "{line:?} is not in\n{left_out}");
    }
    assert!(left_out.matches(" removed: ").count() == 3 && !left_out.contains("without"), "{left_out}");
    assert!(diff("less.toml", "plan.toml").contains("(tightened)"));

    // Another way to say the same, in another order and in two steps, means the same.
    write("watchless.toml", &format!("without = [\"{watch}\"]"));
    let further = format!("without = [\"not_proven/one host\", \"{gate}\"]");
    write("further.toml", &further);
    let text = fs::read_to_string(folder.path().join("further.toml")).unwrap();
    fs::write(folder.path().join("further.toml"), text.replace("plan.toml", "watchless.toml")).unwrap();
    assert!(diff("less.toml", "further.toml").contains("The two plans mean the same."));

    // What is left out and written anew is compared with what it was.
    let anew = "[[gate]]\nname = \"no growing backlog\"\nmetric = \"lag.growth_s\"\nat_most = \"3s\"\n";
    write("anew.toml", &format!("without = [\"{gate}\"]\n{anew}"));
    let moved = diff("plan.toml", "anew.toml");
    assert!(moved.contains("gate no growing backlog: ≤ 2s → ≤ 3s (loosened)"), "{moved}");
}

#[test]
fn the_schema_that_is_printed_is_the_one_that_is_shipped() {
    for (arguments, name) in [(&["plan", "schema"][..], "plan"), (&["plan", "schema", "--result"], "result")] {
        let output = scaler(arguments);
        expect_code(&output, 0);
        let shipped = fs::read_to_string(Path::new(super::ROOT).join(format!("schema/{name}.schema.json"))).unwrap();
        assert_eq!(out(&output), shipped);
    }
}
