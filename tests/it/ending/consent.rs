//! A plan from elsewhere is not run unasked; one that takes processes down is not started by accident.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use super::{expect, files};

const SCALER: &str = env!("CARGO_BIN_EXE_scaler");

struct Stranger {
    folder: tempfile::TempDir,
}

impl Stranger {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans/command.toml");
        fs::copy(own, folder.path().join("command.toml")).expect("a copy");
        Self { folder }
    }

    fn plan(&self) -> PathBuf {
        self.folder.path().join("command.toml")
    }

    fn run(&self, plan: &Path, more: &[&str]) -> Output {
        let mut command = Command::new(SCALER);
        command.args(["plan", "run"]).arg(plan).arg("--results").arg(self.folder.path().join("results")).args(more);
        command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()).output().expect("scaler starts")
    }

    /// Runs it on a terminal, on which a person types.
    fn on_a_terminal(&self, plan: &str, more: &str, typed: &str) -> Output {
        let results = self.folder.path().join("results");
        let line = format!("{SCALER} plan run {plan} --results {} {more}", results.display());
        let mut script = Command::new("script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script starts");
        script.stdin.as_mut().expect("a pipe").write_all(typed.as_bytes()).expect("typed");
        script.wait_with_output().expect("script ends")
    }

    fn runs(&self) -> usize {
        files(&self.folder.path().join("results"), "journal").len()
    }
}

#[test]
fn a_plan_from_elsewhere_is_not_run_unasked() {
    let stranger = Stranger::new();
    let plan = stranger.plan();
    let refused = stranger.run(&plan, &[]);
    expect(&refused, 3, &["lies outside of this folder", "nothing was started", "give `--trust` to run it"]);
    expect(&stranger.run(&plan, &["--yes"]), 3, &["give `--trust`"]);
    assert_eq!(stranger.runs(), 0);
    expect(&stranger.run(&plan, &["--trust"]), 0, &["Verdict       pass"]);
    expect(&stranger.run(Path::new("tests/plans/command.toml"), &[]), 0, &["Verdict       pass"]);
    assert_eq!(stranger.runs(), 2);
}

#[test]
fn on_a_terminal_the_user_is_asked() {
    let stranger = Stranger::new();
    let plan = stranger.plan().display().to_string();
    let asked = ["commands that are run", "phase command", "Trust it and run it? [y/N]"];
    expect(&stranger.on_a_terminal(&plan, "", "n\n"), 3, &asked);
    assert_eq!(stranger.runs(), 0);
    expect(&stranger.on_a_terminal(&plan, "", "y\n"), 0, &asked);
    assert_eq!(stranger.runs(), 1);
    let own = "tests/plans/listener-kill.toml";
    expect(
        &stranger.on_a_terminal(own, "", "\n"),
        3,
        &["It takes down: listener.", "Run it? [y/N]", "nothing was started"],
    );
    let silent = stranger.on_a_terminal("tests/plans/command.toml", "", "");
    assert!(!super::printed(&silent).contains("[y/N]"), "a short plan that takes nothing down is not asked about");
}
