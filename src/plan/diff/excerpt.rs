//! Values as a reviewer reads them: short ones whole, and of long ones the part that differs.

use serde_json::Value;

/// The length up to which two texts are shown whole, characters.
const WHOLE: usize = 72;

/// A value on one line, in the manner of TOML.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => one_line(text),
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(table) => {
            let pairs = table.iter().map(|(key, value)| format!("{key} = {}", inline(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A text with each run of white space as one blank; an empty one is visible as `""`.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "\"\"".to_owned() } else { line }
}

/// Two texts that differ, with what they have in common left out when they are long.
pub(super) fn differing(before: &str, after: &str) -> (String, String) {
    let (old, new) = (one_line(before), one_line(after));
    if old == new {
        return ("white space".to_owned(), "other white space".to_owned());
    }
    if old.chars().count().max(new.chars().count()) <= WHOLE {
        return (old, new);
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split(' ').collect(), new.split(' ').collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let shorter = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(shorter).take_while(|(a, b)| a == b).count();
    (middle(&old, head, tail), middle(&new, head, tail))
}

/// The words between a common head and a common tail, with one word of each for orientation.
fn middle(words: &[&str], head: usize, tail: usize) -> String {
    let from = head.saturating_sub(1);
    let to = (words.len() - tail + 1).min(words.len());
    let before = if from > 0 { "… " } else { "" };
    let after = if to < words.len() { " …" } else { "" };
    format!("{before}{}{after}", words[from..to].join(" "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{differing, inline};

    #[test]
    fn long_texts_show_what_differs() {
        let text = |queue: &str| {
            format!(
                "scaler reference broker --listen 127.0.0.1:21883 --http 127.0.0.1:21880 --queue {queue} --fault none"
            )
        };
        let (before, after) = differing(&text("200000"), &text("1000"));
        assert_eq!((before.as_str(), after.as_str()), ("… --queue 200000 --fault …", "… --queue 1000 --fault …"));
    }

    #[test]
    fn white_space_alone_is_named() {
        assert_eq!(differing("a  b", "a\nb").0, "white space");
    }

    #[test]
    fn tables_are_one_line() {
        assert_eq!(
            inline(&json!({ "for": "5m", "start": ["a", "b"], "x": "" })),
            "{ for = 5m, start = [a, b], x = \"\" }"
        );
    }

    proptest! {
        #[test]
        fn two_different_texts_never_look_the_same(a in "[ab ]{0,120}", b in "[ab ]{0,120}") {
            prop_assume!(a != b);
            let (before, after) = differing(&a, &b);
            prop_assert_ne!(before, after);
        }
    }
}
