//! The parts of a compiled template, and how a text or a table is cut into them. Pure.

use serde_json::Value;

use super::template::escape;

/// One part of a compiled template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Literal(Box<[u8]>),
    Site,
    Equip,
    Point,
    Sequence,
    Value,
    Ts,
    /// The label as it is.
    Label,
    /// The label as it stands inside a JSON string.
    LabelJson,
    /// The topic as it is.
    Topic,
    /// The topic as it stands inside a JSON string.
    TopicJson,
}

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a topic, or in a payload that is a text.
    Raw,
    /// Between the quotes of a JSON string.
    JsonString,
}

/// Cuts templates into segments; neighbouring literals become one.
pub(super) struct Builder<'a> {
    known: &'a [&'a str],
    segments: Vec<Segment>,
    literal: Vec<u8>,
}

impl<'a> Builder<'a> {
    /// A builder that fills these placeholders and no others.
    pub(super) fn new(known: &'a [&'a str]) -> Self {
        Self { known, segments: Vec::new(), literal: Vec::new() }
    }

    /// Cuts a text.
    pub(super) fn text(&mut self, text: &str, place: Place) -> Result<(), String> {
        let mut rest = text;
        while let Some(open) = rest.find("{{") {
            self.literal(&rest[..open], place);
            let inside = &rest[open + 2..];
            let close = inside.find("}}").ok_or_else(|| "`{{` without `}}`".to_owned())?;
            let segment = self.placeholder(inside[..close].trim(), place)?;
            self.push(segment);
            rest = &inside[close + 2..];
        }
        self.literal(rest, place);
        Ok(())
    }

    /// Writes a table or any other JSON value; `quoted_ts` says that a timestamp is a string.
    pub(super) fn json(&mut self, value: &Value, quoted_ts: bool) -> Result<(), String> {
        match value {
            Value::Object(entries) => {
                for (position, (key, inner)) in entries.iter().enumerate() {
                    if key.contains("{{") {
                        return Err(format!("key {key:?}: placeholders in keys are not filled"));
                    }
                    self.literal(if position == 0 { "{" } else { "," }, Place::Raw);
                    self.literal(&format!("\"{}\":", escape(key)), Place::Raw);
                    self.json(inner, quoted_ts)?;
                }
                self.literal(if entries.is_empty() { "{}" } else { "}" }, Place::Raw);
            }
            Value::Array(items) => {
                for (position, inner) in items.iter().enumerate() {
                    self.literal(if position == 0 { "[" } else { "," }, Place::Raw);
                    self.json(inner, quoted_ts)?;
                }
                self.literal(if items.is_empty() { "[]" } else { "]" }, Place::Raw);
            }
            Value::String(text) => self.json_string(text, quoted_ts)?,
            other => self.literal(&other.to_string(), Place::Raw),
        }
        Ok(())
    }

    fn json_string(&mut self, text: &str, quoted_ts: bool) -> Result<(), String> {
        if let Some(name) = only_expression(text) {
            let segment = self.placeholder(name, Place::JsonString)?;
            let is_text =
                matches!(segment, Segment::LabelJson | Segment::TopicJson) || (segment == Segment::Ts && quoted_ts);
            if !is_text {
                self.push(segment);
                return Ok(());
            }
        }
        self.literal("\"", Place::Raw);
        self.text(text, Place::JsonString)?;
        self.literal("\"", Place::Raw);
        Ok(())
    }

    /// The segments so far.
    pub(super) fn finish(mut self) -> Vec<Segment> {
        self.close_literal();
        self.segments
    }

    fn literal(&mut self, text: &str, place: Place) {
        match place {
            Place::Raw => self.literal.extend_from_slice(text.as_bytes()),
            Place::JsonString => self.literal.extend_from_slice(escape(text).as_bytes()),
        }
    }

    fn close_literal(&mut self) {
        if !self.literal.is_empty() {
            self.segments.push(Segment::Literal(std::mem::take(&mut self.literal).into()));
        }
    }

    fn push(&mut self, segment: Segment) {
        self.close_literal();
        self.segments.push(segment);
    }

    fn placeholder(&self, name: &str, place: Place) -> Result<Segment, String> {
        if !self.known.contains(&name) {
            return Err(unknown(name, self.known));
        }
        Ok(match (name, place) {
            ("site", _) => Segment::Site,
            ("equip", _) => Segment::Equip,
            ("point", _) => Segment::Point,
            ("sequence", _) => Segment::Sequence,
            ("value", _) => Segment::Value,
            ("ts", _) => Segment::Ts,
            ("label", Place::Raw) => Segment::Label,
            ("label", Place::JsonString) => Segment::LabelJson,
            (_, Place::Raw) => Segment::Topic,
            (_, Place::JsonString) => Segment::TopicJson,
        })
    }
}

/// What stands inside, when a string is one placeholder and nothing else.
pub(super) fn only_expression(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inside.contains("{{") && !inside.contains("}}")).then(|| inside.trim())
}

/// Says which placeholder is unknown, and the nearest one that is known.
pub(super) fn unknown(name: &str, known: &[&str]) -> String {
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') || name.is_empty() {
        return format!("`{{{{ {name} }}}}` is an expression; only the names {} are filled here", known.join(", "));
    }
    let near = known.iter().map(|&other| (strsim::damerau_levenshtein(name, other), other)).min();
    match near.filter(|(distance, _)| *distance <= 2) {
        Some((_, nearest)) => format!("unknown placeholder `{name}`; did you mean `{nearest}`?"),
        None => format!("unknown placeholder `{name}`; there are {}", known.join(", ")),
    }
}
