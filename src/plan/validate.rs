//! The shape of a filled plan: every key known, every value of its type, every quantity with its unit.
//!
//! The schema finds the errors (all of them, each at a leaf); this turns each into a sentence at the place where it was written, with
//! the nearest name or the right spelling. Quantities are explained by their own parsers, so the words are the same everywhere.

use std::sync::LazyLock;

use jsonschema::{
    JsonType, ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use super::{
    gate::Bound,
    nearest::{list, offer, quoted_as_at},
    quantity::{Bytes, Count, Length, QuantityError, Rate, Share},
    schema::{filled_schema, shape},
    sets::SET_SOURCE,
    tree::{Node, join},
};
use crate::problem::{Place, Problem};

/// The schema with its words, for what is wrong.
static SCHEMA: LazyLock<Value> = LazyLock::new(filled_schema);
static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    let mut options = jsonschema::options().should_validate_formats(true);
    for title in TITLES {
        options = options.with_format(*title, |text: &str| explain(title, text).is_none());
    }
    options.build(&shape()).expect("a schema that was tested")
});

/// The quantities, by what their schemas call them.
const TITLES: &[&str] = &[Length::TITLE, Count::TITLE, Bytes::TITLE, Share::TITLE, Rate::TITLE, Bound::TITLE];

/// Compiles the schema: as long as reading a plan, so that both are done at once.
pub(crate) fn prepare() {
    LazyLock::force(&VALIDATOR);
}

/// Reports everything in a filled tree that does not have the shape of a plan.
pub(crate) fn validate(tree: &Node, value: &Value, problems: &mut Vec<Problem>) {
    for error in errors(value) {
        report(&error, tree, problems);
    }
}

/// The errors in the shape of a plan, each at the key or value that it is about.
pub(super) fn errors(value: &Value) -> impl Iterator<Item = ValidationError<'_>> {
    VALIDATOR.iter_errors(value)
}

/// The schema of a filled plan.
pub(super) fn schema_root() -> &'static Value {
    &SCHEMA
}

fn report(error: &ValidationError<'_>, tree: &Node, problems: &mut Vec<Problem>) {
    let pointer = error.instance_path().as_str();
    let about = About { pointer, node: tree.nearest(pointer), key: tree.key_at(pointer), value: error.instance() };
    let schema = schema_of(error.schema_path().as_str());
    match error.kind() {
        Kind::AdditionalProperties { unexpected } => {
            problems.extend(unexpected.iter().map(|key| about.unknown_key(key, schema, tree)));
        }
        Kind::Required { property } => problems.push(about.missing_key(property.as_str().unwrap_or_default(), schema)),
        Kind::Enum { options } => problems.push(about.unknown_word(options)),
        Kind::Type { kind } => problems.push(about.wrong_type(kind, schema)),
        Kind::Pattern { .. } | Kind::Format { .. } => problems.push(about.wrong_pattern(schema)),
        Kind::Minimum { limit } => problems.push(about.out_of_range(&format!("at least {limit}"))),
        Kind::Maximum { limit } => problems.push(about.out_of_range(&format!("at most {limit}"))),
        Kind::MinItems { .. } | Kind::MinLength { .. } | Kind::MinProperties { .. } => problems.push(about.empty()),
        _ => problems.push(Problem::error(error.to_string()).at(Some(about.node.place.clone()), "here")),
    }
}

/// The schema whose keyword found the error.
pub(super) fn schema_of(keyword_pointer: &str) -> &'static Value {
    let (schema, _) = keyword_pointer.rsplit_once('/').unwrap_or_default();
    SCHEMA.pointer(schema).unwrap_or(&SCHEMA)
}

/// What an error is about.
struct About<'a> {
    pointer: &'a str,
    node: &'a Node,
    key: Option<Place>,
    value: &'a Value,
}

impl About<'_> {
    fn unknown_key(&self, key: &str, schema: &Value, tree: &Node) -> Problem {
        let place = tree.key_at(&join(self.pointer, key));
        let known =
            schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str());
        let title = format!("unknown key `{key}` in {}", self.table());
        offer(Problem::error(title).at(place.clone(), "not a key of this table"), key, known, |name| {
            quoted_as_at(place.as_ref(), name)
        })
    }

    fn missing_key(&self, key: &str, schema: &Value) -> Problem {
        let place = self.key.clone().unwrap_or_else(|| self.start());
        let title = format!("missing key `{key}` in {}", self.table());
        let meaning = schema.pointer(&join("/properties", key)).and_then(|field| field.get("description")?.as_str());
        let problem = Problem::error(title).at(Some(place), format!("`{key}` is needed here"));
        match meaning.and_then(|meaning| meaning.lines().next()) {
            Some(meaning) => problem.help(format!("`{key}`: {meaning}")),
            None => problem,
        }
    }

    fn unknown_word(&self, options: &Value) -> Problem {
        let known: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let written = self.value.as_str().unwrap_or_default();
        let label = if self.value.is_string() { "not one of the words that are known here" } else { "expected a text" };
        let problem = self.problem(format!("unknown {} {}", self.noun(), self.value), label);
        let place = self.place();
        self.only_if_verbatim(offer(problem, written, known, |name| quoted_as_at(Some(&place), name)))
    }

    fn wrong_type(&self, expected: &TypeKind, schema: &Value) -> Problem {
        if let (Some(title), Value::Number(_)) = (title(schema), self.value)
            && let Some(error) = explain(title, &self.value.to_string())
        {
            return self.quantity(title, &error);
        }
        let wanted = title(schema).map_or_else(|| names_of(expected), |title| with_example(title, schema));
        self.problem(
            format!("wrong type for `{}`", self.name()),
            &format!("expected {wanted}, found {}", kind_of(self.value)),
        )
    }

    fn wrong_pattern(&self, schema: &Value) -> Problem {
        let text = self.value.as_str().unwrap_or_default();
        if text.contains("{{") {
            let title = format!("`{}` must be known when the plan is checked", self.name());
            return self.problem(title, "only free texts can wait for a cell to begin");
        }
        if let Some((title, error)) = title(schema).and_then(|title| Some((title, explain(title, text)?))) {
            return self.quantity(title, &error);
        }
        let wanted = title(schema).map_or_else(
            || "letters, digits, `-`, `_` and `.`, the first a letter or digit".to_owned(),
            |title| with_example(title, schema),
        );
        self.problem(format!("wrong spelling of `{}`", self.name()), &format!("expected {wanted}"))
    }

    fn quantity(&self, title: &str, error: &QuantityError) -> Problem {
        let problem = self.problem(format!("not {title}: {}", self.value), &error.reason);
        match &error.remedy {
            Some(remedy) => {
                let place = self.place();
                // A number in a file gets the quotes of a text; an argument has none.
                let bare = place.source.name == SET_SOURCE;
                let spelt = if bare { remedy.clone() } else { format!("\"{remedy}\"") };
                self.only_if_verbatim(problem.help(format!("write {spelt}")).replace_with(spelt))
            }
            None => problem,
        }
    }

    fn out_of_range(&self, range: &str) -> Problem {
        self.problem(format!("`{}` is out of range: {}", self.name(), self.value), &format!("expected {range}"))
    }

    fn empty(&self) -> Problem {
        let place = if self.value.is_object() { self.key.clone() } else { Some(self.place()) };
        Problem::error(format!("`{}` is empty", self.name())).at(place, "at least one is needed")
    }

    /// A problem with the value. When a template gave the value, the words say so.
    fn problem(&self, title: String, label: &str) -> Problem {
        let label =
            if self.node.verbatim { label.to_owned() } else { format!("{label} (filled, this is {})", self.value) };
        Problem::error(title).at(Some(self.place()), label)
    }

    /// The text of a template must not be replaced by what its value should be.
    fn only_if_verbatim(&self, problem: Problem) -> Problem {
        if self.node.verbatim { problem } else { Problem { replacement: None, ..problem } }
    }

    fn place(&self) -> Place {
        self.node.place.clone()
    }

    /// The first key of the plan, for what is missing at the top; the first line of a file without keys.
    fn start(&self) -> Place {
        let first = self
            .node
            .fields()
            .and_then(|fields| fields.values().map(|field| &field.key).min_by_key(|key| key.span.start));
        first.cloned().unwrap_or_else(|| {
            let text = &self.node.place.source.text;
            Place { span: 0..text.find('\n').unwrap_or(text.len()), ..self.node.place.clone() }
        })
    }

    /// The key of the value.
    fn name(&self) -> String {
        let last = self.pointer.rsplit('/').next().unwrap_or_default();
        if last.parse::<usize>().is_ok() { self.pointer.trim_start_matches('/').to_owned() } else { last.to_owned() }
    }

    /// A word for what the key takes: the key itself.
    fn noun(&self) -> String {
        format!("`{}`", self.name())
    }

    fn table(&self) -> String {
        match self.pointer.trim_start_matches('/') {
            "" => "the plan".to_owned(),
            path => format!("`{path}`"),
        }
    }
}

fn title(schema: &Value) -> Option<&'static str> {
    let title = schema.get("title")?.as_str()?;
    TITLES.iter().copied().find(|known| *known == title)
}

/// What the quantity's own parser says of a text; none when it accepts it.
fn explain(title: &str, text: &str) -> Option<QuantityError> {
    match title {
        Length::TITLE => text.parse::<Length>().err(),
        Count::TITLE => text.parse::<Count>().err(),
        Bytes::TITLE => text.parse::<Bytes>().err(),
        Share::TITLE => text.parse::<Share>().err(),
        Rate::TITLE => text.parse::<Rate>().err(),
        Bound::TITLE => Bound::parse(text).err(),
        _ => None,
    }
}

fn with_example(title: &str, schema: &Value) -> String {
    match schema.pointer("/examples/0") {
        Some(example) => format!("{title} such as {example}"),
        None => title.to_owned(),
    }
}

fn names_of(expected: &TypeKind) -> String {
    let name = |kind: JsonType| match kind {
        JsonType::Array => "an array",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Null => "nothing",
        JsonType::Number => "a number",
        JsonType::Object => "a table",
        JsonType::String => "a text",
    };
    match expected {
        TypeKind::Single(kind) => name(*kind).to_owned(),
        TypeKind::Multiple(kinds) => list(kinds.iter().map(name)).replace('`', "").replace(" and ", " or "),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "a table",
    }
}
