//! Everything but the gates, compared as trees: tables by key, arrays of tables by `name`.

use std::str::FromStr;

use serde_json::{Map, Value};

use super::{
    Alteration, Change, Topic,
    excerpt::{differing, inline},
};
use crate::plan::quantity::{Bytes, Count, Length, Rate, Share};

/// Keys that are compared elsewhere (`gate`) or whose meaning is in all the others (`format`, `extends`, `without`).
const APART: [&str; 4] = ["gate", "format", "extends", "without"];

/// What changes between two trees.
pub(super) fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare(&mut found, &mut Vec::new(), before, after);
    found
}

fn compare(found: &mut Vec<Change>, path: &mut Vec<String>, before: &Value, after: &Value) {
    if before == after || (path.first().is_some_and(|key| key == "vars") && same_quantity(before, after)) {
        return;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => tables(found, path, old, new),
        (Value::Array(old), Value::Array(new)) => lists(found, path, old, new),
        _ => {
            let (before, after) = differing(&inline(before), &inline(after));
            found.push(change(path, Alteration::Replaced { before, after }));
        }
    }
}

fn tables(found: &mut Vec<Change>, path: &mut Vec<String>, old: &Map<String, Value>, new: &Map<String, Value>) {
    let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    let top = path.is_empty();
    for key in keys.filter(|key| !(top && APART.contains(&key.as_str()))) {
        path.push(key.clone());
        either(found, path, old.get(key), new.get(key));
        path.pop();
    }
}

fn either(found: &mut Vec<Change>, path: &mut Vec<String>, old: Option<&Value>, new: Option<&Value>) {
    match (old, new) {
        (Some(old), Some(new)) => compare(found, path, old, new),
        // A whole section that comes or goes is told thing by thing.
        (None, Some(new)) if path.len() == 1 && is_section(new) => compare(found, path, &emptied(new), new),
        (Some(old), None) if path.len() == 1 && is_section(old) => compare(found, path, old, &emptied(old)),
        (None, Some(new)) => found.push(change(path, Alteration::Added(without_name(new)))),
        (Some(old), None) => found.push(change(path, Alteration::Removed(without_name(old)))),
        (None, None) => {}
    }
}

/// Tables of named things, and arrays of them.
fn is_section(value: &Value) -> bool {
    match value {
        Value::Object(table) => !table.is_empty() && table.values().all(Value::is_object),
        Value::Array(items) => names(items).is_some_and(|names| !names.is_empty()),
        _ => false,
    }
}

fn emptied(value: &Value) -> Value {
    if value.is_array() { Value::Array(Vec::new()) } else { Value::Object(Map::new()) }
}

fn lists(found: &mut Vec<Change>, path: &mut Vec<String>, old: &[Value], new: &[Value]) {
    if let (Some(old_names), Some(new_names)) = (names(old), names(new)) {
        return named_tables(found, path, (old, &old_names), (new, &new_names));
    }
    if path.last().is_some_and(|key| key == "command") {
        let line = |words: &[Value]| words.iter().map(inline).collect::<Vec<_>>().join(" ");
        let (before, after) = differing(&line(old), &line(new));
        return found.push(change(path, Alteration::Replaced { before, after }));
    }
    let lacks = |list: &[Value], items: &[Value]| -> Vec<String> {
        items.iter().filter(|item| !list.contains(item)).map(inline).collect()
    };
    let (added, removed) = (lacks(old, new), lacks(new, old));
    let alteration = if added.is_empty() && removed.is_empty() {
        Alteration::Replaced { before: inline(&old.into()), after: inline(&new.into()) }
    } else {
        Alteration::Elements { added, removed }
    };
    found.push(change(path, alteration));
}

/// Adds its place in the order to what was added last.
fn say_where(found: &mut [Change], names: &[&str], name: &str) {
    let Some(Change { alteration: Alteration::Added(text), .. }) = found.last_mut() else { return };
    let before = names.iter().position(|other| *other == name).and_then(|at| names.get(at.checked_sub(1)?));
    match before {
        Some(before) => text.extend([", after ", before]),
        None => text.push_str(", first"),
    }
}

/// The names of an array of tables; none when they do not all have one of their own.
fn names(items: &[Value]) -> Option<Vec<&str>> {
    let names: Option<Vec<&str>> = items.iter().map(|item| item.get("name")?.as_str()).collect();
    names.filter(|names| (1..names.len()).all(|at| !names[..at].contains(&names[at])))
}

type Named<'a> = (&'a [Value], &'a [&'a str]);

fn named_tables(found: &mut Vec<Change>, path: &mut Vec<String>, old: Named<'_>, new: Named<'_>) {
    let get = |(items, names): Named<'_>, name: &str| {
        names.iter().position(|other| *other == name).map(|at| items[at].clone())
    };
    let gone = old.1.iter().filter(|name| !new.1.contains(name));
    for name in new.1.iter().chain(gone) {
        path.push((*name).to_owned());
        let (before, after) = (get(old, name), get(new, name));
        either(found, path, before.as_ref(), after.as_ref());
        if before.is_none() {
            say_where(found, new.1, name);
        }
        path.pop();
    }
    let order = |from: &[&str], other: &[&str]| -> Vec<String> {
        from.iter().filter(|name| other.contains(name)).map(|name| (*name).to_owned()).collect()
    };
    let (before, after) = (order(old.1, new.1), order(new.1, old.1));
    if before != after {
        let alteration = Alteration::Replaced { before: before.join(", "), after: after.join(", ") };
        path.push("order".to_owned());
        found.push(change(path, alteration));
        path.pop();
    }
}

fn without_name(value: &Value) -> String {
    let Value::Object(table) = value else { return inline(value) };
    let rest = table.iter().filter(|(key, _)| *key != "name").map(|(key, value)| (key.clone(), value.clone()));
    inline(&Value::Object(rest.collect()))
}

fn change(path: &[String], alteration: Alteration) -> Change {
    let (subject, rest) = subject(path);
    let topic = path.first().map_or(Topic::Words, |key| Topic::of(key));
    Change { topic, subject, part: path[rest.min(path.len())..].join("."), alteration, effect: None }
}

/// What a path is about, and how many of its keys that takes.
fn subject(path: &[String]) -> (String, usize) {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    match keys.as_slice() {
        [list @ ("phase" | "setup" | "teardown"), "order"] => ((*list).to_owned(), 1),
        ["phase", name, ..] => ((*name).to_owned(), 2),
        ["target", "processes", "services", name, ..] => (format!("service {name}"), 4),
        [section, name, ..] if let Some(one) = singular(section) => (format!("{one} {name}"), 2),
        [key, ..] => ((*key).to_owned(), 1),
        [] => ("plan".to_owned(), 0),
    }
}

/// One thing of a section of named things.
fn singular(section: &str) -> Option<&'static str> {
    Some(match section {
        "vars" => "variable",
        "secrets" => "secret",
        "commits" => "commit",
        "connections" => "connection",
        "messages" => "message",
        "loads" => "load",
        "queries" => "query",
        "watches" => "watch",
        "probes" => "probe",
        "workflows" => "workflow",
        "setup" => "setup",
        "teardown" => "teardown",
        "not_covered" => "not covered:",
        "not_proven" => "not proven:",
        _ => return None,
    })
}

/// Whether two variables are the same quantity in two spellings. Elsewhere the types see to that.
fn same_quantity(before: &Value, after: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let (Some(a), Some(b)) = (text(before), text(after)) else { return false };
    same::<Length>(&a, &b)
        || same::<Bytes>(&a, &b)
        || same::<Share>(&a, &b)
        || same::<Rate>(&a, &b)
        || same::<Count>(&a, &b)
}

fn same<Q: FromStr + PartialEq>(a: &str, b: &str) -> bool {
    matches!((a.parse::<Q>(), b.parse::<Q>()), (Ok(a), Ok(b)) if a == b)
}
