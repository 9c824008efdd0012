//! A results folder that cannot be used, or cannot be used any more.

use std::{
    fs,
    process::{Command, Output, Stdio},
};

use super::{Going, expect, expect_nobody, files, printed};
use crate::end_to_end::Bench;

/// Runs a script in a mount namespace of its own, so that a small disk is nobody else's. `$R` is the disk's folder, `$RUN` the run.
fn on_a_disk(bench: &Bench, options: &str, script: &str) -> Output {
    let folder = bench.results.path().join("disk");
    fs::create_dir(&folder).expect("a folder");
    let command = Bench::command_in(&folder, "tests/plans/ending.toml", &[]);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let run = words.map(|word| word.to_str().expect("UTF-8")).collect::<Vec<_>>().join(" ");
    let unshare: &[&str] =
        if rustix::process::geteuid().is_root() { &["--mount"] } else { &["--mount", "--user", "--map-root-user"] };
    Command::new("unshare")
        .args(unshare)
        .args(["sh", "-c", &format!("mount -t tmpfs -o {options} none \"$R\" || exit 99\n{script}")])
        .env("R", &folder)
        .env("RUN", run)
        .env("SCALER", env!("CARGO_BIN_EXE_scaler"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .expect("unshare starts")
}

#[test]
fn a_full_disk_is_known_before_anything_is_started() {
    let bench = Bench::new();
    let script = "head -c 200k /dev/zero > $R/ballast; $RUN; code=$?; ls -A $R; exit $code";
    let output = on_a_disk(&bench, "size=200k", script);
    expect(&output, 3, &["No space left on device", "free some space, or choose another folder with --results"]);
    let all = printed(&output);
    assert!(!all.contains(".journal\n") && !all.contains(".target\n"), "nothing is left behind:\n{all}");
    expect_nobody(bench.results.path());
}

#[test]
fn a_disk_that_fills_ends_the_run_and_what_was_written_is_recovered() {
    let bench = Bench::new();
    let script = "\
        $RUN --set soak=10m & \
        until grep -qs 'window_opened.*\"soak\"' $R/*.journal; do sleep 0.05; done; \
        cat /dev/zero > $R/ballast 2>/dev/null; \
        wait $!; code=$?; \
        rm $R/ballast; $SCALER results recover $R/*.journal || exit 98; \
        exit $code";
    let output = on_a_disk(&bench, "size=32m", script);
    expect(
        &output,
        70,
        &["cannot be kept: No space left on device", "`scaler results recover ", "inconclusive, interrupted"],
    );
    expect_nobody(bench.results.path());
}

#[test]
fn a_folder_that_may_not_be_written_is_refused_with_advice() {
    let bench = Bench::new();
    let output = on_a_disk(&bench, "ro", "$RUN");
    expect(&output, 3, &["Read-only file system", "choose another folder with --results"]);
    let file = bench.results.path().join("file");
    fs::write(&file, "").expect("a file");
    for path in [file.clone(), file.join("below")] {
        let output = Bench::command_in(&path, "tests/plans/ending.toml", &[]).output().expect("scaler");
        expect(&output, 3, &["cannot make the folder", "choose another folder with --results"]);
    }
}

#[test]
fn a_folder_that_is_removed_ends_the_run_at_once() {
    let bench = Bench::new();
    let results = bench.results.path().join("results");
    let run = Going::start(&mut Bench::command_in(&results, "tests/plans/ending-in-pause.toml", &[]), &results);
    run.wait_until("\"taken_down\"");
    fs::remove_dir_all(&results).expect("the folder is removed");
    expect(&run.end(), 70, &["was removed while the run wrote it", "leave its results folder alone while it goes on"]);
    expect_nobody(&results);
    assert!(files(&results, "journal").is_empty());
}
