//! Tags as triples, and back. Pure.
//!
//! A point with the topic `a/b` is the subject `urn:scaler:a/b`, has the class `urn:scaler:class:Point` and one triple for each of its tags.
//! Whatever a topic or a tag is called, it is an IRI without escapes of SPARQL, so that no name can end a statement.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::{Row, Term};
use crate::reference::store::{Tagged, Tags};

const SUBJECT: &str = "urn:scaler:topic:";
const TAG: &str = "urn:scaler:tag:";
/// The labels of an equipment's points, JSON.
const POINTS: &str = "urn:scaler:points";
/// The datatype of a tag whose value is neither a text, a number nor a truth.
const JSON: &str = "urn:scaler:json";
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// A query with an answer of at most one row.
pub(super) const ANY: &str = "SELECT ?s { ?s ?p ?o } LIMIT 1";

/// What a subject is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A point.
    Point,
    /// An equipment.
    Equip,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Self::Point => "<urn:scaler:class:Point>",
            Self::Equip => "<urn:scaler:class:Equip>",
        }
    }
}

/// Every triple of every subject of a kind, by subject.
pub(super) fn all_of(kind: Kind) -> String {
    format!("SELECT ?s ?p ?o {{ ?s a {} ; ?p ?o }} ORDER BY ?s", kind.class())
}

/// The subjects of a kind, all or the first ones.
pub(super) fn topics_of(kind: Kind, first: Option<u32>) -> String {
    let limit = first.map_or_else(String::new, |first| format!(" LIMIT {first}"));
    format!("SELECT ?s {{ ?s a {} }} ORDER BY ?s{limit}", kind.class())
}

/// How many subjects of a kind there are.
pub(super) fn number_of(kind: Kind) -> String {
    format!("SELECT (COUNT(?s) AS ?o) {{ ?s a {} }}", kind.class())
}

/// The update that gives each subject these tags and no others. The last word about a subject counts.
pub(super) fn replace(all: &[Tags]) -> String {
    let mut last = indexmap::IndexMap::new();
    for tags in all {
        let (Tags::Point { topic, .. } | Tags::Equip { topic, .. }) = tags;
        last.insert(topic, tags);
    }
    let (mut subjects, mut triples) = (String::new(), String::new());
    for (topic, tags) in last {
        let subject = format!("<{SUBJECT}{}>", escape(topic));
        // Writing to a String cannot fail, so the results of `write!` are dropped.
        let _ = write!(subjects, "{subject} ");
        let (kind, tags, points) = match tags {
            Tags::Point { tags, .. } => (Kind::Point, tags, None),
            Tags::Equip { tags, points, .. } => (Kind::Equip, tags, Some(points)),
        };
        let _ = write!(triples, "{subject} a {}", kind.class());
        if let Some(points) = points {
            let _ = write!(triples, " ; <{POINTS}> {}", Value::from(points.as_str()));
        }
        // What is no JSON object has no tags.
        for (name, value) in serde_json::from_str::<Map<String, Value>>(tags).unwrap_or_default() {
            let _ = write!(triples, " ; <{TAG}{}> {}", escape(&name), literal(&value));
        }
        triples.push_str(" .\n");
    }
    format!("DELETE {{ ?s ?p ?o }} WHERE {{ VALUES ?s {{ {subjects}}} ?s ?p ?o }} ;\nINSERT DATA {{\n{triples}}}")
}

/// A literal. JSON's escapes of a text are a subset of SPARQL's, once a solidus is not escaped, which it never is here.
fn literal(value: &Value) -> String {
    match value {
        // A NUL is no character of an RDF literal.
        Value::String(text) => Value::from(text.replace('\0', "\u{FFFD}")).to_string(),
        Value::Bool(_) => format!("\"{value}\"^^<{XSD}boolean>"),
        Value::Number(number) if number.is_f64() => format!("\"{value}\"^^<{XSD}double>"),
        Value::Number(_) => format!("\"{value}\"^^<{XSD}integer>"),
        other => format!("{}^^<{JSON}>", Value::from(other.to_string())),
    }
}

/// The topics of rows.
pub(super) fn topics(rows: &[Row]) -> Vec<String> {
    rows.iter().filter_map(|row| topic(row.s.as_ref()?)).collect()
}

/// Rows that are ordered by subject, as tags.
pub(super) fn tagged(rows: &[Row]) -> Vec<Tagged> {
    let mut all: Vec<(String, Map<String, Value>, Option<String>)> = Vec::new();
    for row in rows {
        let (Some(subject), Some(predicate), Some(object)) = (&row.s, &row.p, &row.o) else { continue };
        let Some(topic) = topic(subject) else { continue };
        if all.last().is_none_or(|(last, ..)| *last != topic) {
            all.push((topic, Map::new(), None));
        }
        let Some((_, tags, points)) = all.last_mut() else { continue };
        if predicate.value == POINTS {
            *points = Some(object.value.clone());
        } else if let Some(name) = predicate.value.strip_prefix(TAG) {
            tags.insert(unescape(name), value(object));
        }
    }
    let tagged = |(topic, tags, points)| Tagged { topic, tags: Value::Object(tags).to_string(), points };
    all.into_iter().map(tagged).collect()
}

fn topic(subject: &Term) -> Option<String> {
    subject.value.strip_prefix(SUBJECT).map(unescape)
}

/// The value of a literal, by its datatype.
fn value(object: &Term) -> Value {
    let text = || Value::from(object.value.clone());
    match &object.datatype {
        Some(datatype) if datatype == JSON || datatype.starts_with(XSD) && !datatype.ends_with("#string") => {
            serde_json::from_str(&object.value).unwrap_or_else(|_| text())
        }
        _ => text(),
    }
}

/// Percent escapes for all but letters, digits and the few marks that neither SPARQL nor IRIs mind.
fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"/_-.".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

fn unescape(name: &str) -> String {
    let mut parts = name.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => bytes.extend_from_slice(part.as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn point(topic: &str, tags: &str) -> Tags {
        Tags::Point { topic: topic.into(), tags: tags.into() }
    }

    #[test]
    fn the_last_word_about_a_subject_counts() {
        let equip = Tags::Equip { topic: "s0/e0".into(), tags: "no JSON".into(), points: r#"["a"]"#.into() };
        let update = replace(&[point("s0/e0/a", "{}"), equip, point("s0/e0/a", r#"{"n":1.5,"x y":[true],"b":true}"#)]);
        let expected = "DELETE { ?s ?p ?o } WHERE { VALUES ?s { <urn:scaler:topic:s0/e0/a> <urn:scaler:topic:s0/e0> } ?s ?p ?o } ;\n\
             INSERT DATA {\n\
             <urn:scaler:topic:s0/e0/a> a <urn:scaler:class:Point> ; \
             <urn:scaler:tag:n> \"1.5\"^^<http://www.w3.org/2001/XMLSchema#double> ; \
             <urn:scaler:tag:x%20y> \"[true]\"^^<urn:scaler:json> ; \
             <urn:scaler:tag:b> \"true\"^^<http://www.w3.org/2001/XMLSchema#boolean> .\n\
             <urn:scaler:topic:s0/e0> a <urn:scaler:class:Equip> ; <urn:scaler:points> \"[\\\"a\\\"]\" .\n}";
        assert_eq!(update, expected);
    }

    #[test]
    fn rows_become_tags_again() {
        let term = |value: &str, datatype: Option<&str>| {
            Some(Term { value: value.into(), datatype: datatype.map(str::to_owned) })
        };
        let row = |topic: &str, predicate: &str, object| Row {
            s: term(&format!("{SUBJECT}{}", escape(topic)), None),
            p: term(predicate, None),
            o: object,
        };
        let rows = [
            row("s/é", &format!("{TAG}x%20y"), term("true", Some(&format!("{XSD}boolean")))),
            row("s/é", &format!("{TAG}n"), term("7", None)),
            row("t", POINTS, term("[]", Some(&format!("{XSD}string")))),
            Row { s: term("http://elsewhere", None), p: None, o: None },
        ];
        let tagged = tagged(&rows);
        assert_eq!(tagged[0], Tagged { topic: "s/é".into(), tags: r#"{"x y":true,"n":"7"}"#.into(), points: None });
        assert_eq!(tagged[1], Tagged { topic: "t".into(), tags: "{}".into(), points: Some("[]".into()) });
        assert_eq!(topics(&rows), ["s/é", "s/é", "t"]);
    }

    proptest! {
        #[test]
        fn no_name_or_value_can_end_a_statement(topic in "\\PC*", name in "\\PC*", text in "\\PC*") {
            prop_assert_eq!(unescape(&escape(&topic)), topic.clone());
            let tags = serde_json::json!({ name: text }).to_string();
            let update = replace(&[point(&topic, &tags)]);
            // Outside of texts there is nothing that was not put there here.
            let mut inside = false;
            let mut previous = ' ';
            let outside: String = update.chars().filter(|c| {
                let quote = *c == '"' && previous != '\\';
                previous = if previous == '\\' { ' ' } else { *c };
                if quote { inside = !inside; }
                !inside && !quote
            }).collect();
            prop_assert!(!inside);
            prop_assert_eq!(outside.matches(['{', '}']).count(), 8);
        }
    }
}
