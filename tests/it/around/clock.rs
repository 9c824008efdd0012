//! A wall clock that steps: it is read once, at the start of a run, and never again.

use std::{fs, path::Path};

/// Who reads the wall clock, and why a step of it moves nothing that is measured.
const READERS: &[(&str, &str)] = &[
    ("src/cli/plan/run.rs", "the start of the run: all later times are this plus the monotonic time since"),
    ("src/load/ceiling.rs", "when a calibration was made, and the start of its load"),
];

/// What reads the wall clock.
const WORDS: &[&str] = &["SystemTime::now", "Timestamp::now", "Zoned::now", "ClockId::Realtime", "UNIX_EPOCH.elapsed"];

#[test]
fn nothing_that_is_measured_looks_at_the_wall_clock() {
    let mut readers = Vec::new();
    visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut |path, text| {
        if WORDS.iter().any(|word| text.contains(word)) {
            readers.push(path.to_owned());
        }
    });
    readers.sort();
    assert_eq!(readers, READERS.iter().map(|(path, _)| (*path).to_owned()).collect::<Vec<_>>());
}

fn visit(folder: &Path, see: &mut dyn FnMut(&str, &str)) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            visit(&path, see);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("within").to_str().expect("UTF-8");
            see(name, &text);
        }
    }
}
