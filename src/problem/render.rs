//! Problems as people and programs read them. Pure: returns text, prints nothing.

use std::collections::HashMap;

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use serde_json::{Value, json};

use super::{Place, Problem, Problems, Severity};

impl Problems {
    /// Sorts by text (the one of that name first), place and severity, and drops what is said twice.
    pub fn sort(&mut self, first: &str) {
        let mut order: HashMap<String, usize> = HashMap::from([(first.to_owned(), 0)]);
        for place in self.0.iter().filter_map(|problem| problem.place.as_ref()) {
            let next = order.len();
            order.entry(place.source.name.clone()).or_insert(next);
        }
        self.0.sort_by_key(|problem| match &problem.place {
            Some(place) => (order[&place.source.name], place.span.start, problem.severity == Severity::Warning),
            None => (usize::MAX, 0, problem.severity == Severity::Warning),
        });
        self.0.dedup();
    }

    /// The problems in the form of a compiler's messages: the text underlined, what to do about it, and the line as it
    /// would be right. Ends with a line that counts them.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() }.term_width(160);
        let mut text = String::new();
        for problem in &self.0 {
            text.push_str(&renderer.render(&groups(problem)));
            text.push_str("\n\n");
        }
        text.push_str(&self.count());
        text.push('\n');
        text
    }

    /// The problems as a JSON array with `severity`, `title`, `label`, `help`, `replacement`, `file`, `line` and `column`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.0.iter().map(as_json).collect()
    }

    /// `2 errors, 1 warning`
    fn count(&self) -> String {
        let errors = self.0.iter().filter(|problem| problem.severity == Severity::Error).count();
        let warnings = self.0.len() - errors;
        let several = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        match (errors, warnings) {
            (0, 0) => "no problems".to_owned(),
            (0, _) => several(warnings, "warning"),
            (_, 0) => several(errors, "error"),
            _ => format!("{}, {}", several(errors, "error"), several(warnings, "warning")),
        }
    }
}

fn groups(problem: &Problem) -> Vec<Group<'_>> {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(problem.title.as_str());
    let Some(place) = &problem.place else {
        let mut group = Group::with_title(title);
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        return vec![group];
    };
    let underline = AnnotationKind::Primary.span(visible_span(place)).label(problem.label.as_str());
    let mut group = title.element(snippet(place).annotation(underline));
    let advice = problem.help.as_deref();
    let Some(replacement) = &problem.replacement else {
        if let Some(help) = advice {
            group = group.element(Level::HELP.message(help));
        }
        return vec![group];
    };
    let patch = Patch::new(place.span.clone(), replacement.as_str());
    let remedy = Level::HELP.secondary_title(advice.unwrap_or("write")).element(snippet_for_patch(place).patch(patch));
    vec![group, remedy]
}

/// The part of the place that is worth underlining: a long table or text only on its first line.
fn visible_span(place: &Place) -> std::ops::Range<usize> {
    let text = &place.source.text;
    let start = place.span.start.min(text.len());
    let end = place.span.end.clamp(start, text.len());
    let first_line = text[start..end].find('\n').map_or(end, |length| start + length);
    start..first_line
}

fn snippet(place: &Place) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
    Snippet::source(place.source.text.as_str()).path(place.source.name.as_str())
}

fn snippet_for_patch(place: &Place) -> Snippet<'_, Patch<'_>> {
    Snippet::source(place.source.text.as_str()).path(place.source.name.as_str())
}

fn as_json(problem: &Problem) -> Value {
    let place = problem.place.as_ref();
    let (line, column) = place.map(Place::line_and_column).unzip();
    json!({
        "severity": match problem.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "title": problem.title,
        "label": problem.label,
        "help": problem.help,
        "replacement": problem.replacement,
        "file": place.map(|place| place.source.name.as_str()),
        "line": line,
        "column": column,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::problem::Source;

    fn place(text: &str, span: std::ops::Range<usize>) -> Place {
        Place { source: Arc::new(Source { name: "p.toml".into(), text: text.into() }), span }
    }

    #[test]
    fn a_replacement_shows_the_line_as_it_would_be() {
        let problem = Problem::error("unknown key `b`")
            .at(Some(place("a = 1\nb = 2\n", 6..7)), "not a key of this table")
            .help("did you mean `c`?")
            .replace_with("c");
        let text = Problems(vec![problem]).render(false);
        assert!(text.contains("--> p.toml:2:1"), "{text}");
        assert!(text.contains("+ c = 2"), "{text}");
        assert!(text.ends_with("1 error\n"), "{text}");
    }

    #[test]
    fn problems_are_sorted_by_place_and_said_once() {
        let late = Problem::error("late").at(Some(place("ab", 1..2)), "");
        let early = Problem::warning("early").at(Some(place("ab", 0..1)), "");
        let mut problems = Problems(vec![late.clone(), early.clone(), late.clone(), Problem::error("nowhere")]);
        problems.sort("p.toml");
        let titles: Vec<&str> = problems.0.iter().map(|problem| problem.title.as_str()).collect();
        assert_eq!(titles, ["early", "late", "nowhere"]);
    }

    #[test]
    fn json_has_line_and_column() {
        let problems = Problems(vec![Problem::error("x").at(Some(place("ä\nöb", 5..6)), "here")]);
        let json = problems.to_json();
        assert_eq!((&json[0]["line"], &json[0]["column"]), (&json!(2), &json!(2)));
    }
}
