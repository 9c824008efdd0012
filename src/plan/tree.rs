//! The plan's own tree: TOML values with the place of every key and value.
//!
//! `extends`, `--set` and `{{ }}` all work on this tree, never on the text, so that a problem found at the very end still
//! points at what someone wrote.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Number, Value};
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

use crate::problem::{Place, Problem, Source};

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Where.
    pub(crate) place: Place,
    /// Whether the text at the place is the value itself; false when it is a template that gave the value.
    pub(crate) verbatim: bool,
    /// What.
    pub(crate) data: Data,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    /// A table, in the order of the text.
    Table(IndexMap<String, Field>),
    /// An array.
    List(Vec<Node>),
    /// A text, a number or a truth value.
    Leaf(Value),
}

/// A value and the place of its key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// Where the key was written.
    pub(crate) key: Place,
    /// The value.
    pub(crate) node: Node,
}

impl Node {
    /// Reads a TOML document. The tree holds what could be read; the problems are all of the syntax.
    pub(crate) fn parse(source: &Arc<Source>, problems: &mut Vec<Problem>) -> Self {
        let (table, errors) = DeTable::parse_recoverable(&source.text);
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            let title = error.message().lines().next().unwrap_or("not TOML").to_owned();
            problems.push(Problem::error(title).at(Some(place(source, span)), "not TOML here"));
        }
        let mut reader = Reader { source, problems };
        let span = table.span();
        reader.table(table.get_ref(), span)
    }

    /// A value that was not written anywhere else: everything in it has the same place.
    pub(crate) fn from_value(value: &Value, place: &Place, verbatim: bool) -> Self {
        let data = match value {
            Value::Object(map) => Data::Table(
                map.iter()
                    .map(|(key, value)| {
                        let node = Self::from_value(value, place, verbatim);
                        (key.clone(), Field { key: place.clone(), node })
                    })
                    .collect(),
            ),
            Value::Array(values) => {
                Data::List(values.iter().map(|value| Self::from_value(value, place, verbatim)).collect())
            }
            leaf => Data::Leaf(leaf.clone()),
        };
        Self { place: place.clone(), verbatim, data }
    }

    /// The value without its places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.data {
            Data::Table(fields) => Value::Object(
                fields.iter().map(|(key, field)| (key.clone(), field.node.to_value())).collect::<Map<_, _>>(),
            ),
            Data::List(nodes) => Value::Array(nodes.iter().map(Self::to_value).collect()),
            Data::Leaf(value) => value.clone(),
        }
    }

    /// The fields of a table; none for anything else.
    pub(crate) fn fields(&self) -> Option<&IndexMap<String, Field>> {
        match &self.data {
            Data::Table(fields) => Some(fields),
            Data::List(_) | Data::Leaf(_) => None,
        }
    }

    /// A field's value.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.fields()?.get(key).map(|field| &field.node)
    }

    /// The text of a leaf.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Leaf(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The node at a JSON pointer.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Self> {
        segments(pointer).try_fold(self, |node, segment| node.child(&segment).map(|(_, node)| node))
    }

    /// The node at a JSON pointer, to be replaced.
    pub(crate) fn at_mut(&mut self, pointer: &str) -> Option<&mut Self> {
        segments(pointer).try_fold(self, |node, segment| match &mut node.data {
            Data::Table(fields) => fields.get_mut(&segment).map(|field| &mut field.node),
            Data::List(nodes) => nodes.get_mut(segment.parse::<usize>().ok()?),
            Data::Leaf(_) => None,
        })
    }

    /// The place of the key at the end of a JSON pointer; the element itself within an array.
    pub(crate) fn key_at(&self, pointer: &str) -> Option<Place> {
        let (parent, last) = pointer.rsplit_once('/')?;
        self.at(parent)?.child(&unescape(last)).map(|(key, _)| key)
    }

    /// The deepest node on the way along a JSON pointer that exists.
    pub(crate) fn nearest(&self, pointer: &str) -> &Self {
        let mut node = self;
        for segment in segments(pointer) {
            match node.child(&segment) {
                Some((_, child)) => node = child,
                None => break,
            }
        }
        node
    }

    fn child(&self, segment: &str) -> Option<(Place, &Self)> {
        match &self.data {
            Data::Table(fields) => fields.get(segment).map(|field| (field.key.clone(), &field.node)),
            Data::List(nodes) => nodes.get(segment.parse::<usize>().ok()?).map(|node| (node.place.clone(), node)),
            Data::Leaf(_) => None,
        }
    }
}

/// Adds a segment to a JSON pointer.
pub(crate) fn join(pointer: &str, segment: &str) -> String {
    if segment.contains(['~', '/']) {
        return format!("{pointer}/{}", segment.replace('~', "~0").replace('/', "~1"));
    }
    [pointer, "/", segment].concat()
}

/// The segments of a JSON pointer.
pub(crate) fn segments(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(unescape)
}

fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

pub(crate) fn place(source: &Arc<Source>, span: std::ops::Range<usize>) -> Place {
    Place { source: Arc::clone(source), span }
}

/// Copies the parser's tree, whose order is that of the keys' names, into one whose order is that of the text.
struct Reader<'a> {
    source: &'a Arc<Source>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>, span: std::ops::Range<usize>) -> Node {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let fields = entries
            .into_iter()
            .map(|(key, value)| {
                let field = Field { key: place(self.source, key.span()), node: self.value(value) };
                (key.get_ref().to_string(), field)
            })
            .collect();
        Node { place: place(self.source, span), verbatim: true, data: Data::Table(fields) }
    }

    fn list(&mut self, array: &DeArray<'_>) -> Data {
        Data::List(array.iter().map(|value| self.value(value)).collect())
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) -> Node {
        let span = value.span();
        let data = match value.get_ref() {
            DeValue::Table(table) => return self.table(table, span),
            DeValue::Array(array) => self.list(array),
            DeValue::String(text) => Data::Leaf(Value::String(text.to_string())),
            DeValue::Boolean(truth) => Data::Leaf(Value::Bool(*truth)),
            DeValue::Datetime(time) => Data::Leaf(Value::String(time.to_string())),
            DeValue::Integer(number) => {
                let parsed = i64::from_str_radix(number.as_str(), number.radix()).ok();
                self.number(parsed.map(Number::from), &span, "whole numbers of a plan fit into 64 bits")
            }
            DeValue::Float(number) => {
                let parsed = number.as_str().parse().ok().and_then(Number::from_f64);
                self.number(parsed, &span, "numbers of a plan are finite")
            }
        };
        Node { place: place(self.source, span), verbatim: true, data }
    }

    fn number(&mut self, number: Option<Number>, span: &std::ops::Range<usize>, rule: &str) -> Data {
        let number = number.unwrap_or_else(|| {
            let place = place(self.source, span.clone());
            self.problems.push(Problem::error("a number that cannot be used").at(Some(place), rule));
            Number::from(0)
        });
        Data::Leaf(Value::Number(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Node, Vec<Problem>) {
        let mut problems = Vec::new();
        let source = Arc::new(Source { name: "p.toml".into(), text: text.into() });
        (Node::parse(&source, &mut problems), problems)
    }

    fn written<'a>(place: &Place, text: &'a str) -> &'a str {
        &text[place.span.clone()]
    }

    #[test]
    fn keys_keep_the_order_of_the_text_and_their_places() {
        let text = "z = 1\na = \"x\"\n[t.\"b/c\"]\nk = [1, 2.5]\n";
        let (tree, problems) = parse(text);
        assert_eq!(problems, []);
        assert_eq!(tree.fields().unwrap().keys().collect::<Vec<_>>(), ["z", "a", "t"]);
        assert_eq!(written(&tree.at("/a").unwrap().place, text), "\"x\"");
        assert_eq!(written(&tree.key_at("/t/b~1c/k").unwrap(), text), "k");
        assert_eq!(written(&tree.at("/t/b~1c/k/1").unwrap().place, text), "2.5");
        assert_eq!(tree.to_value()["t"]["b/c"]["k"], serde_json::json!([1, 2.5]));
    }

    #[test]
    fn all_syntax_errors_are_reported() {
        let (_, problems) = parse("a = \nb = 1\nc = [1,\nd = \"x\n");
        assert!(problems.len() >= 2, "{problems:?}");
    }

    #[test]
    fn numbers_beyond_json_are_refused() {
        let (_, problems) = parse("a = inf\nb = 99999999999999999999\n");
        assert_eq!(problems.len(), 2);
    }
}
