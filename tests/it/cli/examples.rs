//! Every command in the examples of every `--help` and of the README is one that scaler understands.

use std::{collections::BTreeSet, fs, path::Path};

use super::{ROOT, expect_code, out, scaler};

/// The verbs below a command, from its own help.
fn verbs(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    listed.filter(|line| line.starts_with("  ") && !line.starts_with("   ")).filter_map(first_word).collect()
}

fn first_word(line: &str) -> Option<String> {
    line.split_whitespace().next().map(str::to_owned)
}

/// The help of every command.
fn helps() -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(command) = open.pop() {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let output = scaler(&arguments);
        expect_code(&output, 0);
        open.extend(verbs(&out(&output)).into_iter().map(|verb| [command.clone(), vec![verb]].concat()));
        found.push(out(&output));
    }
    found
}

/// The words of a command line up to what the shell does with its output, or to the remark beside it.
fn words(line: &str) -> Vec<&str> {
    let command = line.split("   ").next().unwrap_or_default();
    let ends = ["|", ">", ">>", "&&", "#"];
    command.split_whitespace().skip(1).take_while(|word| !ends.contains(word)).collect()
}

fn examples(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("$ "));
    let lines = lines.map(|line| line.replace("cargo run --release -- ", "scaler "));
    lines.filter(|line| line.starts_with("scaler ") && !line.contains('[')).collect()
}

#[test]
fn every_example_is_understood() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("the README");
    let fenced = readme.split("```").skip(1).step_by(2).map(str::to_owned).collect();
    let texts = [helps(), fenced].concat();
    let lines: BTreeSet<String> = texts.iter().flat_map(|text| examples(text)).collect();
    assert!(lines.len() >= 25, "only {} examples were found", lines.len());
    let mut wrong = Vec::new();
    for line in &lines {
        // Asked for help, a command does nothing but read its arguments up to there: an unknown one before is still refused.
        let output = scaler(&[&words(line)[..], &["--help"]].concat());
        let usage = words(line).into_iter().filter(|word| word.starts_with("--"));
        let text = out(&output);
        let unknown: Vec<&str> =
            usage.filter(|option| !text.contains(option.split('=').next().unwrap_or(option))).collect();
        if output.status.code() != Some(0) || !unknown.is_empty() {
            wrong.push(format!("{line}: {unknown:?}\n{}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_examples_that_need_no_run_do_what_they_say() {
    for line in [
        "plan check plans/quickstart.toml",
        "plan check plans/quickstart.toml --set soak=15m",
        "plan show plans/quickstart.toml",
        "plan diff plans/quickstart.toml plans/quickstart.toml",
        "plan new reference-host",
        "plan schema",
        "plan schema --result",
        "results list",
        "completions bash",
        "completions zsh",
        "completions fish",
        "man",
    ] {
        expect_code(&scaler(&line.split(' ').collect::<Vec<_>>()), 0);
    }
}
