//! `plan show`: the effective plan, each value with the file and line that it comes from.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    checked::Checked,
    tree::{Data, Node},
};

/// The column at which origins begin, if the value leaves room.
const ORIGIN_COLUMN: usize = 72;

/// One line for each value: its key, the value as TOML, and where it was written. Tables have headers in TOML's form; an element of an
/// array of tables has its name in the header. Values of secrets are not in it: a plan does not hold them.
#[must_use]
pub fn show(checked: &Checked) -> String {
    let mut text = format!("# {} — {}\n", checked.header.name, checked.header.question);
    table(&checked.page.first, "", &mut text);
    text
}

/// The plain values of a table, then the tables in it.
fn table(node: &Node, path: &str, text: &mut String) {
    let Some(fields) = node.fields() else { return };
    let (tables, values): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, field)| holds_tables(&field.node));
    if !path.is_empty() && !values.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n[{path}]");
    }
    for (key, field) in values {
        line(key, &field.node, text);
    }
    for (key, field) in tables {
        let path = if path.is_empty() { quoted(key) } else { format!("{path}.{}", quoted(key)) };
        match &field.node.data {
            Data::List(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    let name = ["name", "metric"].iter().find_map(|key| element.get(key).and_then(Node::text));
                    let name = name.map_or_else(|| index.to_string(), |name| format!("{name:?}"));
                    table(element, &format!("{path}[{name}]"), text);
                }
            }
            _ => table(&field.node, &path, text),
        }
    }
}

fn holds_tables(node: &Node) -> bool {
    match &node.data {
        Data::Table(_) => true,
        Data::List(elements) => elements.iter().any(|element| element.fields().is_some()),
        Data::Leaf(_) => false,
    }
}

fn line(key: &str, node: &Node, text: &mut String) {
    let line = format!("{} = {}", quoted(key), spell(&node.to_value()));
    let origin = format!("{}:{}", node.place.source.name, node.place.line_and_column().0);
    let pad = ORIGIN_COLUMN.saturating_sub(line.chars().count()).max(1);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}{:pad$}# {origin}", "");
}

/// A plain value as TOML spells it, on one line: JSON spells texts, numbers and arrays of them the same way.
fn spell(value: &Value) -> String {
    match value {
        Value::Array(values) => format!("[{}]", values.iter().map(spell).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// A key as TOML spells it.
fn quoted(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if bare { key.to_owned() } else { format!("{key:?}") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::problem::Source;

    #[test]
    fn values_come_before_tables_and_say_where_they_are_from() {
        let written = "a.b.c = [1, 'x']\na.d = 'y'\n[[phase]]\nname = 'soak'\nhold = { for = '1s' }\n";
        let source = Arc::new(Source { name: "p.toml".into(), text: written.into() });
        let mut text = String::new();
        table(&Node::parse(&source, &mut Vec::new()), "", &mut text);
        let squeezed: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            squeezed,
            [
                "",
                "[a]",
                "d = \"y\" # p.toml:2",
                "",
                "[a.b]",
                "c = [1, \"x\"] # p.toml:1",
                "",
                "[phase[\"soak\"]]",
                "name = \"soak\" # p.toml:4",
                "",
                "[phase[\"soak\"].hold]",
                "for = \"1s\" # p.toml:5"
            ]
        );
    }
}
