//! Problems as people read them, in the manner of a compiler: the place, the text underlined, what would be right.

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use serde_json::{Value, json};

use crate::problem::{Problem, Problems, Severity};

/// Whether a text may carry colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Plain text.
    Plain,
    /// With the escape sequences of terminals.
    Colour,
}

/// All problems, one block each, with an empty line between them.
#[must_use]
pub fn text(problems: &Problems, paint: Paint) -> String {
    let renderer = match paint {
        Paint::Plain => Renderer::plain(),
        Paint::Colour => Renderer::styled(),
    };
    let blocks: Vec<String> = problems.0.iter().map(|problem| renderer.render(&groups(problem))).collect();
    blocks.join("\n\n")
}

/// The problem itself, and its help.
fn groups(problem: &Problem) -> Vec<Group<'_>> {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(problem.title.as_str());
    let Some(place) = &problem.place else {
        let group = Group::with_title(title);
        let help = problem.help.as_deref().map(|help| Level::HELP.message(help));
        return vec![group.elements(help)];
    };
    let span = within(&place.source.text, &place.span);
    let annotation = AnnotationKind::Primary.span(span.clone()).label(problem.label.as_str());
    let snippet = Snippet::source(place.source.text.as_str()).path(place.source.name.as_str()).annotation(annotation);
    let mut groups = vec![title.element(snippet)];
    match (&problem.help, &problem.replacement) {
        (help, Some(replacement)) => {
            let title = Level::HELP.secondary_title(help.as_deref().unwrap_or("write this instead"));
            let patch = Patch::new(span, replacement.as_str());
            groups.push(title.element(Snippet::source(place.source.text.as_str()).patch(patch)));
        }
        (Some(help), None) => groups.push(Group::with_title(Level::HELP.secondary_title(help.as_str()))),
        (None, None) => {}
    }
    groups
}

/// The span, kept inside its text.
fn within(text: &str, span: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let end = span.end.min(text.len());
    span.start.min(end)..end
}

/// The problems for a program: one object each, lines and columns from 1.
#[must_use]
pub fn json(problems: &Problems) -> Value {
    problems.0.iter().map(problem_json).collect()
}

fn problem_json(problem: &Problem) -> Value {
    let position = problem.place.as_ref().map(crate::problem::Place::line_and_column);
    json!({
        "severity": match problem.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "title": problem.title,
        "file": problem.place.as_ref().map(|place| &place.source.name),
        "line": position.map(|(line, _)| line),
        "column": position.map(|(_, column)| column),
        "label": problem.label,
        "help": problem.help,
        "replacement": problem.replacement,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Paint, json, text};
    use crate::problem::{Place, Problem, Problems, Source};

    fn misspelt() -> Problems {
        let source = Arc::new(Source { name: "a.toml".into(), text: "format = 1\nsampel = 2\n".into() });
        let problem = Problem::error("unknown key `sampel`")
            .at(Some(Place { source, span: 11..17 }), "not a key of this table")
            .help("did you mean `sample`?");
        Problems(vec![Problem { replacement: Some("sample".into()), ..problem }])
    }

    #[test]
    fn a_problem_shows_its_place_and_remedy() {
        let shown = text(&misspelt(), Paint::Plain);
        for part in
            ["error: unknown key `sampel`", "a.toml:2:1", "^^^^^^ not a key of this table", "did you mean `sample`?"]
        {
            assert!(shown.contains(part), "{part:?} is not in\n{shown}");
        }
        assert!(!shown.contains('\u{1b}'));
        assert!(text(&misspelt(), Paint::Colour).contains('\u{1b}'));
    }

    #[test]
    fn a_problem_without_a_place_shows_its_help() {
        let shown = text(&Problem::error("no such file").help("look elsewhere").into(), Paint::Plain);
        assert!(shown.contains("error: no such file") && shown.contains("look elsewhere"), "{shown}");
    }

    #[test]
    fn a_place_behind_the_end_of_the_text_does_no_harm() {
        let source = Arc::new(Source { name: "a.toml".into(), text: "x".into() });
        let problem = Problem::error("too short").at(Some(Place { source, span: 5..9 }), "here");
        assert!(text(&problem.into(), Paint::Plain).contains("too short"));
    }

    #[test]
    fn programs_get_lines_and_columns() {
        let value = json(&misspelt());
        assert_eq!((value[0]["line"].as_u64(), value[0]["column"].as_u64()), (Some(2), Some(1)));
        assert_eq!(value[0]["replacement"], "sample");
    }
}
