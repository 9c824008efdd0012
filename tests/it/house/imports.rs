//! Data flows from the plan to the report; imports run against it and never sideways, and the pure parts touch nothing.

use super::source::Source;

/// What the pure parts may use of the rest. `problem` is the common ground.
const FLOW: &[(&str, &[&str])] = &[
    ("problem", &[]),
    ("plan", &["problem"]),
    ("record", &["problem", "plan"]),
    ("measure", &["problem", "plan", "record"]),
    ("judge", &["problem", "plan", "record", "measure"]),
    ("report", &["problem", "plan", "record", "measure", "judge"]),
    ("reference", &["problem"]),
];

/// What nobody but `cli` may use.
const TOPMOST: &[&str] = &["cli", "report"];

/// The parts that touch no file, network, clock, process or chance.
const PURE: &[&str] = &["problem", "plan", "record", "measure", "judge", "report"];

/// The files of pure parts that are there to touch files.
const IMPURE_FILES: &[&str] = &["src/record/journal.rs", "src/record/folder.rs"];

/// What pure code does not use of the standard library.
const IMPURE_STD: &[&str] = &["fs", "net", "env", "process", "thread", "os"];

/// Crates and calls that pure code does not use.
const IMPURE_WORDS: &[&str] = &[
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "rand::",
    "rand_chacha::",
    "tokio::",
    "ureq::",
    "rusqlite::",
    "postgres::",
    "procfs::",
];

pub(super) fn against_the_flow(file: &Source) -> Vec<String> {
    let Some(part) = file.part() else { return Vec::new() };
    if ["cli", "lib", "main"].contains(&part) {
        return Vec::new();
    }
    let allowed = FLOW.iter().find(|(name, _)| *name == part).map(|(_, allowed)| *allowed);
    let may = |used: &str| {
        used == part || allowed.map_or_else(|| !TOPMOST.contains(&used), |allowed| allowed.contains(&used))
    };
    used(&file.code(), "crate")
        .into_iter()
        .filter(|name| name.starts_with(char::is_lowercase) && !may(name))
        .map(|name| format!("`{part}` may not use `crate::{name}`"))
        .collect()
}

pub(super) fn impure(file: &Source) -> Vec<String> {
    if !file.part().is_some_and(|part| PURE.contains(&part)) || IMPURE_FILES.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let code = file.code();
    let std = used(&code, "std").into_iter().filter(|name| IMPURE_STD.contains(&name.as_str()));
    let words = IMPURE_WORDS.iter().filter(|word| mentions(&code, word)).map(|word| (*word).to_owned());
    std.map(|name| format!("std::{name}")).chain(words).map(|name| format!("pure code may not use `{name}`")).collect()
}

/// Whether the code has the word, not as the end of a longer one.
fn mentions(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
}

/// The names that follow `root::` directly or in a group.
fn used(code: &str, root: &str) -> Vec<String> {
    let prefix = format!("{root}::");
    let mut names = Vec::new();
    for (at, _) in code.match_indices(&prefix) {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(heads(group)),
            None => names.push(word(rest).to_owned()),
        }
    }
    names.sort();
    names.dedup();
    names
}

/// The first name of each item of a group, up to its closing brace.
fn heads(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut fresh) = (0, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && c.is_alphabetic() => {
                names.push(word(&group[at..]).to_owned());
                fresh = false;
            }
            _ => {}
        }
    }
    names
}

fn word(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

#[test]
fn grouped_imports_are_seen() {
    let code =
        "use crate::{\n    plan::{a, b::c},\n    record::entry,\n};\nfn f() { crate::run::g(); mycrate::x(); }\n";
    assert_eq!(used(code, "crate"), ["plan", "record", "run"]);
    assert_eq!(used("use std::{fmt, fs::{self, File}};\n", "std"), ["fmt", "fs"]);
}

#[test]
fn breaches_are_found() {
    let file = |path: &str, text: &str| Source::new(path, text);
    assert_eq!(against_the_flow(&file("src/plan/a.rs", "use crate::record::entry;\n")).len(), 1);
    assert_eq!(against_the_flow(&file("src/run/a.rs", "use crate::{plan::x, report::y};\n")).len(), 1);
    assert_eq!(against_the_flow(&file("src/run/a.rs", "use crate::{plan::x, judge::y};\n")).len(), 0);
    assert_eq!(impure(&file("src/judge/a.rs", "use std::{fmt, fs};\nlet t = Instant::now();\n")).len(), 2);
    assert_eq!(impure(&file("src/record/journal.rs", "use std::fs;\n")).len(), 0);
}
