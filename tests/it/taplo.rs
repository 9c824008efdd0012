//! Shipped plans pass the validator that editors use for TOML, with the schema that their first line names.
//!
//! `SCALER_TAPLO` says where that program is; `tests/run` installs it (the crate `taplo-cli`) and sets the variable. Without it these
//! tests fail rather than check nothing.

use std::{
    env, fs,
    path::Path,
    process::{Command, Output, Stdio},
};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn taplo(arguments: &[&str]) -> Output {
    let program =
        env::var_os("SCALER_TAPLO").expect("SCALER_TAPLO names the taplo program: run the tests by tests/run");
    // Colour would stand within the words that are looked for.
    let mut command = Command::new(&program);
    command.args(["--colors", "never"]).args(arguments).current_dir(ROOT).stdin(Stdio::null());
    command.output().unwrap_or_else(|error| panic!("{} cannot be run: {error}", program.display()))
}

/// The plans of a folder.
fn plans(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(ROOT).join(folder)).expect("a folder");
    let names = entries.map(|entry| format!("{folder}/{}", entry.expect("an entry").file_name().to_string_lossy()));
    names.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "toml")).collect()
}

#[test]
fn every_plan_passes_the_validator_of_editors() {
    let plans = [plans("plans"), plans("tests/plans")].concat();
    assert!(plans.len() >= 2, "{plans:?}");
    for plan in &plans {
        let text = fs::read_to_string(Path::new(ROOT).join(plan)).expect("a plan");
        let schema = text.lines().next().and_then(|line| line.strip_prefix("#:schema ")).unwrap_or_default();
        let folder = Path::new(ROOT).join(plan).parent().expect("a folder").to_owned();
        assert!(folder.join(schema).is_file(), "{plan} names no schema that is there, but {schema:?}");
    }
    let output = taplo(&[&["check"][..], &plans.iter().map(String::as_str).collect::<Vec<_>>()].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_validator_of_editors_flags_a_misspelt_key_and_a_wrong_unit() {
    let folder = tempfile::tempdir().expect("a folder");
    let schema = format!("#:schema file://{ROOT}/schema/plan.schema.json");
    let good = fs::read_to_string(Path::new(ROOT).join("plans/quickstart.toml")).expect("the plan");
    let good = good.replacen("#:schema ../schema/plan.schema.json", &schema, 1);
    let check = |text: &str| {
        let path = folder.path().join("plan.toml");
        fs::write(&path, text).expect("a plan");
        taplo(&["check", path.to_str().expect("UTF-8")])
    };
    assert!(check(&good).status.success());
    for (right, wrong) in [("measure = true", "measuer = true"), ("interval = \"", "interval = \"x")] {
        assert!(good.contains(right), "{right}");
        let output = check(&good.replacen(right, wrong, 1));
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{wrong} was accepted");
        assert!(words.contains(wrong.split(' ').next().expect("a word")), "{words}");
    }
}
