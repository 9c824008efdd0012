//! `plan show`: the effective plan, each value with the file and line that it comes from.

use std::fmt::Write as _;

use serde_json::Value;

use super::{checked::Checked, page::leaves, tree::segments};

/// The column at which origins begin, if the value leaves room.
const ORIGIN_COLUMN: usize = 72;

/// One line for each value: its path in TOML's dotted form, the value, and where it was written. Elements of arrays of tables have
/// their name in brackets. Secrets are not in it: a plan does not hold their values.
#[must_use]
pub fn show(checked: &Checked) -> String {
    let mut text = format!("# {} — {}\n", checked.header.name, checked.header.question);
    let mut table = String::new();
    leaves(&checked.page.first, "", &mut |pointer, node| {
        let (parent, key) = path(checked.effective(), pointer);
        if parent != table {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}{}", if parent.is_empty() { "" } else { "\n" }, header(&parent));
            table = parent;
        }
        let line = format!("{key} = {}", node.to_value());
        let origin = format!("{}:{}", node.place.source.name, node.place.line_and_column().0);
        let pad = ORIGIN_COLUMN.saturating_sub(line.chars().count()).max(1);
        let _ = writeln!(text, "{line}{:pad$}# {origin}", "");
    });
    text
}

fn header(table: &str) -> String {
    if table.is_empty() { String::new() } else { format!("[{table}]") }
}

/// The table of a leaf and its key within it. Elements of a plain array belong to the key of the array.
fn path(value: &Value, pointer: &str) -> (String, String) {
    let mut current = value;
    let mut tables: Vec<String> = Vec::new();
    let mut key = String::new();
    for segment in segments(pointer) {
        match current {
            Value::Array(values) => {
                current = segment.parse::<usize>().ok().and_then(|index| values.get(index)).unwrap_or(&Value::Null);
                let name = current.get("name").or_else(|| current.get("metric")).and_then(Value::as_str);
                let name = name.map_or_else(|| segment.clone(), |name| format!("{name:?}"));
                let _ = write!(key, "[{name}]");
            }
            table => {
                if !key.is_empty() {
                    tables.push(std::mem::take(&mut key));
                }
                current = table.get(&segment).unwrap_or(&Value::Null);
                key = quoted(&segment);
            }
        }
    }
    (tables.join("."), key)
}

/// A key as TOML spells it.
fn quoted(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if bare { key.to_owned() } else { format!("{key:?}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_name_the_elements_of_arrays() {
        let value = json!({ "phase": [{ "name": "soak", "hold": { "for": "1s", "start": ["a"] } }], "format": 1 });
        let of = |pointer: &str| path(&value, pointer);
        assert_eq!(of("/format"), (String::new(), "format".to_owned()));
        assert_eq!(of("/phase/0/hold/for"), ("phase[\"soak\"].hold".to_owned(), "for".to_owned()));
        assert_eq!(of("/phase/0/hold/start/0"), ("phase[\"soak\"].hold".to_owned(), "start[0]".to_owned()));
    }
}
