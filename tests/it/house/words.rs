//! Words that are not used, and what to use instead.

use super::source::Source;

/// A word, the beginnings of paths where it is all the same allowed, and what to do instead.
type Ban = (&'static str, &'static [&'static str], &'static str);

const BANNED: &[Ban] = &[
    ("process::exit", &["src/main.rs", "src/cli/"], "return an `Exit` to `cli::main`"),
    ("println!", &["src/cli/screen.rs"], "return the text; `cli` prints it"),
    ("print!", &["src/cli/screen.rs"], "return the text; `cli` prints it"),
    ("eprintln!", &["src/cli/screen.rs"], "return an error; `cli` prints it"),
    ("eprint!", &["src/cli/screen.rs"], "return an error; `cli` prints it"),
    ("dbg!", &[], "take it out"),
    ("todo!", &[], "write it or leave it out"),
    ("unimplemented!", &[], "write it or leave it out"),
    ("#[allow(", &[], "`#[expect(…, reason = …)]`"),
    ("#![allow(", &[], "`#[expect(…, reason = …)]`"),
    (".unwrap()", &[], "`?`, or `expect` with the reason why it cannot fail"),
];

pub(super) fn banned(file: &Source) -> Vec<String> {
    let code = file.code();
    let mut breaches: Vec<String> = BANNED
        .iter()
        .filter(|(word, allowed, _)| !allowed.iter().any(|path| file.path.starts_with(path)) && has(&code, word))
        .map(|(word, _, instead)| format!("`{word}` is banned: {instead}"))
        .collect();
    let ignored = format!("#[{}", "ignore");
    if file.text.contains(&ignored) {
        breaches.push(format!("`{ignored}` is banned: a test runs or is not there"));
    }
    breaches
}

/// Whether the code has the word, not as the end of a longer one (`print!` in `eprint!`).
fn has(code: &str, word: &str) -> bool {
    let starts_a_word = word.starts_with(|c: char| c.is_alphanumeric());
    code.match_indices(word)
        .any(|(at, _)| !(starts_a_word && code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')))
}

/// serde's attributes that lose the place of an error or accept unknown keys.
pub(super) fn loose_serde(file: &Source) -> Vec<String> {
    let code = file.code();
    let attributes = code.match_indices("#[serde(").map(|(at, _)| code[at..].split(")]").next().unwrap_or_default());
    let options = attributes.flat_map(|attribute| attribute["#[serde(".len()..].split(','));
    options
        .map(|option| option.split('=').next().unwrap_or_default().trim())
        .filter(|option| ["flatten", "untagged", "tag", "content"].contains(option))
        .map(|option| format!("`serde({option})` is banned: a kind is its one body key (see `plan/one_of.rs`)"))
        .collect()
}

/// Paths of the machines that scaler happens to be written on; they mean nothing to a reader.
pub(super) fn workplace(file: &Source) -> Vec<String> {
    let paths = [("/wo", "rk/"), ("/tm", "p/wt"), ("/ro", "ot/"), ("/ho", "me/"), ("/far", "m/")];
    paths
        .iter()
        .map(|(start, end)| format!("{start}{end}"))
        .filter(|path| has_path(&file.text, path))
        .map(|path| format!("speaks of `{path}`, a path of one machine"))
        .collect()
}

/// Whether a text has an absolute path, not the end of a longer one.
fn has_path(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.~}/".contains(c)))
}

#[test]
fn breaches_are_found() {
    let file = |path: &str, text: &str| Source::new(path, text);
    assert_eq!(banned(&file("src/run/a.rs", "fn f() { std::process::exit(1); x.unwrap(); }\n")).len(), 2);
    assert_eq!(banned(&file("src/run/a.rs", "fn f() { eprintln!(\"a\"); }\n")).len(), 1);
    assert_eq!(banned(&file("src/run/a.rs", "#[cfg(test)]\nmod tests {\n    fn f() { x.unwrap(); }\n}\n")).len(), 0);
    assert_eq!(
        loose_serde(&file(
            "src/plan/a.rs",
            "#[serde(default, flatten)]\n#[serde(tag = \"kind\")]\n#[serde(default = \"tag\")]\n"
        ))
        .len(),
        2
    );
    assert_eq!(workplace(&file("README.md", &format!("see {}{}x", "/wo", "rk/"))).len(), 1);
    assert_eq!(workplace(&file("README.md", &format!("a frame{}{}er", "/wo", "rk/"))).len(), 0);
}
