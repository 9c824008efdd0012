//! What other bars would have said of an old result.

use super::{
    columns::{first_failure, step},
    layout::{Screen, labelled, spelt, table},
    plan_diff::line,
    summary,
};
use crate::judge::rejudge::{MovedBar, Rejudged};

/// The bars that moved, the verdicts before and after, and the new answer.
#[must_use]
pub fn rejudged(judged: &Rejudged, screen: Screen) -> String {
    let mut text = format!("{}\n\n", summary::heading(&judged.before));
    let moved: Vec<String> = judged.moved.iter().map(|bar| moved_bar(bar, judged.after.cells.len())).collect();
    let moved = if moved.is_empty() { vec!["none: the bars are the same".to_owned()] } else { moved };
    text.push_str(&labelled("Bars moved", &moved, screen));
    text.push('\n');
    let name = judged.before.plan.step_name.clone().unwrap_or_else(|| "cell".to_owned());
    let headings = [name, "before".to_owned(), "after".to_owned(), "first failure after".to_owned()];
    let pairs = judged.before.cells.iter().zip(&judged.after.cells);
    let rows: Vec<Vec<String>> = pairs
        .map(|(before, after)| {
            let words = [before, after].map(|cell| cell.verdict.word.text().to_owned());
            [vec![step(before)], words.to_vec(), vec![first_failure(after)]].concat()
        })
        .collect();
    text.push_str(&table(&headings, &rows, screen));
    text.push('\n');
    let word = judged.before.verdict.word.text();
    text.push_str(&labelled("Before", &[format!("{word}: {}", judged.before.verdict.stopped_by)], screen));
    for (label, lines) in summary::answer(&judged.after) {
        text.push_str(&labelled(label, &lines, screen));
    }
    spelt(text, screen)
}

fn moved_bar(bar: &MovedBar, cells: usize) -> String {
    let cells = if bar.cells.len() == cells { "every cell".to_owned() } else { bar.cells.join(", ") };
    format!("- {}, in {cells}", line(&bar.change, str::to_owned))
}
