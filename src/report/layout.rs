//! How text is laid out: tables for terminals and for Markdown, labelled lines, wrapped sentences.

use comfy_table::{CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle, presets};

use super::number::UNMEASURED;

/// What the reader's screen can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Whether lines may be drawn with characters beyond ASCII.
    pub utf8: bool,
    /// Columns, if the text should fit into some.
    pub width: Option<u16>,
}

/// A rule under the heading and nothing else: numbers in columns need no fences.
const RULED: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction(' '))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .content_lines(ContentLineStyle::none().junction(' '));

/// A table with a heading; columns of numbers are written to the right.
#[must_use]
pub fn table(heading: &[String], rows: &[Vec<String>], screen: Screen) -> String {
    let mut table = filled(heading, rows);
    table.load_style(RULED);
    if let Some(width) = screen.width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    trimmed(&table)
}

/// The same as rows of Markdown.
#[must_use]
pub fn markdown(heading: &[String], rows: &[Vec<String>]) -> String {
    let escaped = |row: &[String]| row.iter().map(|text| text.replace('|', r"\|").replace('\n', " ")).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| escaped(row)).collect();
    let heading: Vec<String> = escaped(heading);
    let mut table = filled(&heading, &rows);
    table.load_style(presets::ASCII_MARKDOWN);
    trimmed(&table)
}

fn filled(heading: &[String], rows: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    table.set_header(heading);
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        let mut texts = rows.iter().filter_map(|row| row.get(index)).filter(|text| !text.is_empty()).peekable();
        if texts.peek().is_some() && texts.all(|text| is_number(text)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Whether a text is a figure with its unit, or stands for one that is not there.
fn is_number(text: &str) -> bool {
    let unsigned = text.trim_start_matches(['≥', '≤', ' ', '-', '+']);
    let unit = unsigned.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ' '));
    let has_digits = unsigned.starts_with(|c: char| c.is_ascii_digit());
    matches!(text, UNMEASURED | "unmeasured")
        || has_digits && unit.len() <= 6 && !unit.contains(|c: char| c.is_ascii_digit())
}

fn trimmed(table: &Table) -> String {
    table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// Signs beyond ASCII and what a screen without them shows instead.
const SIGNS: [(char, &str); 9] =
    [('─', "-"), ('–', "-"), ('−', "-"), ('≥', ">="), ('≤', "<="), ('→', "->"), ('×', "x"), ('·', "|"), ('…', "...")];

/// The text as the screen can show it.
#[must_use]
pub fn spelt(text: String, screen: Screen) -> String {
    if screen.utf8 { text } else { SIGNS.iter().fold(text, |text, (sign, plain)| text.replace(*sign, plain)) }
}

/// Columns that the labels of [`labelled`] take.
const LABEL: usize = 14;

/// `Label         first line`, with further lines under the first.
#[must_use]
pub fn labelled(label: &str, lines: &[String], screen: Screen) -> String {
    let width = screen.width.map_or(usize::MAX, usize::from).saturating_sub(LABEL).max(20);
    let mut text = String::new();
    for (index, line) in lines.iter().flat_map(|line| wrapped(line, width)).enumerate() {
        let label = if index == 0 { label } else { "" };
        text.push_str(format!("{label:LABEL$}{line}").trim_end());
        text.push('\n');
    }
    text
}

/// Breaks a sentence between words; what follows stands under its text. What has no gap is not broken.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        let words = paragraph.trim_start();
        let indent = " ".repeat(paragraph.len() - words.len());
        let hanging = if words.starts_with("- ") { format!("{indent}  ") } else { indent.clone() };
        let mut line = indent;
        for word in words.split(' ') {
            if line.trim().is_empty() {
                line.push_str(word);
            } else if line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::replace(&mut line, format!("{hanging}{word}")));
            } else {
                line = line + " " + word;
            }
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Screen = Screen { utf8: true, width: Some(34) };

    #[test]
    fn sentences_are_broken_between_words_under_their_label() {
        let lines = ["one two three four five".to_owned(), "six".to_owned()];
        let text = labelled("Caveats", &lines, NARROW);
        assert_eq!(text, "Caveats       one two three four\n              five\n              six\n");
        assert_eq!(labelled("Caveats", &[], NARROW), "");
        let items = ["- one two three four five".to_owned(), "  under it".to_owned()];
        let text = labelled("List", &items, NARROW);
        assert_eq!(text, "List          - one two three four\n                five\n                under it\n");
    }

    #[test]
    fn figures_are_told_from_words() {
        for text in ["12", "≥ 7.3 s", "10 000/s", "99.99%", "-2.5 kB/min", "–"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["20261130T180000Z-quickstart", "pass", "", "2 × CPU 3000", "3 readings missing"] {
            assert!(!is_number(text), "{text}");
        }
    }

    #[test]
    fn a_plain_screen_gets_plain_signs() {
        let plain = Screen { utf8: false, width: None };
        assert_eq!(spelt("≤ 3 → –".to_owned(), plain), "<= 3 -> -");
        assert_eq!(spelt("≤ 3".to_owned(), NARROW), "≤ 3");
    }

    #[test]
    fn markdown_survives_pipes_and_newlines() {
        let text = markdown(&["a".into()], &[vec!["x|y\nz".into()]]);
        assert_eq!(text, "| a      |\n|--------|\n| x\\|y z |\n");
    }
}
