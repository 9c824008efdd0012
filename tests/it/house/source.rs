//! The files of the repository, and what of them is code.

use std::{fs, path::Path};

/// One file.
pub(super) struct Source {
    /// Its path from the top of the repository.
    pub(super) path: String,
    /// Its text.
    pub(super) text: String,
    /// Whether the whole file is test code.
    test: bool,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned(), test: !path.starts_with("src/") }
    }

    /// The files of modules that this file declares for tests alone.
    fn test_modules(&self) -> Vec<String> {
        let stem = self.path.strip_suffix("/mod.rs").or(self.path.strip_suffix(".rs")).unwrap_or(&self.path);
        let folder = if stem == "src/lib" { "src" } else { stem };
        let lines: Vec<&str> = self.text.lines().map(str::trim).collect();
        let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]").filter_map(|pair| {
            let name = pair[1].rsplit("mod ").next()?.strip_suffix(';')?;
            Some(format!("{folder}/{name}.rs"))
        });
        declared.collect()
    }

    /// The part of `src/` that the file belongs to: `plan`, `record`, `main`; none elsewhere.
    pub(super) fn part(&self) -> Option<&str> {
        let inside = self.path.strip_prefix("src/")?;
        let first = inside.split('/').next()?;
        Some(first.strip_suffix(".rs").unwrap_or(first))
    }

    /// The code without comments and without test modules, those with a body come last in a file.
    pub(super) fn code(&self) -> String {
        if self.test {
            return String::new();
        }
        let mut code = String::new();
        let mut lines = self.text.lines().peekable();
        while let Some(line) = lines.next() {
            if line.trim() == "#[cfg(test)]" {
                while lines.peek().is_some_and(|next| next.trim_start().starts_with("#[")) {
                    lines.next();
                }
                let next = lines.peek().map_or("", |next| next.trim());
                if next.contains("mod ") && next.ends_with('{') {
                    break;
                }
                if next.contains("mod ") && next.ends_with(';') {
                    lines.next();
                    continue;
                }
            }
            if !line.trim_start().starts_with("//") {
                code.push_str(line);
                code.push('\n');
            }
        }
        code
    }
}

/// Every Rust file.
pub(super) fn rust_files() -> Vec<Source> {
    files(|path| Path::new(path).extension().is_some_and(|extension| extension == "rs"))
}

/// Every file that people write, but for the lock file, which is written by cargo.
pub(super) fn text_files() -> Vec<Source> {
    files(|path| path != "Cargo.lock")
}

fn files(wanted: impl Fn(&str) -> bool) -> Vec<Source> {
    let mut found = Vec::new();
    collect(Path::new(env!("CARGO_MANIFEST_DIR")), "", &mut found);
    let tests: Vec<String> = found.iter().flat_map(Source::test_modules).collect();
    for file in &mut found {
        file.test |= tests.contains(&file.path);
    }
    found.retain(|file: &Source| wanted(&file.path));
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if ["target", ".git", "results", "proptest-regressions"].contains(&path.as_str()) {
            continue;
        }
        if entry.file_type().expect("a type").is_dir() {
            collect(&entry.path(), &format!("{path}/"), found);
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            found.push(Source::new(&path, &text));
        }
    }
}

#[test]
fn code_is_what_is_neither_comment_nor_test() {
    let text = "//! head\nuse a;\n    // why\nfn f() {}\n#[cfg(test)]\nmod tests {\n    use b;\n}\n";
    assert_eq!(Source::new("src/plan/a.rs", text).code(), "use a;\nfn f() {}\n");
    let odd = "fn f() {}\n#[cfg(test)]\n#[expect(b)]\npub(super) mod tests {\n    use b;\n}\n";
    assert_eq!(Source::new("src/plan/a.rs", odd).code(), "fn f() {}\n");
    assert_eq!(Source::new("tests/it/a.rs", text).code(), "");
    let declaring = Source::new("src/plan/diff/mod.rs", "#[cfg(test)]\nmod tests;\nfn g() {}\n");
    assert_eq!(
        (declaring.code().as_str(), declaring.test_modules()),
        ("fn g() {}\n", vec!["src/plan/diff/tests.rs".to_owned()])
    );
}

#[test]
fn the_part_is_the_first_name_under_src() {
    assert_eq!(Source::new("src/plan/diff/mod.rs", "").part(), Some("plan"));
    assert_eq!(Source::new("src/problem.rs", "").part(), Some("problem"));
    assert_eq!(Source::new("tests/it/main.rs", "").part(), None);
}
