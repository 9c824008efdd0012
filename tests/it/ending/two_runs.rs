//! Two runs at once: the second is refused, names the first, and touches nothing.

use rustix::process::Signal;

use super::{Going, expect, expect_nobody, files, printed};
use crate::end_to_end::Bench;

#[test]
fn a_second_run_is_refused_and_the_first_goes_on() {
    let bench = Bench::new();
    let folder = bench.results.path();
    let first = Going::of(&bench, "tests/plans/ending-in-pause.toml");
    first.wait_until("\"taken_down\"");
    let before =
        (files(folder, "journal"), files(folder, "target"), std::fs::read_dir(folder).expect("the folder").count());
    let id = before.0[0].file_name().expect("a name").to_string_lossy()[..16].to_owned();

    let same_folder = bench.command("tests/plans/ending.toml", &[]).output().expect("scaler starts");
    let holder = format!("is in use by run {id} of plan ending-in-pause (process {})", first.child.id());
    expect(&same_folder, 4, &[&holder, "wait for it, or choose another folder with --results"]);
    let after =
        (files(folder, "journal"), files(folder, "target"), std::fs::read_dir(folder).expect("the folder").count());
    assert_eq!(after, before);

    // Another results folder does not make two targets fit on the same ports.
    let other = tempfile::tempdir().expect("a folder");
    let same_ports = Bench::command_in(other.path(), "tests/plans/ending.toml", &[]).output().expect("scaler starts");
    expect(&same_ports, 4, &["port 21883 is held by process ", "reference broker", "\"verdict\":\"inconclusive\""]);
    assert!(!printed(&same_ports).contains("ready after"), "nothing was started");
    expect_nobody(other.path());

    first.signal(Signal::INT);
    expect(&first.end(), 5, &["\"result\":"]);
}
