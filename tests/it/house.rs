//! House rules as tests. Each rule is a function over one file; a test runs it over all files, and another shows that it bites.

mod functions;
mod imports;
mod source;
mod words;

use std::{fs, process::Command};

use self::source::{Source, rust_files, text_files};

/// The most lines that a Rust file may have.
const FILE_LINES: usize = 400;

/// Everything that may lie at the top of the repository.
const TOP_LEVEL: &[&str] = &[
    ".ci",
    ".clippy.toml",
    ".git",
    ".gitignore",
    ".rustfmt.toml",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "compose",
    "plans",
    "results",
    "schema",
    "src",
    "tests",
];

/// Runs a rule over the files and fails with every breach at once.
fn hold(files: &[Source], rule: impl Fn(&Source) -> Vec<String>) {
    assert!(files.len() > 20, "only {} files were found: the rule would check nothing", files.len());
    let breaches: Vec<String> = files
        .iter()
        .flat_map(|file| rule(file).into_iter().map(|breach| format!("{}: {breach}", file.path)).collect::<Vec<_>>())
        .collect();
    assert!(breaches.is_empty(), "{} breaches of a house rule:\n  {}", breaches.len(), breaches.join("\n  "));
}

fn too_long(file: &Source) -> Vec<String> {
    let lines = file.text.lines().count();
    if lines > FILE_LINES {
        vec![format!("{lines} lines, more than {FILE_LINES}: split it by ideas")]
    } else {
        Vec::new()
    }
}

fn without_head(file: &Source) -> Vec<String> {
    let has_head = file.text.starts_with("//! ");
    if has_head { Vec::new() } else { vec!["no `//!` head that says what it is and why".to_owned()] }
}

#[test]
fn files_are_short_and_say_what_they_are() {
    hold(&rust_files(), too_long);
    hold(&rust_files(), without_head);
    assert_eq!(too_long(&Source::new("src/a.rs", &"\n".repeat(FILE_LINES + 1))).len(), 1);
    assert_eq!(without_head(&Source::new("src/a.rs", "fn main() {}\n")).len(), 1);
}

#[test]
fn functions_are_short() {
    hold(&rust_files(), functions::too_long);
    let stale = functions::stale_exceptions(&rust_files());
    assert!(stale.is_empty(), "the list of long functions can be tightened:\n  {}", stale.join("\n  "));
}

#[test]
fn imports_run_one_way() {
    hold(&rust_files(), imports::against_the_flow);
}

#[test]
fn pure_folders_touch_nothing() {
    hold(&rust_files(), imports::impure);
}

#[test]
fn banned_words_are_not_used() {
    hold(&rust_files(), words::banned);
    hold(&rust_files(), words::loose_serde);
}

#[test]
fn the_text_speaks_of_scaler_alone() {
    hold(&text_files(), words::workplace);
}

#[test]
fn the_top_level_is_known() {
    let entries = fs::read_dir(env!("CARGO_MANIFEST_DIR")).expect("the repository is readable");
    let names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().any(|name| name == "Cargo.toml"), "{names:?}");
    let ignored = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/.gitignore")).expect(".gitignore");
    let known =
        |name: &str| TOP_LEVEL.contains(&name) || ignored.lines().any(|line| line.strip_prefix('/') == Some(name));
    let strangers: Vec<&String> = names.iter().filter(|name| !known(name)).collect();
    assert!(strangers.is_empty(), "nothing else lies at the top without a reason: {strangers:?}");
}

#[test]
fn the_changelog_has_something_unreleased() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/CHANGELOG.md");
    let text = fs::read_to_string(path).expect("CHANGELOG.md");
    let after = text.split("## [Unreleased]").nth(1).expect("a section `## [Unreleased]`");
    let section = after.split("\n## ").next().unwrap_or_default();
    assert!(section.lines().any(|line| line.starts_with("- ")), "the section `Unreleased` names no change");
}

#[test]
fn the_readme_shows_the_truth_table_that_the_tests_hold() {
    let read = |name: &str| fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).expect("a text");
    let (readme, held) = (read("README.md"), read("tests/golden/truth-table.md"));
    let strangers: Vec<&str> = held.lines().filter(|line| !readme.lines().any(|shown| shown == *line)).collect();
    assert!(strangers.is_empty(), "README.md lacks these rows of the table:\n{}", strangers.join("\n"));
}

/// A patch of `tests/mutations` that no longer applies would show nothing from then on.
#[test]
fn every_mutation_applies_and_names_a_test() {
    let tests: String =
        rust_files().iter().filter(|file| file.path.starts_with("tests/")).map(|file| file.text.as_str()).collect();
    let entries = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mutations.d")).expect("the mutations");
    let mut patches = 0;
    for entry in entries {
        let path = entry.expect("an entry").path();
        let shown = path.display();
        let mut git = Command::new("git");
        git.args(["apply", "--check"]).arg(&path).current_dir(env!("CARGO_MANIFEST_DIR"));
        let check = git.output().expect("git runs");
        assert!(check.status.success(), "{shown}: {}", String::from_utf8_lossy(&check.stderr));
        let head = fs::read_to_string(&path).expect("a patch");
        let test = head.lines().find_map(|line| line.strip_prefix("test: ")).expect("a line `test: `");
        let name = test.rsplit("::").next().unwrap_or_default();
        let is_there = [format!("fn {name}("), format!("{name}: Row")].iter().any(|form| tests.contains(form));
        assert!(is_there, "{shown}: no test is called {name}");
        patches += 1;
    }
    assert!(patches >= 5, "{patches} mutations");
}
