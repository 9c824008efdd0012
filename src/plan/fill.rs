//! Filling `{{ }}` on the tree.
//!
//! Every placeholder is filled by itself. One whose names are all known gives its value (with its type, if it is the whole text);
//! one that asks for a late or momentary name stays as it is, and its text is filled with the same rules later. So a text may mix
//! `{{ vars.prefix }}` and `{{ site }}`; a single placeholder may not, because its early half would be unknown at the moment of use.
//! A text with blocks (`{% %}`), comments or whitespace control is filled as a whole, and uses no momentary names.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use minijinja::value::{Serde, Value as Known};
use serde_json::{Map, Value};

use super::{
    nearest::{list, nearest, offer},
    scope,
    template::{self, Piece},
    tree::{Data, Field, Node},
};
use crate::problem::{Place, Problem};

/// Fills a text at the moment of use: a statement with `from_s`, a path with `capture`, a query with `preflight`.
///
/// # Errors
/// When the template is wrong or asks for a name that the scope does not have.
pub fn fill_text(text: &str, scope: &Value) -> Result<String, String> {
    if template::is_template(text) {
        return template::render(text, &Known::from(Serde(scope)));
    }
    Ok(text.to_owned())
}

/// Fills every text in a JSON value at the moment of use; a text that is only one placeholder keeps the value's type.
///
/// # Errors
/// When a template is wrong or asks for a name that the scope does not have.
pub fn fill_value(value: &Value, scope: &Value) -> Result<Value, String> {
    match value {
        Value::String(text) => match template::pieces(text).as_deref() {
            Ok([Piece::Placeholder { expression, .. }]) if !template::has_blocks(text) => {
                template::evaluate(expression, &Known::from(Serde(scope)))
            }
            _ => fill_text(text, scope).map(Value::String),
        },
        Value::Array(values) => values.iter().map(|value| fill_value(value, scope)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| Ok((key.clone(), fill_value(value, scope)?)))
            .collect::<Result<Map<_, _>, String>>()
            .map(Value::Object),
        other => Ok(other.clone()),
    }
}

/// What templates can use in one filling.
pub(crate) struct Scopes<'a> {
    /// The declared names under each root that exists, known or not: `vars` to its names, `secrets` to its names.
    pub(crate) declared: IndexMap<&'static str, Vec<String>>,
    /// The values of the roots that are known by now.
    pub(crate) known: Map<String, Value>,
    /// The nodes of `vars`, so that a problem with a variable's value is shown where the value was written.
    pub(crate) vars: Option<&'a Node>,
}

/// Fills a tree.
pub(crate) fn fill(tree: &Node, scopes: &Scopes<'_>, problems: &mut Vec<Problem>) -> Node {
    let known = Known::from(Serde(&scopes.known));
    let mut filler = Filler { scopes, known, problems, path: Vec::new() };
    filler.node(tree)
}

/// Fills one branch of a tree, whose path is given.
pub(crate) fn fill_at(tree: &Node, path: &[&str], scopes: &Scopes<'_>, problems: &mut Vec<Problem>) -> Node {
    let known = Known::from(Serde(&scopes.known));
    let path = path.iter().map(|segment| (*segment).to_owned()).collect();
    Filler { scopes, known, problems, path }.node(tree)
}

struct Filler<'a> {
    scopes: &'a Scopes<'a>,
    known: Known,
    problems: &'a mut Vec<Problem>,
    path: Vec<String>,
}

/// When a placeholder can be filled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Now,
    Later,
    Never,
}

impl Filler<'_> {
    fn node(&mut self, node: &Node) -> Node {
        let data = match &node.data {
            Data::Table(fields) => Data::Table(fields.iter().map(|(key, field)| self.field(key, field)).collect()),
            Data::List(nodes) => {
                Data::List(nodes.iter().enumerate().map(|(index, node)| self.below(&index.to_string(), node)).collect())
            }
            Data::Leaf(Value::String(text)) if template::is_template(text) => return self.text(text, node),
            Data::Leaf(value) => Data::Leaf(value.clone()),
        };
        Node { place: node.place.clone(), verbatim: node.verbatim, data }
    }

    fn field(&mut self, key: &str, field: &Field) -> (String, Field) {
        (key.to_owned(), Field { key: field.key.clone(), node: self.below(key, &field.node) })
    }

    fn below(&mut self, segment: &str, node: &Node) -> Node {
        self.path.push(segment.to_owned());
        let filled = self.node(node);
        self.path.pop();
        filled
    }

    fn text(&mut self, text: &str, node: &Node) -> Node {
        let as_it_is = |text: String| Node { data: Data::Leaf(Value::String(text)), verbatim: false, ..node.clone() };
        if template::has_blocks(text) {
            return as_it_is(self.whole(text, node));
        }
        let pieces = match template::pieces(text) {
            Ok(pieces) => pieces,
            Err(error) => {
                let place = node.place.of(&text[error.span]);
                self.problems.push(Problem::error(error.reason).at(Some(place), "this placeholder has no end"));
                return as_it_is(text.to_owned());
            }
        };
        if let [Piece::Placeholder { expression, whole }] = pieces.as_slice() {
            return self.sole(expression, whole, node);
        }
        let mut filled = String::new();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => filled.push_str(literal),
                Piece::Placeholder { whole, expression } => match self.value(expression, whole, node) {
                    Some(value) => filled.push_str(&template::spell(&value)),
                    None => filled.push_str(whole),
                },
            }
        }
        as_it_is(filled)
    }

    /// A text that is one placeholder and nothing else: the value keeps its type.
    fn sole(&mut self, expression: &str, whole: &str, node: &Node) -> Node {
        let Some(value) = self.value(expression, whole, node) else {
            return Node { data: Data::Leaf(Value::String(whole.to_owned())), verbatim: false, ..node.clone() };
        };
        match expression.strip_prefix("vars.").and_then(|name| self.scopes.vars?.get(name)) {
            Some(var) => Node::from_value(&value, &var.place, var.verbatim),
            None => Node::from_value(&value, &node.place, false),
        }
    }

    /// The value of a placeholder, or none when it has to wait or is wrong.
    fn value(&mut self, expression: &str, whole: &str, node: &Node) -> Option<Value> {
        let names = match template::names_of_expression(expression) {
            Ok(names) => names,
            Err(reason) => {
                self.wrong(whole, node, "a template that cannot be read", reason);
                return None;
            }
        };
        if self.when(&names, whole, node) != When::Now {
            return None;
        }
        match template::evaluate(expression, &self.known) {
            Ok(value) if template::is_template(&template::spell(&value)) => {
                self.wrong(
                    whole,
                    node,
                    "a template within a template",
                    "the value holds `{{` or `{%` itself".to_owned(),
                );
                None
            }
            Ok(value) => Some(value),
            Err(reason) => {
                self.wrong(whole, node, "a template without a value", reason);
                None
            }
        }
    }

    /// A text with blocks.
    fn whole(&mut self, text: &str, node: &Node) -> String {
        let names = match template::names_of_text(text) {
            Ok(names) => names,
            Err(reason) => {
                self.wrong(text, node, "a template that cannot be read", reason);
                return text.to_owned();
            }
        };
        let momentary = scope::momentary(&self.path);
        if let Some(name) = names.iter().find(|name| momentary.contains(&root(name))) {
            let reason =
                format!("blocks and whitespace control cannot use `{name}`, which is known only at the moment of use");
            self.wrong(text, node, "a block that cannot be filled", reason);
            return text.to_owned();
        }
        if self.when(&names, text, node) != When::Now {
            return text.to_owned();
        }
        template::render(text, &self.known).unwrap_or_else(|reason| {
            self.wrong(text, node, "a template without a value", reason);
            text.to_owned()
        })
    }

    /// When names can be filled; reports those that never can.
    fn when(&mut self, names: &BTreeSet<String>, whole: &str, node: &Node) -> When {
        let momentary = scope::momentary(&self.path);
        let (at_use, others): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| momentary.contains(&root(name)));
        let mut when = if at_use.is_empty() { When::Now } else { When::Later };
        for name in &others {
            match self.when_known(name, whole, node) {
                When::Never => return When::Never,
                When::Later => when = When::Later,
                When::Now => {}
            }
        }
        if let (Some(at_use), Some(other)) = (at_use.first(), others.first()) {
            let reason = format!(
                "`{other}` is known before the run, `{at_use}` only at the moment of use: write two placeholders"
            );
            self.wrong(whole, node, "a placeholder that mixes two times", reason);
            return When::Never;
        }
        when
    }

    fn when_known(&mut self, name: &str, whole: &str, node: &Node) -> When {
        let (root, field) = name.split_once('.').map_or((name, None), |(root, rest)| (root, Some(rest)));
        let Some(declared) = self.scopes.declared.get(root) else {
            self.unknown_root(name, whole, node);
            return When::Never;
        };
        if let Some(why) = scope::refusal(root, &self.path) {
            self.wrong(name, node, &format!("`{root}` cannot be used here"), why.to_owned());
            return When::Never;
        }
        let field = field.map(|field| field.split('.').next().unwrap_or(field));
        if let Some(field) = field.filter(|field| !declared.iter().any(|name| name == field)) {
            let place = within_of(node, &[name, whole]);
            let problem = Problem::error(format!("unknown name `{root}.{field}`")).at(
                Some(place.clone()),
                match root {
                    "vars" => "no such variable in `[vars]`",
                    "secrets" => "no such secret in `[secrets]`",
                    "step" => "not the ladder's variable",
                    _ => "no such field",
                },
            );
            let spelt = |found: &str| place.text().replacen(field, found, 1);
            self.problems.push(offer(problem, field, declared.iter().map(String::as_str), spelt));
            return When::Never;
        }
        if self.scopes.known.contains_key(root) { When::Now } else { When::Later }
    }

    fn unknown_root(&mut self, name: &str, whole: &str, node: &Node) {
        let root = root(name);
        let place = within_of(node, &[name, whole]);
        let momentary = scope::momentary(&self.path);
        let mut problem = Problem::error(format!("unknown name `{root}` in a template"))
            .at(Some(place.clone()), "nothing of that name can be used here");
        let vars = self.scopes.declared.get("vars").into_iter().flatten();
        let known: Vec<&str> = self.scopes.declared.keys().copied().chain(momentary.iter().copied()).collect();
        let spelt = |found: &str| place.text().replacen(root, found, 1);
        problem = if scope::is_momentary_elsewhere(root) {
            Problem { label: "known only at the moment of use, and this text is not used then".to_owned(), ..problem }
        } else if root == "step" {
            problem.help("`step` needs a `[ladder]`")
        } else if vars.clone().any(|var| var == root) {
            problem.help(format!("did you mean `vars.{root}`?")).replace_with(spelt(&format!("vars.{root}")))
        } else if let Some(found) = nearest(root, known.iter().copied()) {
            problem.help(format!("did you mean `{found}`?")).replace_with(spelt(found))
        } else {
            problem.help(format!("known here: {}", list(known)))
        };
        self.problems.push(problem);
    }

    fn wrong(&mut self, part: &str, node: &Node, title: &str, reason: String) {
        let place = within_of(node, &[part]);
        self.problems.push(Problem::error(title).at(Some(place), reason));
    }
}

fn root(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The place of the first part that is found.
fn within_of(node: &Node, parts: &[&str]) -> Place {
    parts.iter().map(|part| node.place.of(part)).find(|place| *place != node.place).unwrap_or(node.place.clone())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::problem::Source;

    fn filled(text: &str, known: &[&str]) -> (Value, Vec<String>) {
        let source = Arc::new(Source { name: "p.toml".into(), text: text.into() });
        let mut problems = Vec::new();
        let tree = Node::parse(&source, &mut problems);
        let all = json!({
            "vars": {"soak": "15m", "n": 3, "list": [1, 2], "brace": "{{ x }}"},
            "step": {"points": 1000}, "run": {"folder": "/tmp/x"}, "secrets": {"PW": "s3cret"},
        });
        let names = |root: &str| all[root].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let declared = ["vars", "step", "run", "secrets"].into_iter().map(|root| (root, names(root))).collect();
        let values = known.iter().map(|root| ((*root).to_owned(), all[*root].clone())).collect();
        let scopes = Scopes { declared, known: values, vars: None };
        let node = fill(&tree, &scopes, &mut problems);
        (node.to_value(), problems.into_iter().map(|problem| format!("{}: {}", problem.title, problem.label)).collect())
    }

    const EARLY: &[&str] = &["vars", "step"];
    const ALL: &[&str] = &["vars", "step", "run", "secrets"];

    #[test]
    fn a_sole_placeholder_keeps_the_type() {
        let (value, problems) =
            filled("[fleet]\na = '{{ vars.n }}'\nb = 'x{{ vars.n }}'\nc = '{{ vars.list }}'", EARLY);
        assert_eq!((value, problems.len()), (json!({"fleet": {"a": 3, "b": "x3", "c": [1, 2]}}), 0));
    }

    #[test]
    fn late_placeholders_wait_while_early_ones_beside_them_are_filled() {
        let plan = "[connections.a.postgres]\nurl = 'p://u:{{ secrets.PW }}@h/{{ vars.n }}'";
        assert_eq!(filled(plan, EARLY).0["connections"]["a"]["postgres"]["url"], "p://u:{{ secrets.PW }}@h/3");
        assert_eq!(filled(plan, ALL).0["connections"]["a"]["postgres"]["url"], "p://u:s3cret@h/3");
    }

    #[test]
    fn momentary_names_stay_and_may_not_be_mixed_in_one_placeholder() {
        let plan = |text: &str| format!("[loads.r.mqtt_publish]\ntopic = '{text}'");
        let (value, problems) = filled(&plan("{{ vars.n }}/{{ site }}"), ALL);
        assert_eq!((value["loads"]["r"]["mqtt_publish"]["topic"].as_str(), problems.len()), (Some("3/{{ site }}"), 0));
        let (_, problems) = filled(&plan("{{ vars.n ~ site }}"), ALL);
        assert!(problems[0].contains("mixes two times"), "{problems:?}");
    }

    #[test]
    fn wrong_names_are_reported() {
        for (text, title) in [
            ("{{ vars.sok }}", "unknown name `vars.sok`"),
            ("{{ soak }}", "unknown name `soak` in a template"),
            ("{{ run.folder }}", "`run` cannot be used here"),
            ("{{ vars.n + }}", "a template that cannot be read"),
            ("{{ vars.soak - 2 }}", "a template without a value"),
            ("{{ vars.brace }}", "a template within a template"),
            ("a {{ vars.n", "`{{` without `}}`"),
        ] {
            let (_, problems) = filled(&format!("[[gate]]\nat_most = '{text}'"), EARLY);
            assert!(problems.len() == 1 && problems[0].starts_with(title), "{text}: {problems:?}");
        }
    }

    #[test]
    fn values_are_filled_at_the_moment_of_use() {
        let scope = json!({"capture": {"id": 7}});
        let body = json!({"run": "{{ capture.id }}", "path": ["/x/{{ capture.id }}", 1]});
        assert_eq!(fill_value(&body, &scope), Ok(json!({"run": 7, "path": ["/x/7", 1]})));
        assert!(fill_text("{{ capture.nope }}", &scope).is_err());
    }

    proptest! {
        #[test]
        fn texts_without_braces_are_never_changed(text in "[^{}'\\\\\\p{C}]{0,40}") {
            let (value, problems) = filled(&format!("[vars]\na = '{text}'"), ALL);
            prop_assert_eq!((value["vars"]["a"].as_str(), problems.len()), (Some(text.as_str()), 0));
        }

        #[test]
        fn filling_early_then_late_is_filling_at_once(parts in prop::collection::vec(prop_oneof![
            Just("{{ vars.n }}"), Just("{{ run.folder }}"), Just("{{ secrets.PW }}"), Just("-"), Just("{{ run.folder ~ vars.n }}")
        ], 0..6)) {
            let plan = format!("[connections.a.sqlite]\npath = 'x{}'", parts.concat());
            let path = |value: &Value| value["connections"]["a"]["sqlite"]["path"].as_str().unwrap().to_owned();
            let early = path(&filled(&plan, EARLY).0);
            let twice = path(&filled(&format!("[connections.a.sqlite]\npath = '{early}'"), ALL).0);
            prop_assert_eq!(twice, path(&filled(&plan, ALL).0));
        }
    }
}
