//! The template language of a plan's texts: minijinja's expressions between `{{` and `}}`, strict and bounded.

use std::{collections::BTreeSet, ops::Range, sync::LazyLock};

use minijinja::{Environment, UndefinedBehavior, Value as Known};
use serde_json::{Number, Value};

use super::bounds::{EXPRESSION_BYTES, MULTIPLICATIONS, VALUE_BYTES};

/// How many instructions one template may take; no plan needs more, and a loop without end stops here.
const FUEL: u64 = 50_000;

/// The one environment: strict, bounded, and without the functions that loop or print.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    for function in ["range", "dict", "namespace", "debug"] {
        environment.remove_global(function);
    }
    // Those that pad without end, or walk a list that a `*` made long; none of them is of use in a plan.
    for filter in ["indent", "format", "list", "batch", "slice", "pprint"] {
        environment.remove_filter(filter);
    }
    environment
});

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text as it stands.
    Literal(&'a str),
    /// One placeholder.
    Placeholder {
        /// With its braces.
        whole: &'a str,
        /// What stands between them.
        expression: &'a str,
    },
}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateError {
    /// The reason.
    pub(crate) reason: String,
    /// The bytes of the text that it is about.
    pub(crate) span: Range<usize>,
}

/// Whether a text holds anything that a template engine would act on.
pub(crate) fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%") || text.contains("{#")
}

/// Whether a text uses more than plain placeholders: blocks, comments or whitespace control. Such a text is filled as a whole.
pub(crate) fn has_blocks(text: &str) -> bool {
    ["{%", "{#", "{{-", "-}}"].iter().any(|mark| text.contains(mark))
}

/// Splits a text into literals and placeholders.
pub(crate) fn pieces(text: &str) -> Result<Vec<Piece<'_>>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = 0;
    while let Some(start) = text[rest..].find("{{").map(|offset| rest + offset) {
        let Some(end) = end_of_expression(&text[start + 2..]).map(|length| start + 2 + length) else {
            return Err(TemplateError { reason: "`{{` without `}}`".to_owned(), span: start..text.len() });
        };
        if rest < start {
            pieces.push(Piece::Literal(&text[rest..start]));
        }
        pieces.push(Piece::Placeholder { whole: &text[start..end + 2], expression: text[start + 2..end].trim() });
        rest = end + 2;
    }
    if rest < text.len() {
        pieces.push(Piece::Literal(&text[rest..]));
    }
    Ok(pieces)
}

/// The length of an expression up to its `}}`, which is not one within quotes or within a map's braces.
fn end_of_expression(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0_usize;
    let mut characters = text.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => {
                characters.next();
            }
            (Some(open), _) => quote = quote.filter(|_| character != open),
            (None, '"' | '\'') => quote = Some(character),
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 && characters.peek().is_some_and(|(_, next)| *next == '}') => return Some(index),
            (None, '}') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
    }
    None
}

/// Whether an expression is within what one may take.
fn bounded(expression: &str) -> Result<(), String> {
    if expression.len() > EXPRESSION_BYTES {
        return Err(format!("the expression has {} bytes; at most {EXPRESSION_BYTES} are read", expression.len()));
    }
    if expression.matches('*').count() > MULTIPLICATIONS {
        return Err(format!("the expression has more than {MULTIPLICATIONS} `*`"));
    }
    Ok(())
}

/// The names that an expression asks for, with their fields: `vars.soak`, `site`.
pub(crate) fn names_of_expression(expression: &str) -> Result<BTreeSet<String>, String> {
    bounded(expression)?;
    let compiled = ENVIRONMENT.compile_expression(expression).map_err(|error| reason(&error))?;
    Ok(compiled.undeclared_variables(true).into_iter().collect())
}

/// The names that a text with blocks asks for.
pub(crate) fn names_of_text(text: &str) -> Result<BTreeSet<String>, String> {
    let compiled = ENVIRONMENT.template_from_str(text).map_err(|error| reason(&error))?;
    Ok(compiled.undeclared_variables(true).into_iter().collect())
}

/// The value of an expression.
pub(crate) fn evaluate(expression: &str, known: &Known) -> Result<Value, String> {
    bounded(expression)?;
    let compiled = ENVIRONMENT.compile_expression(expression).map_err(|error| reason(&error))?;
    let value = compiled.eval(known.clone()).map_err(|error| reason(&error))?;
    if value.is_undefined() {
        return Err(format!("`{expression}` has no value"));
    }
    let size = value.as_str().map(str::len).or_else(|| value.len());
    if size.is_some_and(|size| size > VALUE_BYTES) {
        return Err(format!("`{expression}` gives more than {VALUE_BYTES} bytes"));
    }
    serde_json::to_value(&value).map(without_fraction).map_err(|error| error.to_string())
}

/// A text as a template gives it.
pub(crate) fn render(text: &str, known: &Known) -> Result<String, String> {
    ENVIRONMENT.render_str(text, known.clone()).map_err(|error| reason(&error))
}

/// How a value stands within a text.
pub(crate) fn spell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A whole number that arithmetic made a fraction of (`1000 / 10` is `100.0`) is a whole number again.
#[expect(clippy::cast_possible_truncation, reason = "bounded by 2^53, where every whole number is exact")]
fn without_fraction(value: Value) -> Value {
    match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 => {
            Value::Number(Number::from(number as i64))
        }
        _ => value,
    }
}

/// The reason alone, without the engine's own name for the template and line.
fn reason(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => detail.to_owned(),
        None => error.kind().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn expressions(text: &str) -> Vec<&str> {
        let placeholder = |piece| match piece {
            Piece::Placeholder { expression, .. } => Some(expression),
            Piece::Literal(_) => None,
        };
        pieces(text).unwrap().into_iter().filter_map(placeholder).collect()
    }

    #[test]
    fn braces_of_json_and_of_maps_are_not_ends() {
        assert_eq!(expressions(r#"{"a":{"b":{{ value }}}}"#), ["value"]);
        assert_eq!(expressions("{{ {'a': {'b': 1}}.a.b }}"), ["{'a': {'b': 1}}.a.b"]);
        assert_eq!(expressions(r#"{{ "}}" }} {{ '\'}}' }}"#), [r#""}}""#, r"'\'}}'"]);
    }

    #[test]
    fn an_open_placeholder_is_an_error_at_its_place() {
        assert_eq!(pieces("ab {{ x").unwrap_err().span, 3..7);
    }

    #[test]
    fn whole_numbers_stay_whole() {
        let known = Known::from(Serde(json!({"step": {"points": 1000}})));
        assert_eq!(evaluate("step.points / 10", &known), Ok(json!(100)));
        assert_eq!(evaluate("0.01 * step.points + 0.5", &known), Ok(json!(10.5)));
    }

    #[test]
    fn a_loop_without_end_is_stopped() {
        let known = Known::from(Serde(json!({"list": vec![0; 1000]})));
        let text = "{% for a in list %}{% for b in list %}{{ a + b }}{% endfor %}{% endfor %}";
        assert!(render(text, &known).unwrap_err().contains("fuel"), "{:?}", render(text, &known));
    }

    #[test]
    fn an_undefined_name_is_an_error() {
        assert!(evaluate("vars.nope", &Known::from(Serde(json!({"vars": {}})))).is_err());
    }

    proptest! {
        #[test]
        fn pieces_put_together_are_the_text(text in r#"([a-z{}'"% ]|\{\{ ?[a-z.]{1,5} ?\}\})*"#) {
            if let Ok(found) = pieces(&text) {
                let joined: String = found.iter().map(|piece| match piece {
                    Piece::Literal(text) | Piece::Placeholder { whole: text, .. } => *text,
                }).collect();
                prop_assert_eq!(joined, text);
            }
        }

        #[test]
        fn texts_without_placeholders_are_one_literal(text in "[a-z0-9 .:/$%-]{1,40}") {
            prop_assert_eq!(pieces(&text), Ok(vec![Piece::Literal(text.as_str())]));
        }
    }
}
