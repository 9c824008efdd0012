//! A misshapen plan as it was probably meant, so that what its shape hides is checked too: all problems at once.
//!
//! A misspelt key or word becomes the nearest that is known: that is what was meant, and whatever is wrong beyond it is said. A wrong
//! value becomes an example of what is wanted there, an unknown key goes; what is then said about the thing around would be about the
//! stand-in, and is left out. So are warnings, which judge values.

use jsonschema::{ValidationError, error::ValidationErrorKind as Kind};
use serde_json::{Map, Value};

use super::{
    document::Plan,
    nearest::nearest,
    page::leaves,
    tree::{Node, join, segments},
    validate::{errors, schema_of, schema_root},
};
use crate::problem::{Place, Problem, Severity};

/// A plan that was repaired.
pub(crate) struct Repaired {
    /// The plan.
    pub(crate) plan: Plan,
    /// The tables that hold a stand-in or lost a key, as JSON pointers.
    tables: Vec<String>,
}

/// Repairs a filled tree that does not have the shape of a plan; none when it cannot be read all the same.
pub(crate) fn repair(value: &Value) -> Option<Repaired> {
    let mut repaired = value.clone();
    let mut tables = Vec::new();
    // A key that gets its right name may bring a wrong value to light: that is mended in the second round.
    for _ in 0..2 {
        let before = repaired.clone();
        for error in errors(&before) {
            mend(&error, &mut repaired, &mut tables);
        }
    }
    Some(Repaired { plan: serde_json::from_value(repaired).ok()?, tables })
}

impl Repaired {
    /// What may be said of the plan in spite of the repairs.
    pub(crate) fn sayable(&self, tree: &Node, found: Vec<Problem>) -> impl Iterator<Item = Problem> + use<> {
        let mut repaired = Vec::new();
        for table in &self.tables {
            things(tree, table, &mut repaired);
        }
        found.into_iter().filter(move |problem| {
            let of_repair = problem.place.as_ref().is_none_or(|place| repaired.iter().any(|thing| thing.holds(place)));
            problem.severity == Severity::Error && !of_repair
        })
    }
}

impl Place {
    fn holds(&self, other: &Self) -> bool {
        self.source == other.source && self.span.start <= other.span.start && other.span.end <= self.span.end
    }
}

/// The places of a table and all in it, and of the keys and plain values of the tables around it; the plan as a whole is no such table.
fn things(tree: &Node, table: &str, places: &mut Vec<Place>) {
    let mut pointer = String::new();
    let mut around = tree;
    for segment in segments(table) {
        let Some(inner) = around.at(&join("", &segment)) else { return };
        pointer = join(&pointer, &segment);
        places.extend(tree.key_at(&pointer));
        around = inner;
        let plain = around.fields().into_iter().flat_map(|fields| fields.values());
        for field in plain.filter(|field| field.node.fields().is_none()) {
            places.extend([field.key.clone(), field.node.place.clone()]);
        }
    }
    if !pointer.is_empty() {
        leaves(around, "", &mut |_, leaf| places.push(leaf.place.clone()));
    }
}

/// Mends what one error is about, where the plan could not be read otherwise.
fn mend(error: &ValidationError<'_>, plan: &mut Value, tables: &mut Vec<String>) {
    let pointer = error.instance_path().as_str();
    let schema = schema_of(error.schema_path().as_str());
    let Some(written) = plan.pointer_mut(pointer) else { return };
    match error.kind() {
        Kind::AdditionalProperties { unexpected } => {
            let Value::Object(table) = written else { return };
            let lost = unexpected.iter().filter(|key| !rename(table, key, schema)).count();
            tables.extend((lost > 0).then(|| pointer.to_owned()));
        }
        Kind::Required { property } => {
            if let (Value::Object(table), Some(key)) = (written, property.as_str()) {
                let field = schema.pointer(&join("/properties", key));
                table.insert(key.to_owned(), field.map_or(Value::Null, stand_in));
            }
            tables.push(pointer.to_owned());
        }
        kind => {
            *written = match kind {
                Kind::Minimum { limit } | Kind::Maximum { limit } => limit.clone(),
                Kind::Enum { options } => match nearest_word(written, options) {
                    Some(word) => {
                        *written = word;
                        return;
                    }
                    None => stand_in(schema),
                },
                // A free text or a list that is not as it should be can still be read, and others may name it.
                Kind::Pattern { .. } | Kind::Format { .. } if schema.get("title").is_none() => return,
                Kind::MinItems { .. } | Kind::MinLength { .. } | Kind::MinProperties { .. } => return,
                _ => stand_in(schema),
            };
            tables.push(pointer.rsplit_once('/').map_or_else(String::new, |(table, _)| table.to_owned()));
        }
    }
}

/// Gives an unknown key the name that was probably meant, or takes it out. Whether it got a name.
fn rename(table: &mut Map<String, Value>, key: &str, schema: &Value) -> bool {
    let Some(value) = table.shift_remove(key) else { return true };
    let known =
        schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str());
    let name = nearest(key, known.filter(|name| !table.contains_key(*name))).map(str::to_owned);
    name.map(|name| table.insert(name, value)).is_some()
}

fn nearest_word(written: &Value, options: &Value) -> Option<Value> {
    let words = options.as_array()?.iter().filter_map(Value::as_str);
    nearest(written.as_str()?, words).map(|word| Value::String(word.to_owned()))
}

/// Something that the schema accepts: its example, its first word, or the least of its type.
fn stand_in(schema: &Value) -> Value {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return schema_root().pointer(reference.trim_start_matches('#')).map_or(Value::Null, stand_in);
    }
    if let Some(inner) = schema.pointer("/allOf/0") {
        return stand_in(inner);
    }
    if let Some(example) = schema.pointer("/examples/0").or_else(|| schema.pointer("/enum/0")) {
        return example.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        Some("boolean") => Value::Bool(false),
        Some("array") => Value::Array(Vec::new()),
        Some("object") => Value::Object(least_table(schema)),
        _ => Value::String("unknown".to_owned()),
    }
}

fn least_table(schema: &Value) -> Map<String, Value> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    required.filter_map(|key| Some((key.to_owned(), stand_in(schema.pointer(&join("/properties", key))?)))).collect()
}
