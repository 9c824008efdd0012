//! The command line as it is met from outside: exit codes, help, colour, completions, the manual.

mod examples;
mod hostile;
mod launch;
mod plan_verbs;

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

/// The repository, whose plans and templates the tests use.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs scaler in a folder.
fn scaler_in(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("scaler starts")
}

fn scaler(arguments: &[&str]) -> Output {
    scaler_in(Path::new(ROOT), arguments)
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scaler"));
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE");
    command
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

#[track_caller]
fn expect_code(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "stdout:\n{}\nstderr:\n{}", out(output), err(output));
}

/// An empty folder in which git knows nothing, or a checkout.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn help_is_a_result_and_documents_the_exit_codes() {
    let output = scaler(&["--help"]);
    expect_code(&output, 0);
    let text = out(&output);
    for line in [
        " 0  pass",
        " 1  fail",
        " 2  inconclusive",
        " 3  the plan",
        " 4  the target",
        " 5  interrupted",
        "70  internal",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    assert!(!text.contains("launch"), "the verb for children is hidden:\n{text}");
    expect_code(&scaler(&["--version"]), 0);
}

#[test]
fn every_verb_teaches_by_example() {
    let verbs: &[&[&str]] = &[
        &["plan", "run"],
        &["plan", "check"],
        &["plan", "show"],
        &["plan", "diff"],
        &["plan", "new"],
        &["plan", "init"],
        &["plan", "schema"],
        &["results", "show"],
        &["results", "judge"],
        &["results", "recover"],
        &["calibrate"],
        &["completions"],
        &["man"],
    ];
    for verb in verbs {
        let output = scaler(&[*verb, &["--help"]].concat());
        expect_code(&output, 0);
        let example = format!("  scaler {}", verb.join(" "));
        assert!(out(&output).contains(&example), "{verb:?} shows no example:\n{}", out(&output));
    }
}

#[test]
fn wrong_arguments_are_code_3() {
    for arguments in [
        &["nonsense"][..],
        &[],
        &["plan"],
        &["plan", "check"],
        &["plan", "check", "a", "--set", "x"],
        &["completions", "x"],
    ] {
        let output = scaler(arguments);
        expect_code(&output, 3);
        assert!(out(&output).is_empty() && !err(&output).is_empty(), "{arguments:?}");
    }
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let missing = &["plan", "check", "no-such-plan.toml"];
    let plain = scaler(missing);
    expect_code(&plain, 3);
    assert!(!err(&plain).contains('\u{1b}'), "{}", err(&plain));
    let coloured = scaler(&[missing, &["--color", "always"][..]].concat());
    assert!(err(&coloured).contains('\u{1b}'), "{}", err(&coloured));
    let never = command(Path::new(ROOT), &["--help", "--color=never"])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .expect("scaler starts");
    assert!(!out(&never).contains('\u{1b}'));
    let no_color = command(Path::new(ROOT), missing).env("NO_COLOR", "1").output().expect("scaler starts");
    assert!(!err(&no_color).contains('\u{1b}'));
}

#[test]
fn completions_and_manual_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = scaler(&["completions", shell]);
        expect_code(&output, 0);
        assert!(out(&output).contains("scaler") && out(&output).contains("diff"), "{shell}");
    }
    let page = scaler(&["man"]);
    expect_code(&page, 0);
    assert!(out(&page).contains(".TH scaler 1"), "{}", out(&page));
    let folder = folder();
    expect_code(&scaler(&["man", "--out", folder.path().to_str().unwrap()]), 0);
    let pages: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|page| page.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    for page in ["scaler.1", "scaler-plan.1", "scaler-plan-diff.1"] {
        assert!(pages.iter().any(|name| name == page), "{page} is not in {pages:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child =
        command(Path::new(ROOT), &["completions", "bash"]).stdout(Stdio::piped()).spawn().expect("scaler starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("scaler ends").code(), Some(0));
}
