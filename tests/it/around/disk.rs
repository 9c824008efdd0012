//! Disks that fill: small ones of the test's own, mounted and unmounted by it.

use std::{
    fs::{self, File},
    io::Write,
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Going, assert_no_ceiling, cause, standing, stderr};
use crate::end_to_end::Bench;

/// A disk of some megabytes in memory, unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: &Path, megabytes: u32) -> Self {
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).status();
        assert!(mounted.expect("mount").success(), "a small disk needs the right to mount one");
        Self(folder.to_owned())
    }

    /// Writes until nothing more fits, or so many bytes.
    fn fill(&self, bytes: usize) {
        let mut file = File::create(self.0.join("ballast")).expect("a file");
        let (chunk, mut written) = ([1_u8; 4096], 0);
        while written < bytes && file.write_all(&chunk).is_ok() {
            written += chunk.len();
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("ballast")).expect("the ballast");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_full_results_disk_ends_the_run_and_keeps_what_was_written() {
    let bench = Bench::new();
    let disk = SmallDisk::mount(bench.results.path(), 32);
    let mut run = Going::start(&bench, "tests/plans/around.toml", &["soak=60s"]);
    run.until_phase("soak");
    run.until("slice", "readings");
    disk.fill(usize::MAX);
    let journal = run.journal_path().expect("a journal");
    let output = run.output();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(70), "{words}");
    assert!(words.contains("No space left on device") && words.contains(journal.to_str().expect("UTF-8")), "{words}");
    assert!(words.contains("scaler results recover"), "{words}");
    for port in [21883, 21881, 21882] {
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "the target was stopped: {port}");
    }
    disk.make_room();
    let recovered = Command::new(env!("CARGO_BIN_EXE_scaler")).args(["results", "recover"]).arg(&journal).output();
    let recovered = recovered.expect("scaler starts");
    assert_eq!(recovered.status.code(), Some(0), "{}", String::from_utf8_lossy(&recovered.stderr));
    let text = fs::read_to_string(journal.with_extension("json")).expect("a result");
    let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&result["interrupted"], &result["verdict"]["word"]), (&true.into(), &"inconclusive".into()));
    let slices = result["cells"][0]["slices"].as_array().expect("slices");
    assert!(!slices.is_empty(), "what was written before is there");
}

#[test]
fn a_target_whose_disk_is_full_is_late_and_never_called_lossy() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().expect("a folder");
    let disk = SmallDisk::mount(folder.path(), 4);
    let store = format!("store={}/history.sqlite", folder.path().display());
    let mut run = Going::start(&bench, "tests/plans/small-disk.toml", &[&store]);
    run.until_phase("soak");
    disk.fill(usize::MAX);
    let run = run.end();
    assert_eq!(run.output.status.code(), Some(1), "{}", stderr(&run));
    assert_eq!(run.line["verdict"], "fail");
    assert!(run.truth(0, "listener_truth", "failures") > 0.0, "the store refused");
    assert!(run.broken(0).contains(&"store at rest".to_owned()), "{:?}", run.broken(0));
    assert!(cause(&run, 0).starts_with("drain.settled = 0"), "{}", cause(&run, 0));
    // The readings wait in the broker: late is not lost.
    assert_eq!(standing(&run, 0, "nothing lost"), "unmeasured");
    let why = run.cell(0)["metrics"]["custody.missing"]["unmeasured"].as_str().expect("why");
    assert!(why.contains("were not stored yet, and the store was not at rest"), "{why}");
    for gate in ["generator kept pace", "generator ran throughout", "nobody missed a reading"] {
        assert_eq!(standing(&run, 0, gate), "held", "{gate}");
    }
}

#[test]
fn the_run_gives_way_before_the_disk_is_full() {
    let bench = Bench::new();
    let disk = SmallDisk::mount(bench.results.path(), 64);
    let service = super::live::Service::start();
    let live = format!("live_url={}", service.url());
    let mut run = Going::start(&bench, "tests/plans/live.toml", &[&live, "disk_floor=20MB", "soak=60s"]);
    run.until_phase("soak");
    disk.fill(50_000_000);
    let run = run.end();
    assert_no_ceiling(&run);
    let (cause, cut) = (cause(&run, 0), &run.cell(0)["cut_short"]["disk_low"]);
    assert!(cause.starts_with("disk: ") && cause.ends_with(" bytes are free, less than 20MB"), "{cause}");
    assert_eq!(format!("disk: {}", cut.as_str().expect("a cause")), cause);
    assert_eq!(run.broken(0), ["live-safety did not trip"]);
}
