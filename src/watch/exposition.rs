//! The Prometheus text format, version 0.0.4: one sample a line, `name{label="value",…} number [timestamp]`. Pure.

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Metric {
    /// The metric's name.
    pub(super) name: String,
    /// Its labels.
    pub(super) labels: Vec<(String, String)>,
    /// Its value.
    pub(super) value: f64,
}

/// Reads an exposition; comments, `HELP` and `TYPE` lines are skipped.
///
/// # Errors
/// The first line that is no sample, by its number.
pub(super) fn parse(text: &str) -> Result<Vec<Metric>, String> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let samples = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    samples.map(|(number, line)| sample(line).ok_or_else(|| format!("line {number} is no Prometheus sample"))).collect()
}

fn sample(line: &str) -> Option<Metric> {
    let end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let (name, rest) = line.split_at(end);
    if name.is_empty() {
        return None;
    }
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (Vec::new(), rest),
    };
    // A timestamp may follow the value; OpenMetrics adds exemplars behind a `#`.
    let value = number(rest.split_whitespace().next()?)?;
    Some(Metric { name: name.to_owned(), labels, value })
}

/// Labels up to the closing brace, and what stands behind it.
fn labels(mut rest: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, after) = rest.split_once('=')?;
        let (value, behind) = quoted(after.trim_start().strip_prefix('"')?)?;
        labels.push((name.trim().to_owned(), value));
        rest = behind;
    }
}

/// A text up to its closing quote, with `\\`, `\"` and `\n` undone, and what stands behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[index + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                escaped => value.push(escaped),
            },
            other => value.push(other),
        }
    }
    None
}

fn number(text: &str) -> Option<f64> {
    match text {
        "+Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok(),
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers are exact")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fuzz::{damaged, for_a_while};

    #[test]
    fn any_text_is_read_or_refused() {
        let text = "# HELP a b\n# TYPE a gauge\na 1\na{b=\"c\",d=\"e\\\"\\n\"} 2.5 1700000000\nb{x=\"\"} +Inf\nc NaN\n";
        for_a_while("expositions", |chance| drop(parse(&damaged(text, chance))));
    }

    #[test]
    fn an_exposition() {
        let text =
            "# HELP q Messages.\n# TYPE q gauge\nq{session=\"a \\\"b\\\" {c}\",} 12 1700000000000\n\nup 1\nsum +Inf\n";
        let metrics = parse(text).unwrap();
        assert_eq!(metrics[0].labels, [("session".to_owned(), "a \"b\" {c}".to_owned())]);
        assert_eq!((metrics[0].value, metrics[1].value), (12.0, 1.0));
        assert!(metrics[2].value.is_infinite());
    }

    #[test]
    fn a_line_that_is_no_sample_is_named() {
        for bad in ["up", "up one", "{} 1", "q{a=b} 1", "q{a=\"b} 1", "<html>"] {
            let error = parse(&format!("fine 1\n{bad}\n")).unwrap_err();
            assert_eq!(error, "line 2 is no Prometheus sample", "{bad}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,200}") {
            let _ = parse(&text);
        }

        #[test]
        fn never_panics_on_near_misses(text in r#"[a-z]{0,3}[{]?([a-z]{0,2}=?"?[a-z\\"}é]{0,3}"?,?){0,3}[}]? ?[0-9.eE+-]{0,6}"#) {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_written_is_read(label in "[^\u{0}]{0,20}", value in -1e12f64..1e12) {
            let escaped = label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            // The format's lines end with a line feed; other line breaks inside a value are not portable.
            prop_assume!(!label.contains('\r'));
            let metrics = parse(&format!("m{{l=\"{escaped}\"}} {value}")).unwrap();
            prop_assert_eq!(&metrics[0].labels[0].1, &label);
            prop_assert_eq!(metrics[0].value, value);
        }
    }
}
