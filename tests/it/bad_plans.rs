//! The corpus of bad plans: one small file for each rule in `tests/bad-plans/`, and beside it the exact words that it gets.
//!
//! A file begins with a comment that says the rule. Most files hold only what is wrong: they extend `good.toml`. `SCALER_UPDATE=1`
//! writes the expected words anew; the change is read in review.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use scaler::{
    plan::{self, schema::plan_schema},
    problem::{Problems, Severity},
};
use serde_json::{Value, json};

use crate::plans::host;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad-plans")
}

/// The plans of the corpus, without those that others extend.
fn corpus() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "toml"))
        .filter(|name| name != "good.toml" && !name.starts_with("base-"))
        .collect();
    names.sort();
    names
}

/// The problems of a plan; warnings alone count as well.
fn problems(name: &str) -> Problems {
    let read = |path: &str| fs::read_to_string(folder().join(path));
    let text = read(name).unwrap();
    let sets = text.lines().filter_map(|line| line.strip_prefix("# --set ")).filter_map(|set| set.split_once('='));
    let sets: Vec<(String, String)> = sets.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    match plan::load(name, &read, &sets, &host()) {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    }
}

#[test]
fn the_plan_that_the_others_extend_is_good() {
    assert_eq!(problems("good.toml"), Problems::default(), "{}", problems("good.toml").render(false));
}

#[test]
fn every_bad_plan_gets_the_words_beside_it() {
    let update = std::env::var_os("SCALER_UPDATE").is_some();
    let mut wrong = Vec::new();
    let names = corpus();
    assert!(names.len() >= 45, "the corpus has only {} plans", names.len());
    for name in &names {
        let found = problems(name).render(false);
        let beside = folder().join(name.replace(".toml", ".expected"));
        if update {
            fs::write(&beside, &found).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if found != expected {
            wrong.push(format!("── {name} ──\nexpected:\n{expected}\nfound:\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}\nSCALER_UPDATE=1 writes them anew", wrong.join("\n"));
}

/// Each file breaks one rule, and the first problem points at the line that breaks it, marked with `# ←`.
#[test]
fn the_problem_is_at_the_marked_line() {
    let mut marked = 0;
    let mut elsewhere = Vec::new();
    for name in corpus() {
        let text = fs::read_to_string(folder().join(&name)).unwrap();
        let Some(line) = text.lines().position(|line| line.contains("# ←")) else { continue };
        let found = problems(&name);
        let lines: BTreeSet<usize> = found
            .0
            .iter()
            .filter_map(|problem| problem.place.as_ref())
            .filter(|place| place.source.name == name)
            .map(|place| place.line_and_column().0)
            .collect();
        if !lines.contains(&(line + 1)) {
            elsewhere.push(format!("{name}: line {} is marked, problems are at {lines:?}", line + 1));
        }
        marked += 1;
    }
    assert!(elsewhere.is_empty(), "{}", elsewhere.join("\n"));
    assert!(marked >= 45, "only {marked} plans mark the wrong line");
}

/// The schema that editors use refuses what the checker refuses, but for the rules that a schema cannot say.
#[test]
fn the_schema_refuses_what_the_checker_refuses() {
    let validator = jsonschema::validator_for(&plan_schema()).unwrap();
    let listed: BTreeSet<String> = fs::read_to_string(folder().join("beyond-the-schema.txt"))
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(str::to_owned)
        .collect();
    let mut accepted = BTreeSet::new();
    for name in corpus() {
        let is_error = problems(&name).0.iter().any(|problem| problem.severity == Severity::Error);
        let text = fs::read_to_string(folder().join(&name)).unwrap();
        let valid = toml::from_str::<serde_json::Value>(&text).is_ok_and(|value| validator.is_valid(&value));
        assert!(valid || is_error, "{name}: the schema refuses what the checker only warns of");
        if is_error && valid {
            accepted.insert(name);
        }
    }
    if std::env::var_os("SCALER_UPDATE").is_some() {
        let head = "# Bad plans that the schema accepts: their rules relate one part of a plan to another.\n";
        let names: Vec<&str> = accepted.iter().map(String::as_str).collect();
        fs::write(folder().join("beyond-the-schema.txt"), format!("{head}{}\n", names.join("\n"))).unwrap();
        return;
    }
    assert_eq!(accepted, listed, "tests/bad-plans/beyond-the-schema.txt lists the exceptions");
}

/// A misspelt key is found in every table that the schema knows, where it was written. The plans are made from the schema: each holds
/// nothing but the way to one table and one misspelt key in it.
#[test]
fn a_misspelt_key_is_found_in_every_table() {
    let schema = plan_schema();
    let mut tables = Vec::new();
    ways(&schema, &schema, &mut Vec::new(), &mut tables);
    assert!(tables.len() >= 60, "only {} tables were found in the schema", tables.len());
    for (way, key) in tables {
        let misspelt = format!("{key}x");
        let mut value = json!({ misspelt.clone(): 1 });
        for step in way.iter().rev() {
            value = match step {
                Step::Key(key) => json!({ key: value }),
                Step::Element => json!([value]),
            };
        }
        let text = toml::to_string(&value).unwrap();
        let found = plan::load("p.toml", &|_| Ok(text.clone()), &[], &host()).unwrap_err();
        let wanted = format!("unknown key `{misspelt}`");
        let line = text.lines().position(|line| line.starts_with(&misspelt)).unwrap() + 1;
        let problem = found.0.iter().find(|problem| problem.title.starts_with(&wanted));
        let problem = problem.unwrap_or_else(|| panic!("{text}\n{}", found.render(false)));
        assert_eq!(problem.place.as_ref().unwrap().line_and_column(), (line, 1), "{text}");
        let help = problem.help.as_deref().unwrap_or_default();
        assert!(help.contains("did you mean"), "{text}\n{}", found.render(false));
    }
}

/// A step from a table to one within it.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Element,
}

/// The ways to all tables of fixed keys, each with one of its keys.
fn ways(root: &Value, schema: &Value, way: &mut Vec<Step>, tables: &mut Vec<(Vec<Step>, String)>) {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return ways(root, root.pointer(reference.trim_start_matches('#')).unwrap(), way, tables);
    }
    if let Some(inner) = schema.pointer("/allOf/0") {
        return ways(root, inner, way, tables);
    }
    if let Some(items) = schema.get("items") {
        way.push(Step::Element);
        ways(root, items, way, tables);
        way.pop();
    }
    if let Some(values @ Value::Object(_)) = schema.get("additionalProperties") {
        way.push(Step::Key("some".to_owned()));
        ways(root, values, way, tables);
        way.pop();
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let longest = properties.keys().max_by_key(|key| key.len()).unwrap();
    tables.push((way.clone(), longest.clone()));
    for (key, field) in properties {
        way.push(Step::Key(key.clone()));
        ways(root, field, way, tables);
        way.pop();
    }
}
