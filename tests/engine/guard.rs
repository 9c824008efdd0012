//! The guard's corpus: small Compose files, each with its exact refusals or what it consists of beside it, read by the real
//! `docker compose`. `SCALER_UPDATE=1` writes the expectations anew.
//!
//! The first lines of a case (`#: key = value`) say what differs from the plan and the folder that all cases share.

use std::{
    fs,
    path::{Path, PathBuf},
};

use indexmap::IndexMap;
use scaler::{
    guard::Guarded,
    plan::{
        isolation::{Allowance, Isolation},
        target::{Caps, Compose},
    },
    target::compose::{Neighbours, Stack},
};
use serde::Deserialize;
use serde_json::json;

/// What differs from the shared plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Case {
    project: String,
    env: String,
    env_file: String,
    caps: IndexMap<String, Caps>,
    allow: Vec<Allowance>,
    running_from: Vec<PathBuf>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            project: "scale".to_owned(),
            env: "SCALE=1\n".to_owned(),
            env_file: "scale.env".to_owned(),
            caps: IndexMap::new(),
            allow: Vec::new(),
            running_from: Vec::new(),
        }
    }
}

/// The folder that every case finds around itself: a checkout beside a live one.
fn surroundings(folder: &Path, text: &str, case: &Case) -> PathBuf {
    let checkout = folder.join("baler-scale");
    let service = "services: { base: { image: a, cpus: 1, mem_limit: 64m } }\n";
    let outside = "services: { base: { extends: { file: ../outside/base.yml, service: base } } }\n";
    let at = |path: &str| checkout.join(path);
    for made in [at(".git"), at("live"), at("sub"), folder.join("outside")] {
        fs::create_dir_all(made).expect("a folder");
    }
    for (path, content) in [
        (at("compose.yml"), text),
        (at("scale.env"), &case.env),
        (at(".env"), "STRAY=live\n"),
        (at("live/.env"), "STRAY=live\n"),
        (at("live/inc.yml"), service),
        (at("sub/own.env"), "OWN=1\n"),
        (at("sub/inc.yml"), service),
        (at("inside.yml"), service),
        (at("nested.yml"), outside),
        (folder.join("outside/base.yml"), service),
    ] {
        fs::write(path, content).expect("a file");
    }
    std::os::unix::fs::symlink(".env", at("link-to-env")).expect("a link");
    std::os::unix::fs::symlink(folder.join("outside"), at("link")).expect("a link");
    checkout
}

fn outcome(text: &str) -> String {
    let header: String = text.lines().map_while(|line| line.strip_prefix("#:")).flat_map(|line| [line, "\n"]).collect();
    let case: Case = toml::from_str(&header).expect("a case's header");
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("it is there");
    let checkout =
        surroundings(&root, &text.replace("CHECKOUT", &root.join("baler-scale").display().to_string()), &case);
    let plan: Compose = serde_json::from_value(json!({
        "project": case.project, "files": ["compose.yml"], "env_file": case.env_file, "caps": case.caps,
    }))
    .expect("a target");
    let isolation = Isolation {
        projects_refused: ["baler", "baler-deploy", "Timberdoodle"].map(str::to_owned).to_vec(),
        volume_prefix: Some("scale_".to_owned()),
        ports_refused: vec![1883, 8883, 7878, 5433, 16686, 4318, 3033, 8080, 8888, 8011, 47808, 47900],
        env_files_refused: vec![".env".to_owned(), "live/.env".to_owned()],
        allow: case.allow,
    };
    let neighbours = Neighbours { project_folders: case.running_from };
    let examined = Stack::resolve(&plan, &isolation, &checkout).and_then(|stack| stack.examine(2, &neighbours));
    let said = match examined {
        Ok(examined) => allowed(&examined.guarded),
        Err(refused) => format!("{refused}\n"),
    };
    said.replace(&checkout.display().to_string(), "CHECKOUT")
        .replace(&root.display().to_string(), "FOLDER")
        .replace(&std::env::var("HOME").unwrap_or_else(|_| "/nowhere".to_owned()), "HOME")
}

fn allowed(guarded: &Guarded) -> String {
    let mut lines = vec!["allowed".to_owned()];
    lines.extend(guarded.volumes.iter().map(|name| format!("volume {name}")));
    lines.extend(guarded.ports.iter().map(|port| format!("port {port} of {}", port.service)));
    lines.extend(guarded.networks.iter().map(|name| format!("network {name}")));
    lines.extend(guarded.caps.iter().map(|(service, caps)| {
        format!("caps {service}: {} CPUs, {} bytes, {} containers", caps.cpus, caps.memory_bytes, caps.replicas)
    }));
    lines.extend(guarded.allowed.iter().map(|what| format!("although {what}")));
    lines.join("\n") + "\n"
}

#[test]
fn each_case_of_the_corpus_gets_its_exact_answer() {
    let _turn = crate::compose::bench::shared();
    let mut cases: Vec<PathBuf> = fs::read_dir("tests/guard")
        .expect("the corpus")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yml"))
        .collect();
    cases.sort();
    assert!(cases.len() >= 60, "only {} cases", cases.len());
    let update = std::env::var_os("SCALER_UPDATE").is_some();
    let halves = cases.split_at(cases.len() / 2);
    let check = |half: &[PathBuf]| half.iter().filter_map(|path| disagreement(path, update)).collect::<Vec<_>>();
    let mut wrong = Vec::new();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| check(halves.0));
        wrong.extend(check(halves.1));
        wrong.extend(first.join().expect("no panic"));
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn disagreement(path: &Path, update: bool) -> Option<String> {
    let said = outcome(&fs::read_to_string(path).expect("a case"));
    let beside = path.with_extension("expected");
    if update {
        fs::write(&beside, &said).expect("the expectation");
    }
    let expected = fs::read_to_string(&beside).unwrap_or_default();
    (said != expected).then(|| format!("{}\n  expected {expected}  but got {said}", path.display()))
}
