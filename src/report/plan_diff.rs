//! The difference of two plans as people read it: in a terminal, or in a pull request.

use std::fmt::Write;

use crate::plan::diff::{Alteration, Change, Cost, PlanDiff, Topic};

/// What is printed when nothing changes.
const NOTHING: &str = "The two plans mean the same.\n";

/// One line per change under the heading of its topic, then the cost.
#[must_use]
pub fn text(diff: &PlanDiff) -> String {
    let mut out = String::new();
    for (topic, changes) in by_topic(diff) {
        let _ = writeln!(out, "{}", topic.heading());
        for change in changes {
            let _ = writeln!(out, "  {}", line(change, str::to_owned));
        }
    }
    if diff.is_empty() {
        out.push_str(NOTHING);
    }
    let rows: Vec<CostRow> = cost_rows(diff);
    if !rows.is_empty() {
        out.push_str("Estimate\n");
    }
    for CostRow { what, before, after } in rows {
        let change = if before == after { before } else { format!("{before} → {after}") };
        let _ = writeln!(out, "  {what}: {change}");
    }
    out
}

/// The same for a comment on a pull request.
#[must_use]
pub fn markdown(diff: &PlanDiff) -> String {
    let mut out = String::new();
    for (topic, changes) in by_topic(diff) {
        let _ = writeln!(out, "### {}\n", topic.heading());
        for change in changes {
            let _ = writeln!(out, "- {}", line(change, code));
        }
        out.push('\n');
    }
    if diff.is_empty() {
        let _ = writeln!(out, "{NOTHING}");
    }
    let rows = cost_rows(diff);
    if !rows.is_empty() {
        out.push_str("### Estimate\n\n| | before | after |\n|---|---:|---:|\n");
    }
    for CostRow { what, before, after } in rows {
        let _ = writeln!(out, "| {what} | {before} | {after} |");
    }
    out
}

fn by_topic(diff: &PlanDiff) -> Vec<(Topic, Vec<&Change>)> {
    let mut topics: Vec<(Topic, Vec<&Change>)> = Vec::new();
    for change in &diff.changes {
        match topics.last_mut() {
            Some((topic, changes)) if *topic == change.topic => changes.push(change),
            _ => topics.push((change.topic, vec![change])),
        }
    }
    topics
}

/// `gate lag.p95_s: < 30s → < 60s (loosened)`
pub(super) fn line(change: &Change, value: fn(&str) -> String) -> String {
    let effect = change.effect.map(|effect| format!(" ({})", effect.word())).unwrap_or_default();
    let (subject, part) = (&change.subject, &change.part);
    let place = match (part.as_str(), &change.alteration) {
        ("", Alteration::Replaced { .. }) => format!("{subject}:"),
        ("", _) => subject.clone(),
        (part, _) => format!("{subject}: {part}"),
    };
    match &change.alteration {
        Alteration::Added(after) => format!("{place} added: {}{effect}", value(after)),
        Alteration::Removed(before) => format!("{place} removed: {}{effect}", value(before)),
        Alteration::Replaced { before, after } => format!("{place} {} → {}{effect}", value(before), value(after)),
        Alteration::Elements { added, removed } => {
            let list = |items: &[String]| items.iter().map(|item| value(item)).collect::<Vec<_>>().join(", ");
            let adds = (!added.is_empty()).then(|| format!("adds {}", list(added)));
            let drops = (!removed.is_empty()).then(|| format!("drops {}", list(removed)));
            let both: Vec<String> = adds.into_iter().chain(drops).collect();
            format!("{place} {}{effect}", both.join(", "))
        }
    }
}

/// A text as Markdown code, whatever it holds: fenced by more backticks than it has in a row.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

struct CostRow {
    what: &'static str,
    before: String,
    after: String,
}

fn cost_rows(diff: &PlanDiff) -> Vec<CostRow> {
    let (before, after) = &diff.cost;
    if (before.steps, after.steps) == (0, 0) {
        return Vec::new();
    }
    let row = |what, figure: fn(&Cost) -> String| CostRow { what, before: figure(before), after: figure(after) };
    vec![
        row("steps", |cost| cost.steps.to_string()),
        row("time", |cost| super::plan_estimate::time(cost.seconds)),
        row("time at most", |cost| super::plan_estimate::time(cost.seconds_at_most)),
        row("messages", |cost| super::plan_estimate::count(cost.messages)),
        row("rows", |cost| super::plan_estimate::count(cost.rows)),
        row("disk, largest step", |cost| super::plan_estimate::bytes(cost.disk_bytes)),
        row("memory, largest step", |cost| super::plan_estimate::bytes(cost.memory_bytes)),
    ]
}

#[cfg(test)]
mod tests {
    use super::{code, markdown, text};
    use crate::plan::diff::{Alteration, Change, Cost, Effect, PlanDiff, Topic};

    fn example() -> PlanDiff {
        let change = |topic, subject: &str, part: &str, alteration, effect| Change {
            topic,
            subject: subject.into(),
            part: part.into(),
            alteration,
            effect,
        };
        let replaced = |before: &str, after: &str| Alteration::Replaced { before: before.into(), after: after.into() };
        let kill = Alteration::Elements { added: vec!["postgres".into()], removed: vec![] };
        PlanDiff {
            changes: vec![
                change(Topic::Bars, "gate lag.p95_s", "", replaced("< 30s", "< 60s"), Some(Effect::Loosened)),
                change(Topic::Bars, "gate lag.p95_s", "miss", replaced("fail", "caveat"), Some(Effect::Loosened)),
                change(Topic::Faults, "kill", "", kill, None),
                change(Topic::Phases, "soak", "hold.for", replaced("15m", "5m"), None),
            ],
            cost: (
                Cost { steps: 3, seconds: 5400.0, rows: 1_000_000, ..Cost::default() },
                Cost { steps: 3, seconds: 90.0, rows: 200_000, disk_bytes: Some(28_000_000), ..Cost::default() },
            ),
        }
    }

    #[test]
    fn a_terminal_gets_one_line_per_change() {
        assert_eq!(
            text(&example()),
            "Gates\n  gate lag.p95_s: < 30s → < 60s (loosened)\n  gate lag.p95_s: miss fail → caveat (loosened)\n\
             Faults\n  kill adds postgres\nPhases\n  soak: hold.for 15m → 5m\n\
             Estimate\n  steps: 3\n  time: 1 h 30 min → 1 min 30 s\n  time at most: 0 s\n  messages: 0\n  \
             rows: 1,000,000 → 200,000\n  disk, largest step: not stated → 28 MB\n  memory, largest step: not stated\n"
        );
    }

    #[test]
    fn a_pull_request_gets_markdown() {
        let shown = markdown(&example());
        assert!(shown.starts_with("### Gates\n\n- gate lag.p95_s: `< 30s` → `< 60s` (loosened)\n"), "{shown}");
        assert!(shown.contains("| rows | 1,000,000 | 200,000 |"), "{shown}");
    }

    #[test]
    fn nothing_changed_is_said() {
        assert_eq!(text(&PlanDiff::default()), "The two plans mean the same.\n");
        assert_eq!(markdown(&PlanDiff::default()), "The two plans mean the same.\n\n");
    }

    #[test]
    fn code_survives_backticks() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a `b` c"), "``a `b` c``");
        assert_eq!(code("`b`"), "`` `b` ``");
    }
}
