//! The table as the README carries it: one line for each row, figures from the run that wrote it.

use std::{collections::BTreeMap, env, fs, path::PathBuf};

const HEAD: &str = "| Fault | Switched on by | What the target counted | What scaler said |\n|---|---|---|---|\n";

/// Holds a line of the table against what was said now, figures aside; writes it under `SCALER_UPDATE`.
///
/// Rows take turns (each holds the bench), so that no line is lost.
pub(super) fn holds(fault: &str, line: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/truth-table.md");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let known = text.lines().skip(2).filter_map(|line| Some((line.split('|').nth(1)?.trim(), line)));
    let mut lines: BTreeMap<&str, &str> = known.collect();
    if env::var_os("SCALER_UPDATE").is_some() {
        lines.insert(fault, line);
        let lines: Vec<&str> = lines.into_values().collect();
        fs::write(path, format!("{HEAD}{}\n", lines.join("\n"))).expect("the table is written");
        return;
    }
    let written =
        lines.get(fault).unwrap_or_else(|| panic!("the table has no row `{fault}`: run with SCALER_UPDATE=1"));
    assert_eq!(without_figures(line), without_figures(written), "run with SCALER_UPDATE=1 if this is meant");
}

/// The text with every figure that may vary replaced, its unit included.
fn without_figures(text: &str) -> String {
    let is_figure = |word: &str| word.trim_start_matches(['(', '-', '−']).starts_with(|c: char| c.is_ascii_digit());
    let is_unit = |word: &str| ["s", "ms", "µs", "B", "kB", "MB", "GB", "MB/min", "GB/min", "kB/min"].contains(&word);
    let words = text.split(' ').map(|word| (word, word.trim_end_matches([',', ')', ';', ':'])));
    let kept = words.filter(|(_, bare)| !is_unit(bare));
    kept.map(|(word, bare)| if is_figure(bare) { "#" } else { word }).collect::<Vec<_>>().join(" ")
}

#[test]
fn figures_do_not_matter_and_words_do() {
    let line = "| a | fault=late=10:5s | 16 | fail: custody.missing = 16, must be = 0 (n = 800, soak) |";
    let same = "| a | fault=late=10:5s | 9 | fail: custody.missing = 9, must be = 0 (n = 7,900, soak) |";
    assert_eq!(without_figures(line), without_figures(same));
    assert_ne!(without_figures(line), without_figures(&line.replace("soak", "cell")));
    assert_eq!(without_figures("x = 2.1 s, must"), without_figures("x = 812 ms, must"));
}
