//! What a plan costs, step by step, as `plan check` prints it.

use comfy_table::{CellAlignment, Table, presets};

use crate::plan::{checked::StepEstimate, diff::Cost};

/// One row per step and one for the whole; `step_name` is the ladder's variable.
#[must_use]
pub fn text(step_name: Option<&str>, steps: &[StepEstimate]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([step_name.unwrap_or(""), "time", "at most", "messages", "rows", "disk", "memory"]);
    for step in steps {
        let name = step.step.map_or_else(|| "the cell".to_owned(), count);
        table.add_row(row(name, &Cost::of(std::slice::from_ref(step))));
    }
    if steps.len() > 1 {
        table.add_row(row("all".to_owned(), &Cost::of(steps)));
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

fn row(name: String, cost: &Cost) -> [String; 7] {
    [
        name,
        time(cost.seconds),
        time(cost.seconds_at_most),
        count(cost.messages),
        count(cost.rows),
        bytes(cost.disk_bytes),
        bytes(cost.memory_bytes),
    ]
}

/// A length of time with the two units that matter, as in `1 h 30 min`.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate is not negative and below 2^53"
)]
pub fn time(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3_600, whole / 60 % 60, whole % 60);
    match (hours, minutes, rest) {
        (0, 0, rest) => format!("{rest} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, rest) => format!("{minutes} min {rest} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// A count with its thousands apart, as in `1,000,000`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Bytes in decimal units with three digits, as in `4.2 GB`; unknown is not zero.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn bytes(bytes: Option<u64>) -> String {
    let Some(bytes) = bytes else { return "not stated".to_owned() };
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in ["kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1e3, next);
    }
    let decimals = usize::from(unit != "B" && value < 9.95);
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::{bytes, count, text, time};
    use crate::plan::checked::StepEstimate;

    #[test]
    fn figures_are_readable() {
        assert_eq!(
            [time(0.4), time(59.0), time(60.0), time(90.0), time(3_600.0), time(5_430.0)],
            ["0 s", "59 s", "1 min", "1 min 30 s", "1 h", "1 h 30 min"]
        );
        assert_eq!([count(0), count(999), count(1_000), count(12_345_678)], ["0", "999", "1,000", "12,345,678"]);
        assert_eq!(
            [bytes(Some(0)), bytes(Some(999)), bytes(Some(4_200_000_000)), bytes(Some(999_999)), bytes(None)],
            ["0 B", "999 B", "4.2 GB", "1.0 MB", "not stated"]
        );
    }

    #[test]
    fn each_step_has_a_row_and_so_has_the_whole() {
        let step = |step, rows| StepEstimate { step: Some(step), rows, seconds: 30.0, ..StepEstimate::default() };
        let shown = text(Some("points"), &[step(1_000, 5), step(5_000, 25)]);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 4, "{shown}");
        assert!(lines[0].contains("points") && lines[2].contains("5,000") && lines[3].contains("1 min"), "{shown}");
        assert!(!text(None, &[StepEstimate::default()]).contains("all"));
    }
}
