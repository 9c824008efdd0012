//! How text is laid out: tables for terminals and for Markdown, labelled lines, wrapped sentences.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

/// What the reader's screen can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Whether lines may be drawn with characters beyond ASCII.
    pub utf8: bool,
    /// Columns, if the text should fit into some.
    pub width: Option<u16>,
}

/// A table with a heading; numbers are written to the right.
#[must_use]
pub fn table(heading: &[String], rows: &[Vec<String>], screen: Screen) -> String {
    let style = if screen.utf8 { presets::UTF8_HORIZONTAL_ONLY } else { presets::ASCII_HORIZONTAL_ONLY };
    let mut table = filled(heading, rows);
    table.load_style(style);
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
    for row in rows {
        table.add_row(row.iter().map(|text| Cell::new(text).set_alignment(alignment(text))));
    }
    table
}

fn alignment(text: &str) -> CellAlignment {
    let number = text.trim_start_matches(['≥', '≤', ' ', '-', '−']).starts_with(|c: char| c.is_ascii_digit());
    if number || text == super::number::UNMEASURED { CellAlignment::Right } else { CellAlignment::Left }
}

fn trimmed(table: &Table) -> String {
    table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
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

/// Breaks a sentence between words. What has no gap is not broken.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
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
    }

    #[test]
    fn markdown_survives_pipes_and_newlines() {
        let text = markdown(&["a".into()], &[vec!["x|y\nz".into()]]);
        assert_eq!(text, "| a      |\n|--------|\n| x\\|y z |\n");
    }
}
