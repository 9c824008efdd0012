//! The name that was probably meant.

use crate::problem::{Place, Problem};

/// How alike two names must be to be offered, by Jaro–Winkler similarity (0 to 1).
const ALIKE: f64 = 0.75;

/// The known name that is most like the one that was written, if any is like it.
pub(crate) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&written.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness > ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// `a, b and c`
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        None => "none".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Adds the nearest known name to a problem as help and as replacement of the underlined text, or lists the known names.
/// `spelt` says how a name is written at that place, quotes included.
pub(crate) fn offer<'a>(
    problem: Problem,
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    spelt: impl Fn(&str) -> String,
) -> Problem {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(written, known.iter().copied()) {
        Some(name) => problem.help(format!("did you mean `{name}`?")).replace_with(spelt(name)),
        None if known.is_empty() => problem,
        None => problem.help(format!("known: {}", list(known))),
    }
}

/// A name as it must be spelt at a place: with quotes when the place has them.
pub(crate) fn quoted_as_at(place: Option<&Place>, name: &str) -> String {
    let quote = place.and_then(|place| place.text().chars().next());
    match quote {
        Some(quote @ ('"' | '\'')) => format!("{quote}{name}{quote}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_what_is_alike_and_nothing_else() {
        assert_eq!(nearest("brokr", ["history", "broker"]), Some("broker"));
        assert_eq!(nearest("zzz", ["history", "broker"]), None);
    }

    #[test]
    fn lists_read_like_prose() {
        assert_eq!(list([]), "none");
        assert_eq!(list(["a"]), "`a`");
        assert_eq!(list(["a", "b", "c"]), "`a`, `b` and `c`");
    }
}
