//! The secrets file: `NAME=VALUE`, one a line, as shells and Compose read it. Pure; who reads and writes it is elsewhere.

use indexmap::IndexMap;

/// The values of a file. Empty lines and lines with `#` are skipped; `export ` and one pair of quotes around a value are dropped.
///
/// # Errors
/// The number of the first line, from 1, that is no assignment. The line itself is not told: it may hold a secret.
pub fn parse(text: &str) -> Result<IndexMap<String, String>, usize> {
    let mut values = IndexMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = assignment(line).ok_or(number + 1)?;
        values.insert(name.to_owned(), value.to_owned());
    }
    Ok(values)
}

/// The file with further or other values: a line of its own for each new name, the line replaced for a known one, and every
/// other line kept as it is.
#[must_use]
pub fn with_values(text: &str, values: &IndexMap<String, String>) -> String {
    let mut out = String::new();
    let mut written: Vec<&str> = Vec::new();
    for line in text.lines() {
        let replaced = assignment(line.trim()).and_then(|(name, _)| values.get_key_value(name));
        match replaced {
            Some((name, value)) => {
                written.push(name);
                push_line(&mut out, &format!("{name}={value}"));
            }
            None => push_line(&mut out, line),
        }
    }
    for (name, value) in values.iter().filter(|(name, _)| !written.contains(&name.as_str())) {
        push_line(&mut out, &format!("{name}={value}"));
    }
    out
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let name = name.trim();
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = starts_well && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name, unquoted(value.trim())))
}

fn unquoted(value: &str) -> &str {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use proptest::prelude::*;

    use super::{parse, with_values};

    fn values(pairs: &[(&str, &str)]) -> IndexMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn comments_exports_and_quotes_are_understood() {
        let text = "# a\n\nA=1\nexport B = two=2\nC=\"x y\"\nD='z'\nE=\n";
        let expected = values(&[("A", "1"), ("B", "two=2"), ("C", "x y"), ("D", "z"), ("E", "")]);
        assert_eq!(parse(text), Ok(expected));
        assert_eq!(parse("A=1\nsecret without a name\n"), Err(2));
        assert_eq!(parse("1A=1\n"), Err(1));
    }

    #[test]
    fn unknown_lines_are_kept() {
        let text = "# mine\nOTHER=1\nA=old";
        assert_eq!(with_values(text, &values(&[("A", "new"), ("B", "b")])), "# mine\nOTHER=1\nA=new\nB=b\n");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(pairs in prop::collection::hash_map("[A-Z_][A-Z0-9_]{0,8}", "[A-Za-z0-9]{1,32}", 0..6)) {
            let wanted: IndexMap<String, String> = pairs.into_iter().collect();
            prop_assert_eq!(parse(&with_values("", &wanted)), Ok(wanted.clone()));
            prop_assert_eq!(with_values(&with_values("# x\n", &wanted), &wanted), with_values("# x\n", &wanted));
        }
    }
}
