//! Plans from templates: `plans/templates/*.toml.j2` rendered once, strictly, to a concrete plan that is reviewed and committed.
//!
//! A template begins with a comment that explains its variables, one line each: `name: meaning`. A variable without a default
//! is needed. The filter `toml` writes a value as TOML does, quotes included.

use std::{collections::BTreeSet, sync::Arc};

use indexmap::IndexMap;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};

use super::nearest::offer;
use crate::problem::{Place, Problem, Problems, Source};

/// How many instructions a template may take: enough for a plan of thousands of lines, and an end to a loop without one.
const FUEL: u64 = 1_000_000;

/// A variable that a template asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What the template says of it.
    pub meaning: String,
    /// Whether it has no default.
    pub needed: bool,
}

/// The variables of a template, those that are needed first, else in the order of its explanations.
///
/// # Errors
/// When the template is not one.
pub fn variables(source: &Arc<Source>) -> Result<Vec<Variable>, Problems> {
    let asked = asked(source)?;
    let meanings = meanings(&source.text);
    let explained = meanings.keys().filter(|name| asked.contains(*name)).cloned();
    let unexplained = asked.iter().filter(|name| !meanings.contains_key(*name)).cloned();
    let mut variables: Vec<Variable> = explained
        .chain(unexplained)
        .map(|name| Variable {
            meaning: meanings.get(&name).cloned().unwrap_or_default(),
            needed: is_needed(source, &asked, &name),
            name,
        })
        .collect();
    variables.sort_by_key(|variable| !variable.needed);
    Ok(variables)
}

/// Renders a template.
///
/// # Errors
/// When a variable is set that the template does not ask for, one that it needs is not set, or the template is wrong.
pub fn render(source: &Arc<Source>, sets: &[(String, String)]) -> Result<String, Problems> {
    let asked = asked(source)?;
    let strangers = sets.iter().filter(|(name, _)| !asked.contains(name)).map(|(name, _)| {
        let problem = Problem::error(format!("the template {} asks for no variable `{name}`", source.name));
        offer(problem, name, asked.iter().map(String::as_str), str::to_owned)
    });
    let mut problems: Vec<Problem> = strangers.collect();
    let set = |name: &String| sets.iter().any(|(known, _)| known == name);
    let missing = asked.iter().filter(|name| !set(name) && is_needed(source, &asked, name));
    problems.extend(missing.map(|name| {
        let meaning = meanings(&source.text).get(name).cloned().unwrap_or_default();
        Problem::error(format!("the template {} needs the variable `{name}`: {meaning}", source.name))
            .help(format!("set it with `--set {name}=…`"))
    }));
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let values = Value::from_pairs(sets.iter().cloned());
    let text = fill(source, &values).map_err(|error| located(source, &error))?;
    Ok(format!("{}\n", text.trim_end()))
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.add_filter("toml", toml_text);
    environment
}

/// The filter `toml`: a text with its quotes, a number, a list.
fn toml_text(value: &Value) -> Result<String, Error> {
    if value.is_undefined() {
        return Err(ErrorKind::UndefinedError.into());
    }
    let wrong = |error: toml::ser::Error| Error::new(ErrorKind::InvalidOperation, error.to_string());
    toml::Value::try_from(value).map(|value| value.to_string()).map_err(wrong)
}

fn fill(source: &Source, values: &Value) -> Result<String, Error> {
    environment().render_named_str(&source.name, &source.text, values)
}

fn asked(source: &Arc<Source>) -> Result<BTreeSet<String>, Problems> {
    let environment = environment();
    let template =
        environment.template_from_named_str(&source.name, &source.text).map_err(|error| located(source, &error))?;
    let globals: Vec<&str> = environment.globals().map(|(name, _)| name).collect();
    Ok(template.undeclared_variables(false).into_iter().filter(|name| !globals.contains(&name.as_str())).collect())
}

/// A variable is needed when the template can be rendered with all others and not without it.
fn is_needed(source: &Source, asked: &BTreeSet<String>, name: &str) -> bool {
    let others = asked.iter().filter(|other| *other != name).map(|other| (other.clone(), "1"));
    fill(source, &Value::from_pairs(others)).is_err_and(|error| error.kind() == ErrorKind::UndefinedError)
}

/// The explanations in the comment at the head of a template.
fn meanings(text: &str) -> IndexMap<String, String> {
    let comment = text.trim_start().strip_prefix("{#").and_then(|rest| rest.split("#}").next()).unwrap_or_default();
    let lines = comment.lines().filter_map(|line| line.split_once(": "));
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    lines
        .filter(|(name, _)| is_name(name))
        .map(|(name, meaning)| (name.to_owned(), meaning.trim().to_owned()))
        .collect()
}

fn located(source: &Arc<Source>, error: &Error) -> Problems {
    let place = error.range().map(|span| Place { source: Arc::clone(source), span });
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    Problem::error(format!("the template {} cannot be rendered", source.name)).at(place, detail).into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{render, variables};
    use crate::problem::Source;

    const HOST: &str = include_str!("../../plans/templates/reference-host.toml.j2");

    fn template(text: &str) -> Arc<Source> {
        Arc::new(Source { name: "t".into(), text: text.into() })
    }

    fn sets(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn variables_are_listed_with_what_they_mean() {
        let text = "{#- Variables:\nsoak: how long (default 5s)\nhost: which host\n-#}\nname = {{ host }}{{ soak | default('5s') }}{{ odd }}";
        let found = variables(&template(text)).expect("a template");
        let short: Vec<(&str, &str, bool)> =
            found.iter().map(|v| (v.name.as_str(), v.meaning.as_str(), v.needed)).collect();
        assert_eq!(short, [("host", "which host", true), ("odd", "", true), ("soak", "how long (default 5s)", false)]);
    }

    #[test]
    fn the_shipped_template_explains_all_that_it_asks_for() {
        let found = variables(&template(HOST)).expect("a template");
        assert!(found.iter().all(|variable| !variable.meaning.is_empty()), "{found:#?}");
        let needed: Vec<&str> = found.iter().filter(|v| v.needed).map(|v| v.name.as_str()).collect();
        assert_eq!(needed, ["host"]);
        for variable in found {
            assert_eq!(variable.needed, variable.meaning.ends_with("(needed)"), "{variable:?}");
        }
    }

    #[test]
    fn the_shipped_template_makes_a_plan_of_the_language() {
        let text = render(&template(HOST), &sets(&[("host", "nash"), ("steps", "1k, 2k"), ("port", "31000")]))
            .expect("a plan");
        let plan: toml::Value = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(plan["name"].as_str(), Some("reference-nash"));
        assert_eq!(plan["ladder"]["steps"].as_array().map(Vec::len), Some(2));
        assert_eq!(plan["target"]["processes"]["services"]["broker"]["ports"][0].as_integer(), Some(31_003));
        assert_eq!(plan["loads"]["readings"]["mqtt_publish"]["interval"].as_str(), Some("5s"));
        assert!(text.contains("\"{{ run.scaler }}\"") && text.contains("{{ from_s }}"));
    }

    #[test]
    fn values_are_quoted_as_toml_does() {
        let text = render(&template("a = {{ x | toml }}"), &sets(&[("x", "say \"no\" \\ {{ y }}")])).expect("rendered");
        let value: toml::Value = toml::from_str(&text).expect("TOML");
        assert_eq!(value["a"].as_str(), Some("say \"no\" \\ {{ y }}"));
    }

    #[test]
    fn what_is_not_asked_for_and_what_is_missing_are_all_told() {
        let problems = render(&template("{{ host }}"), &sets(&[("hots", "a")])).expect_err("two problems");
        let titles: Vec<&str> = problems.0.iter().map(|problem| problem.title.as_str()).collect();
        assert_eq!(titles.len(), 2, "{titles:?}");
        assert!(
            titles[0].contains("no variable `hots`") && titles[1].contains("needs the variable `host`"),
            "{titles:?}"
        );
        assert_eq!(problems.0[0].help.as_deref(), Some("did you mean `host`?"));
    }

    #[test]
    fn a_broken_template_is_shown_at_its_place() {
        let problems = render(&template("a\nb {{ x | nofilter }}"), &sets(&[("x", "1")])).expect_err("a problem");
        let place = problems.0[0].place.as_ref().expect("a place");
        assert_eq!(place.line_and_column().0, 2);
        assert!(render(&template("{% for %}"), &[]).is_err());
    }
}
