//! Functions stay short. Those that are longer are listed with their length, and the list may only shrink.

use super::source::Source;

/// The most lines that a function may have from its `fn` to its closing brace.
const LINES: usize = 70;

/// The exceptions: path, name and lines of each, one a line.
const EXCEPTIONS: &str = include_str!("long_functions.txt");

struct Function {
    name: String,
    lines: usize,
}

pub(super) fn too_long(file: &Source) -> Vec<String> {
    functions(&file.text)
        .into_iter()
        .filter(|function| function.lines > allowed(&file.path, &function.name))
        .map(|Function { name, lines }| format!("`{name}` has {lines} lines, more than {}", allowed(&file.path, &name)))
        .collect()
}

/// Exceptions that are not needed any more, or not at that length.
pub(super) fn stale_exceptions(files: &[Source]) -> Vec<String> {
    exceptions()
        .filter_map(|(path, name, lines)| {
            let file = files.iter().find(|file| file.path == path);
            let all = file.map(|file| functions(&file.text)).unwrap_or_default();
            let longest = all.iter().filter(|function| function.name == name).map(|function| function.lines).max();
            match longest {
                Some(now) if now == lines && now > LINES => None,
                Some(now) => Some(format!("{path} {name}: listed with {lines} lines, has {now}")),
                None => Some(format!("{path} {name}: there is no such function")),
            }
        })
        .collect()
}

fn exceptions() -> impl Iterator<Item = (&'static str, &'static str, usize)> {
    EXCEPTIONS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(|line| {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap_or_else(|| panic!("{line:?} is not `path function lines`"));
        (word(), word(), word().parse().expect("a number of lines"))
    })
}

fn allowed(path: &str, name: &str) -> usize {
    let listed = exceptions().find(|(listed, function, _)| *listed == path && *function == name);
    listed.map_or(LINES, |(_, _, lines)| lines)
}

/// The functions of a formatted file: the body ends at the first closing brace in the column where the function began.
fn functions(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = declared(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let closing = format!("{indent}}}");
        let header_ends = lines[start..].iter().position(|line| line.ends_with(['{', ';', '}'])).unwrap_or(0);
        let opens = lines[start + header_ends].ends_with('{');
        let body = if opens { lines[start..].iter().position(|line| *line == closing) } else { None };
        found.push(Function { name: name.to_owned(), lines: body.unwrap_or(header_ends) + 1 });
    }
    found
}

/// The name of the function that a line declares.
fn declared(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if rest.starts_with("pub(")
        && let Some(end) = rest.find(')')
    {
        rest = rest[end + 1..].trim_start();
    }
    for word in ["pub ", "default ", "const ", "async ", "extern \"C\" "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
}

#[test]
fn lengths_are_counted_from_fn_to_brace() {
    let text = "trait T {\n    fn declared(&self);\n}\nfn one() -> u8 { 1 }\nimpl X {\n    pub(super) async fn three(\n        a: u8,\n    ) {\n        if a {\n        }\n    }\n}\n";
    let found: Vec<(String, usize)> =
        functions(text).into_iter().map(|function| (function.name, function.lines)).collect();
    assert_eq!(found, [("declared".into(), 1), ("one".into(), 1), ("three".into(), 6)]);
}

#[test]
fn a_long_function_is_a_breach() {
    let text = format!("fn long() {{\n{}}}\n", "    x();\n".repeat(LINES));
    assert_eq!(too_long(&Source::new("src/a.rs", &text)).len(), 1);
}
