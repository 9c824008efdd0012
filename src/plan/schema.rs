//! The JSON schema of a plan, made from the types.
//!
//! Two schemas from one source. `filled_schema` is what the checker validates: plain `properties`, no `anyOf` around options and no
//! `oneOf` around words, so that every error is a leaf that points at one key or value. [`plan_schema`] is what editors validate
//! (draft 7, which their TOML plugins read): the same, but a placeholder may stand for any number, truth value, word or quantity, and a plan
//! that extends another may leave out what that one says. `shape` is the first one without its words, as it is committed: what the checker
//! compiles, because reading it takes a fraction of making it.

use schemars::{
    Schema,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Map, Value, json};

use super::document::Plan;

/// The text of a placeholder, alone in its string.
const PLACEHOLDER: &str = r"\{\{.*\}\}";

/// The schema that editors use: `schema/plan.schema.json`.
#[must_use]
pub fn plan_schema() -> Value {
    let mut schema = made_of_types(SchemaSettings::draft07());
    Placeholders.transform(&mut schema);
    less_for_extending(&mut schema);
    schema.to_value()
}

/// The schema of a plan whose placeholders are filled. Each quantity has its title as its `format` in place of its pattern; the checker binds
/// that to the quantity's own parser, which reads less than the pattern (a count is whole) and need not be compiled for each key.
#[must_use]
pub(crate) fn filled_schema() -> Value {
    // The dialect's own transforms keep what stands beside a `$ref`, which is for editors alone.
    let mut schema = made_of_types(SchemaSettings::draft07().with(|settings| settings.transforms.clear()));
    QuantityFormats.transform(&mut schema);
    schema.to_value()
}

/// The schema of a filled plan without titles, descriptions and examples: `schema/filled.schema.json`. What it says of a place is at the
/// same place in `filled_schema`.
#[must_use]
pub(crate) fn shape() -> Value {
    serde_json::from_str(include_str!("../../schema/filled.schema.json")).expect("the schema is committed whole")
}

fn made_of_types(settings: SchemaSettings) -> Schema {
    settings.with_transform(NoNull).with_transform(Words).into_generator().into_root_schema_for::<Plan>()
}

/// TOML has no null: an optional field is a field that may be absent, and its schema is that of its value.
#[derive(Clone)]
struct NoNull;

impl Transform for NoNull {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        if let Some(Value::Array(kinds)) = object.get_mut("type") {
            kinds.retain(|kind| kind != "null");
            if let [only] = kinds.as_slice() {
                let only = only.clone();
                object.insert("type".to_owned(), only);
            }
        }
        if object.get("default") == Some(&Value::Null) {
            object.remove("default");
        }
        if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
            choices.retain(|choice| choice != &json!({"type": "null"}));
            if let [Value::Object(only)] = choices.as_slice() {
                let only = only.clone();
                object.remove("anyOf");
                adopt(object, only);
            }
        }
    }
}

/// Takes a schema's keywords into another; a `$ref` needs a wrapper, because draft 7 ignores what stands beside it.
fn adopt(object: &mut Map<String, Value>, inner: Map<String, Value>) {
    if inner.contains_key("$ref") && !object.is_empty() {
        object.insert("allOf".to_owned(), json!([inner]));
    } else {
        for (key, value) in inner {
            object.entry(key).or_insert(value);
        }
    }
}

/// A choice of words is one `enum` with the words' meanings in its description, not a `oneOf` of constants.
#[derive(Clone)]
struct Words;

impl Transform for Words {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        let Some(Value::Array(choices)) = object.get("oneOf") else { return };
        let mut words = Vec::new();
        let mut meanings = String::new();
        for choice in choices {
            let Some(word) = choice.get("const").and_then(Value::as_str) else { return };
            words.push(json!(word));
            if let Some(meaning) = choice.get("description").and_then(Value::as_str) {
                meanings.extend(["\n- `", word, "`: ", meaning]);
            }
        }
        object.remove("oneOf");
        object.insert("type".to_owned(), json!("string"));
        object.insert("enum".to_owned(), Value::Array(words));
        if let Some(Value::String(description)) = object.get_mut("description") {
            description.push_str(&meanings);
        }
    }
}

/// Names the parser of each quantity, and the largest number of each type that is read.
struct QuantityFormats;

impl Transform for QuantityFormats {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        if let (Some(title), Some(_)) = (object.get("title").cloned(), object.get("pattern")) {
            object.remove("pattern");
            object.insert("format".to_owned(), title);
        }
        if object.get("format").is_some_and(|format| format == "uint32") {
            object.entry("maximum").or_insert(json!(u32::MAX));
        }
    }
}

/// Lets a placeholder stand where something else than a free text is wanted.
struct Placeholders;

impl Transform for Placeholders {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        if object.contains_key("enum") {
            let words = json!({ "enum": object.remove("enum"), "type": object.remove("type") });
            object.insert("anyOf".to_owned(), json!([words, { "type": "string", "pattern": PLACEHOLDER }]));
            return;
        }
        if let Some(Value::String(pattern)) = object.get("pattern") {
            let wider = format!("({pattern})|({PLACEHOLDER})");
            object.insert("pattern".to_owned(), json!(wider));
            return;
        }
        let kinds = match object.get("type") {
            Some(Value::String(kind)) if matches!(kind.as_str(), "integer" | "number" | "boolean" | "array") => {
                json!([kind, "string"])
            }
            _ => return,
        };
        object.insert("type".to_owned(), kinds);
        object.insert("pattern".to_owned(), json!(PLACEHOLDER));
    }
}

/// A plan with `extends` need not say what the other one says, in no table. So the tables themselves demand no key; a second tree of
/// definitions that holds nothing but the demands is laid over a plan without `extends`.
fn less_for_extending(schema: &mut Schema) {
    let mut value = std::mem::take(schema).to_value();
    let mut demands = demands(&value).unwrap_or_default();
    let definitions = value.get("definitions").and_then(Value::as_object).cloned().unwrap_or_default();
    let whole = definitions.iter().filter_map(|(name, definition)| Some((whole(name), self::demands(definition)?)));
    let whole: Map<String, Value> = whole.collect();
    without_demands(&mut value);
    prune(&mut demands, &whole);
    if let Some(Value::Object(definitions)) = value.get_mut("definitions") {
        for (name, mut demand) in whole.clone() {
            prune(&mut demand, &whole);
            definitions.insert(name, demand);
        }
    }
    if let Some(object) = value.as_object_mut() {
        object.insert("required".to_owned(), json!(["format", "name"]));
        object.insert("if".to_owned(), json!({ "not": { "required": ["extends"] } }));
        object.insert("then".to_owned(), demands);
    }
    *schema = Schema::try_from(value).expect("an object is a schema");
}

fn whole(definition: &str) -> String {
    format!("Whole{definition}")
}

/// What a schema demands: its required keys, and the demands of what is in it.
fn demands(schema: &Value) -> Option<Value> {
    let mut demand = Map::new();
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or_default();
        demand.insert("$ref".to_owned(), json!(format!("#/definitions/{}", whole(name))));
    }
    if let Some(required) = schema.get("required") {
        demand.insert("required".to_owned(), required.clone());
    }
    for key in ["items", "additionalProperties"] {
        demand.extend(schema.get(key).and_then(demands).map(|inner| (key.to_owned(), inner)));
    }
    if let Some(inner) = schema.pointer("/allOf/0").and_then(demands) {
        demand.insert("allOf".to_owned(), json!([inner]));
    }
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let properties: Map<String, Value> =
        properties.filter_map(|(key, field)| Some((key.clone(), demands(field)?))).collect();
    if !properties.is_empty() {
        demand.insert("properties".to_owned(), Value::Object(properties));
    }
    (!demand.is_empty()).then_some(Value::Object(demand))
}

/// Takes the required keys out of every table.
fn without_demands(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("required").is_some_and(Value::is_array) {
                object.remove("required");
            }
            object.values_mut().for_each(without_demands);
        }
        Value::Array(inner) => inner.iter_mut().for_each(without_demands),
        _ => {}
    }
}

/// Takes out references to definitions that demand nothing.
fn prune(demand: &mut Value, whole: &Map<String, Value>) {
    let Value::Object(object) = demand else { return };
    let dangling = object.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit('/').next());
    if dangling.is_some_and(|name| !whole.contains_key(name)) {
        object.remove("$ref");
    }
    for inner in object.values_mut() {
        match inner {
            Value::Array(inner) => inner.iter_mut().for_each(|inner| prune(inner, whole)),
            inner => prune(inner, whole),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds a committed schema against the one of the types; writes it under `SCALER_UPDATE`.
    fn assert_committed(name: &str, schema: &Value) {
        let path = format!("{}/schema/{name}", env!("CARGO_MANIFEST_DIR"));
        let made = format!("{schema:#}\n");
        if std::env::var_os("SCALER_UPDATE").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap();
        assert!(committed == made, "schema/{name} is stale: run the tests once with SCALER_UPDATE=1");
    }

    /// Takes the words away from a schema.
    struct Bare;

    impl Transform for Bare {
        fn transform(&mut self, schema: &mut Schema) {
            transform_subschemas(self, schema);
            for word in ["title", "description", "examples", "default"] {
                schema.remove(word);
            }
        }
    }

    #[test]
    fn the_committed_schemas_are_those_of_the_types() {
        assert_committed("plan.schema.json", &plan_schema());
        let mut bare = Schema::try_from(filled_schema()).unwrap();
        Bare.transform(&mut bare);
        assert_committed("filled.schema.json", &bare.to_value());
    }

    #[test]
    fn every_field_says_what_it_is_and_no_choice_hides_an_error() {
        fn visit(schema: &Value, at: &str) {
            let Value::Object(object) = schema else { return };
            for hiding in ["oneOf", "anyOf", "$defs"] {
                assert!(!object.contains_key(hiding), "{at}: {hiding}");
            }
            for (name, field) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
                assert!(field.get("description").is_some(), "{at}.{name} has no description");
                visit(field, &format!("{at}.{name}"));
            }
            for (name, definition) in object.get("definitions").and_then(Value::as_object).into_iter().flatten() {
                if definition.get("properties").is_some() {
                    assert_eq!(definition["additionalProperties"], json!(false), "{name}");
                }
                visit(definition, name);
            }
        }
        visit(&filled_schema(), "plan");
    }

    #[test]
    fn a_placeholder_may_stand_for_anything_that_is_not_a_free_text() {
        let validator = jsonschema::validator_for(&plan_schema()).unwrap();
        let plan = json!({
            "format": 1, "name": "n", "extends": "base.toml",
            "fleet": { "points": "{{ step.points }}", "points_per_equip": "{{ vars.n }}" },
            "phase": [{ "name": "soak", "hold": { "for": "{{ vars.soak }}", "measure": "{{ vars.measure }}" } }],
            "gate": [{ "metric": "lag.p95_s", "below": "{{ vars.bar }}", "miss": "{{ vars.miss }}" }],
        });
        let errors: Vec<String> = validator.iter_errors(&plan).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new());
        let wrong = json!({ "format": 1, "name": "n", "extends": "b", "gate": [{ "metric": "m", "miss": "fial" }] });
        assert!(!validator.is_valid(&wrong));
    }
}
