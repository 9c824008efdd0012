//! What is wrong, where, and what would be right. Always a list: all problems of a plan are shown at once.

use std::{fmt, ops::Range, sync::Arc};

mod render;

/// A text that problems point into: a plan file, a template, or a `--set` argument.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The path or argument, as the user gave it.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub source: Arc<Source>,
    /// The bytes that are underlined.
    pub span: Range<usize>,
}

impl Place {
    /// The line and column, both from 1, of the first byte; the column counts characters.
    #[must_use]
    pub fn line_and_column(&self) -> (usize, usize) {
        let before = &self.source.text[..self.span.start.min(self.source.text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

impl Place {
    /// The text at the place.
    #[must_use]
    pub fn text(&self) -> &str {
        self.source.text.get(self.span.clone()).unwrap_or_default()
    }

    /// The place of a part of the text at this place; the whole place when escapes hide the part.
    #[must_use]
    pub fn of(&self, part: &str) -> Self {
        match self.text().find(part) {
            Some(offset) => {
                let start = self.span.start + offset;
                Self { span: start..start + part.len(), ..self.clone() }
            }
            None => self.clone(),
        }
    }
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The plan cannot be run.
    Error,
    /// The plan can be run, but a figure will not say what one may hope.
    Warning,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub title: String,
    /// Where, if it has a place.
    pub place: Option<Place>,
    /// The words under the underlined text.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The text that would be right in place of the underlined one.
    pub replacement: Option<String>,
}

impl Problem {
    /// An error without a place.
    #[must_use]
    pub fn error(title: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            title: title.into(),
            place: None,
            label: String::new(),
            help: None,
            replacement: None,
        }
    }

    /// A warning without a place.
    #[must_use]
    pub fn warning(title: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(title) }
    }

    /// The same problem at a place, with words under it.
    #[must_use]
    pub fn at(self, place: Option<Place>, label: impl Into<String>) -> Self {
        Self { place, label: label.into(), ..self }
    }

    /// The same problem with advice.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// The same problem with the text that would be right in place of the underlined one.
    #[must_use]
    pub fn replace_with(self, replacement: impl Into<String>) -> Self {
        Self { replacement: Some(replacement.into()), ..self }
    }
}

/// All problems of one thing; an `Err` holds at least one error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Whether any of them is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|problem| problem.severity == Severity::Error)
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.0 {
            writeln!(out, "{}", problem.title)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
