//! `--set NAME=VALUE`: another value for a variable that the plan declares.

use std::sync::Arc;

use serde_json::Value;

use super::{
    nearest::{list, nearest},
    tree::{Data, Node},
};
use crate::problem::{Place, Problem, Source};

/// What the arguments of `--set` are called in problems.
pub(crate) const SET_SOURCE: &str = "--set";

/// Overrides declared variables; each keeps the type that the plan gave it.
pub(crate) fn apply(tree: &mut Node, sets: &[(String, String)], problems: &mut Vec<Problem>) {
    for (name, text) in sets {
        let whole = format!("{name}={text}");
        let span = 0..whole.len();
        let source = Arc::new(Source { name: SET_SOURCE.to_owned(), text: whole });
        let place = Place { source: Arc::clone(&source), span };
        match set(tree, name, text, &source) {
            Ok(value) => replace(tree, name, &value, &Place { span: name.len() + 1..place.span.end, ..place }),
            Err(problem) => problems.push(Problem { place: problem.place.clone().or(Some(place)), ..*problem }),
        }
    }
}

fn set(tree: &Node, name: &str, text: &str, source: &Arc<Source>) -> Result<Value, Box<Problem>> {
    let declared = tree.get("vars").and_then(Node::fields);
    let Some(field) = declared.and_then(|vars| vars.get(name)) else {
        let known: Vec<&str> = declared.into_iter().flat_map(|vars| vars.keys().map(String::as_str)).collect();
        let place = Place { source: Arc::clone(source), span: 0..name.len() };
        let problem = Problem::error(format!("unknown variable `{name}`"))
            .at(Some(place), "`--set` overrides only what the plan declares in `[vars]`");
        return Err(Box::new(match nearest(name, known.iter().copied()) {
            Some(found) => problem.help(format!("did you mean `{found}`?")).replace_with(found),
            None => problem.help(format!("declared: {}", list(known))),
        }));
    };
    let old = field.node.to_value();
    read_as(&old, text).ok_or_else(|| {
        let label = format!("the plan declares `{name} = {old}`, so {} is needed", kind_of(&old));
        Box::new(Problem::error(format!("wrong type for the variable `{name}`")).at(None, label))
    })
}

/// Reads a text as a value of the same type as another.
fn read_as(old: &Value, text: &str) -> Option<Value> {
    match old {
        Value::String(_) => Some(Value::String(text.to_owned())),
        Value::Bool(_) => text.parse().ok().map(Value::Bool),
        Value::Number(number) if !number.is_f64() => text.parse::<i64>().ok().map(Value::from),
        Value::Number(_) => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from),
        Value::Array(_) | Value::Object(_) | Value::Null => {
            let mut problems = Vec::new();
            let source = Arc::new(Source { name: String::new(), text: format!("value = {text}") });
            let value = Node::parse(&source, &mut problems).get("value")?.to_value();
            (problems.is_empty() && value.is_array() == old.is_array() && value.is_object() == old.is_object())
                .then_some(value)
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "`true` or `false`",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "a whole number",
        Value::Array(_) => "an array in TOML",
        Value::Object(_) => "a table in TOML",
        Value::String(_) | Value::Null => "a text",
    }
}

fn replace(tree: &mut Node, name: &str, value: &Value, place: &Place) {
    let Data::Table(fields) = &mut tree.data else { return };
    let Some(Data::Table(vars)) = fields.get_mut("vars").map(|field| &mut field.node.data) else { return };
    if let Some(field) = vars.get_mut(name) {
        field.node = Node::from_value(value, place, true);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(sets: &[(&str, &str)]) -> (Value, Vec<String>) {
        let text = "[vars]\nsoak = '15m'\nn = 3\nfactor = 1.5\non = true\nlist = [1]\n".to_owned();
        let mut problems = Vec::new();
        let mut tree = Node::parse(&Arc::new(Source { name: "p".into(), text }), &mut problems);
        let sets: Vec<(String, String)> = sets.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        apply(&mut tree, &sets, &mut problems);
        (tree.to_value()["vars"].clone(), problems.into_iter().map(|problem| problem.title).collect())
    }

    #[test]
    fn a_variable_keeps_its_type() {
        let (vars, problems) =
            applied(&[("soak", "5"), ("n", "4"), ("factor", "2"), ("on", "false"), ("list", "[2, 3]")]);
        assert_eq!(vars, json!({ "soak": "5", "n": 4, "factor": 2.0, "on": false, "list": [2, 3] }));
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn what_is_not_declared_or_not_of_the_type_is_refused() {
        let (_, problems) = applied(&[("sok", "5s"), ("n", "many"), ("list", "3")]);
        assert_eq!(
            problems,
            ["unknown variable `sok`", "wrong type for the variable `n`", "wrong type for the variable `list`"]
        );
    }
}
