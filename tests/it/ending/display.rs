//! What a person sees while a run goes: dated lines without a terminal, moving lines on one.

use std::process::{Command, Stdio};

use super::{expect, files, printed};
use crate::end_to_end::Bench;

#[test]
fn without_a_terminal_the_course_is_told_in_dated_lines() {
    let bench = Bench::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_scaler"));
    command
        .args(["plan", "run", "tests/plans/ending.toml", "--set", "soak=12s", "--results"])
        .arg(bench.results.path());
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()).output().expect("scaler starts");
    expect(&output, 0, &["Highest pass  200 points"]);
    let lines = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!lines.contains('\u{1b}') && !lines.contains('\r'), "no control characters:\n{lines}");
    let is_dated = |line: &&str| line.starts_with("20") && line.get(10..11).is_some_and(|sign| " T".contains(sign));
    let course: Vec<&str> =
        lines.lines().filter(is_dated).map(|line| line.split_once(" UTC ").map_or(line, |(_, text)| text)).collect();
    for text in ["cell points=100", "phase soak (hold)", "phase custody (reconcile)", "cell done", "cell points=200"] {
        assert!(course.iter().any(|line| line.starts_with(text)), "{text:?} is not in:\n{lines}");
    }
    let looks: Vec<&&str> =
        course.iter().filter(|line| line.starts_with("1/2 points=100 · ") || line.starts_with("2/2 ")).collect();
    assert!(looks.iter().any(|line| line.contains(" · offered ") && line.contains(" · CPU ")), "{lines}");
}

#[test]
fn on_a_terminal_the_lines_move_and_leave_a_clean_screen() {
    let bench = Bench::new();
    let run = format!(
        "stty columns 200 rows 50; {} plan run tests/plans/ending.toml --set soak=7s --results {}",
        env!("CARGO_BIN_EXE_scaler"),
        bench.results.path().display()
    );
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &run, "/dev/null"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .expect("script starts");
    let shown = printed(&output);
    expect(
        &output,
        0,
        &["1/2 points=100 · soak ", "s left", "offered ", " · acked ", " · lag ", " · backlog ", " · CPU "],
    );
    expect(&output, 0, &["listener ", "closest: ", "2/2 points=200 · "]);
    assert!(!shown.contains("broken: "), "nothing is broken in a healthy run, not even for a moment:\n{shown}");
    // The moving lines are erased before the summary; nothing of them is drawn again after it began.
    let (moving, summary) = shown.rsplit_once("ending: What is left").expect("the summary");
    assert!(moving.contains("\u{1b}[2K"), "lines are erased");
    assert!(!summary.contains("\u{1b}["), "the summary is plain:\n{summary}");
    assert!(summary.contains("Highest pass  200 points"));
    assert_eq!(files(bench.results.path(), "json").len(), 1);
}
