//! The plan as it will be run, as TOML, with the place where each value comes from; and what it touches.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::plan::touches::Touch;

/// The column at which origins begin, if the value leaves room.
const ORIGIN_COLUMN: usize = 64;

/// Gives the file and line of a value, by its JSON pointer.
pub type Origin<'a> = dyn Fn(&str) -> Option<(String, usize)> + 'a;

/// The effective plan as TOML; behind each value stands where it comes from.
#[must_use]
pub fn effective(plan: &Value, origin: &Origin<'_>) -> String {
    let mut out = String::new();
    if let Value::Object(table) = plan {
        write_table(&mut out, &Place { keys: String::new(), pointer: String::new() }, table, origin);
    }
    out
}

/// Where a table is, as TOML names it and as a JSON pointer.
struct Place {
    keys: String,
    pointer: String,
}

impl Place {
    fn below(&self, key: &str) -> Self {
        let dot = if self.keys.is_empty() { "" } else { "." };
        let pointer = format!("{}/{}", self.pointer, key.replace('~', "~0").replace('/', "~1"));
        Self { keys: format!("{}{dot}{}", self.keys, written_key(key)), pointer }
    }

    fn item(&self, index: usize) -> Self {
        Self { keys: self.keys.clone(), pointer: format!("{}/{index}", self.pointer) }
    }
}

/// Values first, then tables: TOML gives every line to the last header.
fn write_table(out: &mut String, place: &Place, table: &Map<String, Value>, origin: &Origin<'_>) {
    for (key, value) in table.iter().filter(|(_, value)| !is_table(value) && !is_list_of_tables(value)) {
        let line = format!("{} = {}", written_key(key), written(value));
        match origin(&place.below(key).pointer) {
            Some((file, number)) => {
                let pad = ORIGIN_COLUMN.saturating_sub(line.chars().count()).max(1);
                let _ = writeln!(out, "{line}{:pad$}# {file}:{number}", "");
            }
            None => out.push_str(&(line + "\n")),
        }
    }
    for (key, value) in table {
        let place = place.below(key);
        match value {
            Value::Object(inner) => {
                // A header that only holds further headers says nothing.
                if inner.is_empty() || inner.values().any(|value| !is_table(value) && !is_list_of_tables(value)) {
                    let _ = writeln!(out, "\n[{}]", place.keys);
                }
                write_table(out, &place, inner, origin);
            }
            Value::Array(items) if is_list_of_tables(value) => {
                for (index, item) in items.iter().enumerate() {
                    let _ = writeln!(out, "\n[[{}]]", place.keys);
                    if let Value::Object(inner) = item {
                        write_table(out, &place.item(index), inner, origin);
                    }
                }
            }
            _ => {}
        }
    }
}

fn is_table(value: &Value) -> bool {
    value.is_object()
}

fn is_list_of_tables(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
}

/// A value on one line.
fn written(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Object(table) => {
            let pairs = table.iter().map(|(key, value)| format!("{} = {}", written_key(key), written(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => quoted(text),
        // TOML has no null, and a plan has none either.
        Value::Null => "\"\"".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn written_key(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { key.to_owned() } else { quoted(key) }
}

/// A basic string: JSON's escapes are TOML's, but for the delete character, which only TOML wants escaped.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

/// What a run touches, one heading for each kind.
#[must_use]
pub fn touches(touches: &[Touch]) -> String {
    let mut out = String::new();
    let width = touches.iter().map(|touch| touch.by.chars().count()).max().unwrap_or(0);
    let mut last = None;
    for touch in touches {
        if last != Some(touch.kind) {
            let gap = if last.is_some() { "\n" } else { "" };
            let _ = writeln!(out, "{gap}# {}", touch.kind.heading());
            last = Some(touch.kind);
        }
        let _ = writeln!(out, "#   {:width$}  {}", touch.by, touch.what);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{effective, touches};
    use crate::plan::touches::{Touch, TouchKind};

    #[test]
    fn each_value_says_where_it_comes_from() {
        let plan =
            json!({ "name": "a", "vars": { "soak": "5s" }, "phase": [{ "name": "s", "hold": { "for": "5s" } }] });
        let origin = |pointer: &str| match pointer {
            "/vars/soak" => Some(("base.toml".to_owned(), 7)),
            "/phase/0/hold/for" => Some(("a.toml".to_owned(), 3)),
            _ => None,
        };
        let shown = effective(&plan, &origin).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            shown,
            "name = \"a\" [vars] soak = \"5s\" # base.toml:7 [[phase]] name = \"s\" [phase.hold] for = \"5s\" # a.toml:3"
        );
    }

    #[test]
    fn touches_are_grouped_by_kind() {
        let touch = |kind, by: &str, what: &str| Touch { kind, by: by.into(), what: what.into() };
        let shown =
            touches(&[touch(TouchKind::Command, "service a", "run me"), touch(TouchKind::Port, "service a", "21883")]);
        assert_eq!(
            shown,
            "# commands that are run\n#   service a  run me\n\n# ports that the target listens on\n#   service a  21883\n"
        );
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-c. \u{7f}é]{0,3}", inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_shown_is_the_plan(pairs in prop::collection::hash_map("[a-d]{1,3}", values(), 0..5)) {
            let plan = Value::Object(pairs.into_iter().collect());
            let text = effective(&plan, &|_| Some(("a b.toml".to_owned(), 1)));
            let read: Value = toml::from_str(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(read, plan);
        }
    }
}
