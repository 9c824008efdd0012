//! What a hostile or unlucky user gives: nothing of it makes scaler fall, write over a file, tell a secret or lose output in silence.

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::{ffi::OsStrExt, fs::symlink},
    process::Stdio,
};

use super::{ROOT, command, err, expect_code, folder, out, scaler_in};
use crate::end_to_end::Bench;

#[test]
fn output_that_a_full_device_does_not_take_is_an_error() {
    let full = File::options().write(true).open("/dev/full").expect("a full device");
    let output = command(ROOT.as_ref(), &["plan", "schema"]).stdout(Stdio::from(full)).output().expect("scaler starts");
    expect_code(&output, 70);
    assert!(err(&output).starts_with("error: cannot write to standard output: "), "{}", err(&output));
}

#[test]
fn a_plan_without_end_is_refused() {
    let output = scaler_in(ROOT.as_ref(), &["plan", "check", "/dev/zero"]);
    expect_code(&output, 3);
}

#[test]
fn a_revision_is_no_option_of_git() {
    let folder = folder();
    fs::create_dir(folder.path().join("v:.")).expect("a folder");
    let victim = folder.path().join("v:./q.toml");
    fs::write(&victim, "precious").expect("a file");
    let output = scaler_in(folder.path(), &["plan", "diff", "--", "--output=v:q.toml", "q.toml"]);
    expect_code(&output, 3);
    assert_eq!(fs::read_to_string(&victim).expect("the file"), "precious");
}

#[test]
fn a_calibration_of_no_length_is_refused() {
    let folder = folder();
    let output = scaler_in(folder.path(), &["calibrate", "--for", "0s"]);
    expect_code(&output, 3);
    assert!(err(&output).contains("at least 1s"), "{}", err(&output));
    expect_code(&scaler_in(folder.path(), &["calibrate", "--for", "1s", "--results", "/dev/null"]), 3);
}

#[test]
fn a_lock_that_is_a_link_is_not_followed() {
    let bench = Bench::new();
    let victim = bench.results.path().join("victim");
    fs::write(&victim, "precious").expect("a file");
    symlink(&victim, bench.results.path().join(".lock")).expect("a link");
    let output = bench.command("tests/plans/short.toml", &[]).output().expect("scaler starts");
    expect_code(&output, 3);
    assert_eq!(fs::read_to_string(&victim).expect("the file"), "precious");
}

#[test]
fn a_folder_whose_name_is_no_text_makes_nothing_fall() {
    let bench = Bench::new();
    let results = bench.results.path().join(OsStr::from_bytes(b"bad\xff"));
    let output = Bench::command_in(&results, "tests/plans/short.toml", &[]).output().expect("scaler starts");
    assert_ne!(output.status.code(), Some(70), "{}", err(&output));
    assert!(!err(&output).contains("defect"), "{}", err(&output));
}

#[test]
fn a_secret_is_in_no_message_and_one_that_cannot_be_kept_is_refused() {
    let bench = Bench::new();
    // The broker refuses this account, and its message holds what it was given.
    let secret = "Zq7Secret,Planted99x";
    let output =
        bench.command("tests/plans/short.toml", &[]).env("SCALEGEN_PASSWORD", secret).output().expect("scaler");
    assert_ne!(output.status.code(), Some(0));
    assert!(err(&output).contains("[redacted:SCALEGEN_PASSWORD]"), "{}", err(&output));
    assert!(!err(&output).contains(secret) && !out(&output).contains(secret), "{}", err(&output));
    for (unusable, why) in [
        ("custody", "stands in the plan"),
        ("samples", "stands in the plan or in the form of results"),
        ("it's {{ vars.soak }}", "holds a template"),
    ] {
        let output = bench.command("tests/plans/short.toml", &[]).env("SCALEGEN_PASSWORD", unusable).output();
        let output = output.expect("scaler starts");
        expect_code(&output, 3);
        let said = err(&output);
        assert!(said.contains("the secret `SCALEGEN_PASSWORD`") && said.contains(why), "{said}");
    }
}
