//! Hostile input, for a bounded time: every reader of what others wrote gets shipped texts with random damage.
//!
//! No reader may panic, hang, or take memory without bound, whatever it is given. `SCALER_FUZZ_SECONDS` says how long each test goes on
//! (default 2), `SCALER_FUZZ_SEED` where it starts (default 1). A failure names its seed: `SCALER_FUZZ_SEED=N` tries that case first.
//! cargo-fuzz would need a nightly compiler; this needs none.

use std::{
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use clap::ValueEnum;
use indexmap::IndexMap;
use rand::{RngExt, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::{
    judge::{rejudge::rejudge, result::RunResult},
    load::encode::Inbox,
    plan::{
        self,
        checked::{HostFacts, RunScope},
        fill::fill_text,
        touches::touches,
    },
    record::{cell::Record, fixture, fold::fold, journal},
    report::{
        layout::Screen,
        show::show,
        summary::summary,
        table::{Kind, table},
    },
};

/// Runs cases until the time is over; each has a seed of its own.
pub(crate) fn for_a_while(name: &str, case: impl Fn(&mut ChaCha8Rng)) {
    let number = |key: &str, default: u64| std::env::var(key).map_or(default, |text| text.parse().unwrap());
    let length = Duration::from_secs(number("SCALER_FUZZ_SECONDS", 2));
    let (first, begun) = (number("SCALER_FUZZ_SEED", 1), Instant::now());
    let mut slowest = (Duration::ZERO, first);
    let mut seed = first;
    while seed == first || begun.elapsed() < length {
        let started = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| case(&mut ChaCha8Rng::seed_from_u64(seed))));
        assert!(outcome.is_ok(), "{name} panicked: SCALER_FUZZ_SEED={seed}");
        slowest = slowest.max((started.elapsed(), seed));
        seed += 1;
    }
    println!("{name}: {} cases from seed {first}, the slowest {:?} (seed {})", seed - first, slowest.0, slowest.1);
}

/// Pieces that readers must be wary of.
const PIECES: &[&str] = &[
    "-1",
    "0",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "18446744073709551615",
    "-9223372036854775808",
    "99999999999999999999",
    "{{",
    "}}",
    "{%",
    "%}",
    "{{ vars.soak }}",
    "{{ step.points }}",
    "{{ 'x' * 100000000 }}",
    "{{ env }}",
    "{{ [1] * 9 }}",
    "[[",
    "]]",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "\"\"\"",
    "=",
    "\n",
    "\r\n",
    "\0",
    "\u{feff}",
    "é",
    "\u{202e}",
    "null",
    "true",
    "''",
    "\"\"",
    "0s",
    "-5s",
    "1e30s",
    "9999999999h",
    "5%",
    "0%",
    "1e9GB",
    "../..",
    "/",
    "~",
    "&",
    "%ff",
    "%",
    "#",
    ":",
    ",",
];

/// A text with some damage.
pub(crate) fn damaged(text: &str, chance: &mut ChaCha8Rng) -> String {
    let mut text = text.to_owned();
    for _ in 0..chance.random_range(1..6) {
        let mut at = || {
            let at = chance.random_range(0..=text.len());
            (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
        };
        let (a, b) = (at(), at());
        let (from, to) = (a.min(b), a.max(b));
        let near = (from..=to.min(from + 40)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(from);
        match chance.random_range(0..6) {
            0 => text.replace_range(from..near, ""),
            1 => text.insert_str(from, PIECES.choose(chance).unwrap()),
            2 => text.replace_range(from..near, PIECES.choose(chance).unwrap()),
            3 => {
                let copy = text[from..near].to_owned();
                text.insert_str(to, &copy);
            }
            4 => {
                let lines: Vec<&str> = text.lines().collect();
                let line = lines.choose(chance).copied().unwrap_or_default().to_owned();
                text.insert_str(from, &format!("\n{line}\n"));
            }
            _ => text.truncate(if chance.random_range(0..20) == 0 { from } else { text.len() }),
        }
    }
    text
}

/// The plans of the repository: path and text.
fn plans() -> Vec<(String, String)> {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut plans = Vec::new();
    for folder in ["plans", "tests/plans", "tests/bad-plans"] {
        for entry in fs::read_dir(format!("{root}/{folder}")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
                plans.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    plans.sort();
    plans
}

#[test]
fn plans_with_damage() {
    let plans = plans();
    let host = HostFacts { cpus: 2, memory_bytes: 8_000_000_000, name: "host".into() };
    for_a_while("plans", |chance| {
        let (name, text) = plans.choose(chance).unwrap();
        let text = damaged(text, chance);
        let read = |path: &str| {
            let known = plans.iter().find(|(known, _)| known == path).map(|(_, text)| text.clone());
            let text = if path == name { Some(text.clone()) } else { known };
            text.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        };
        let sets = [("soak".to_owned(), PIECES.choose(chance).unwrap().to_string())];
        let sets = if chance.random_range(0..10) == 0 { &sets[..] } else { &[] };
        match plan::load(name, &read, sets, &host) {
            Err(problems) => assert!(!problems.to_string().is_empty()),
            Ok(checked) => {
                let scope = RunScope {
                    scaler: "scaler".into(),
                    folder: "folder".into(),
                    id: "id".into(),
                    secrets: checked.header.secrets.keys().map(|name| (name.clone(), "secret".to_owned())).collect(),
                };
                for step in checked.header.steps.iter().take(3) {
                    let Ok(cell) = checked.cell(*step, Some(&scope)) else { continue };
                    assert!(!touches(&checked.header, &cell).is_empty());
                }
            }
        }
    });
}

#[test]
fn random_documents() {
    for_a_while("documents", |chance| {
        let mut text = String::from("format = 1\n");
        for _ in 0..chance.random_range(0..60) {
            text.push_str(PIECES.choose(chance).unwrap());
            text.push_str(["a", "phase", "gate", "name", "x.y", " ", "\n"].choose(chance).unwrap());
        }
        let read = |_: &str| Ok(text.clone());
        let host = HostFacts { cpus: 2, memory_bytes: 1, name: "host".into() };
        assert!(plan::load("a.toml", &read, &[], &host).is_err());
    });
}

#[test]
fn templates() {
    let words = [
        "vars",
        ".",
        "soak",
        "|",
        "length",
        "tojson",
        "upper",
        "replace",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "'a'",
        "\"",
        "*",
        "**",
        "+",
        "-",
        "/",
        "//",
        "%",
        "~",
        "1",
        "1000000000",
        "in",
        "not",
        "if",
        "else",
        "is",
        "defined",
        ",",
        ":",
        "join",
        "sort",
        "x",
        "indent",
        "loop",
        "self",
        "super",
        "config",
        "lipsum",
        "include",
        "env",
    ];
    let known = json!({ "vars": { "soak": "5s", "list": [1, 2, 3] }, "x": 7 });
    for_a_while("templates", |chance| {
        let mut text = String::from("a {{ ");
        for _ in 0..chance.random_range(1..20) {
            text.push_str(words.choose(chance).unwrap());
            text.push_str(["", " "].choose(chance).unwrap());
        }
        text.push_str(["", " }}", " }} {{", "}} %}"].choose(chance).unwrap());
        if let Ok(filled) = fill_text(&text, &known) {
            assert!(filled.len() < 4 * plan::bounds::VALUE_BYTES, "{text}");
        }
    });
}

#[test]
fn templates_reach_no_file_and_no_environment() {
    for text in [
        "{{ env.HOME }}",
        "{{ env('HOME') }}",
        "{{ environ.HOME }}",
        "{{ include('/etc/hostname') }}",
        "{{ open('/etc/hostname') }}",
        "{{ lookup('file', '/etc/hostname') }}",
        "{{ 'HOME' | env }}",
        "{{ '/etc/hostname' | file }}",
        "{{ self }}",
        "{{ config }}",
        "{% include '/etc/hostname' %}{{ x }}",
        "{% import '/etc/hostname' as it %}{{ it }}",
        "{% extends '/etc/hostname' %}{{ x }}",
    ] {
        let filled = fill_text(text, &json!({ "x": 1 }));
        let copied = filled.as_ref().is_ok_and(|filled| filled.starts_with("{%") && filled.ends_with('1'));
        assert!(filled.is_err() || copied, "{text} gave {filled:?}");
    }
}

#[test]
fn packets_of_a_broker() {
    for_a_while("packets", |chance| {
        let mut bytes: Vec<u8> = (0..chance.random_range(1..80)).map(|_| chance.random()).collect();
        bytes[0] = *[0x30, 0x32, 0x3d, 0x40, 0x20, 0x90, 0xd0, bytes[0]].choose(chance).unwrap();
        let mut inbox = Inbox::default();
        for part in bytes.chunks(chance.random_range(1..20)) {
            inbox.push(part);
            while let Ok(Some(_)) = inbox.next_packet() {}
        }
    });
}

#[test]
fn journals_with_damage() {
    let lines: Vec<String> = fixture::run().iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    let text = lines.join("\n") + "\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.journal");
    for_a_while("journals", |chance| {
        fs::write(&path, damaged(&text, chance)).unwrap();
        let Ok(read) = journal::read(&path) else { return };
        if let Ok(record) = Record::recovered(read) {
            see_all(&RunResult::new(&record));
        }
    });
}

/// Every report of a result, and the judgement of it by its own gates.
fn see_all(result: &RunResult) {
    let screen = Screen { utf8: true, width: Some(100) };
    let kinds = Kind::value_variants().iter().map(|kind| table(*kind, &[result, result], &[]));
    let texts: Vec<String> =
        [summary(result, "a.json", screen), show(result, true, screen)].into_iter().chain(kinds).collect();
    assert!(texts.iter().all(|text| !text.is_empty()));
    let bars: IndexMap<Option<u64>, _> = result.cells.iter().map(|cell| (cell.step, cell.bars.clone())).collect();
    rejudge(&result.record(), |step| bars.get(&step).cloned().unwrap_or_default());
}

#[test]
fn results_with_damage() {
    let result = serde_json::to_value(RunResult::new(&fold(fixture::run()).unwrap())).unwrap();
    for_a_while("results", |chance| {
        let mut value = result.clone();
        for _ in 0..chance.random_range(1..5) {
            damage(&mut value, chance);
        }
        if let Ok(read) = serde_json::from_value::<RunResult>(value) {
            see_all(&read);
            see_all(&RunResult::new(&read.record()));
        }
    });
}

/// Replaces, doubles, moves or takes out something deep in a value.
fn damage(value: &mut Value, chance: &mut ChaCha8Rng) {
    let hostile = [
        json!(null),
        json!(0),
        json!(-1),
        json!(-1e300),
        json!(1e300),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(u64::MAX / 2),
        json!(""),
        json!([]),
        json!({}),
        json!("soak"),
        json!(true),
        json!(1e-300),
        json!(u32::MAX),
        json!(40),
    ];
    match value {
        Value::Object(map) if !map.is_empty() && chance.random_range(0..12) > 0 => {
            let at = chance.random_range(0..map.len());
            damage(map.values_mut().nth(at).unwrap(), chance);
        }
        Value::Array(list) if !list.is_empty() => {
            let (at, to) = (chance.random_range(0..list.len()), chance.random_range(0..list.len()));
            match chance.random_range(0..10) {
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                2 => list.swap(at, to),
                3 if chance.random_range(0..5) == 0 => list.clear(),
                _ => damage(&mut list[at], chance),
            }
        }
        leaf => *leaf = hostile.choose(chance).unwrap().clone(),
    }
}
