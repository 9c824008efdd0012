//! What a cell's judgement rests on besides its figures: custody with the readings by name, drains, outages, commands, events.

use super::{
    layout::{Screen, labelled, table},
    number::{at, length},
};
use crate::{
    judge::result::CellResult,
    record::entry::{Custody, CutShort, Drained, Entry, Event, EventKind, Outage, Published, Ran, Reading, Timed},
};

/// The most events that are shown; all are in the result.
const EVENTS: usize = 40;

/// The evidence of a cell.
pub(super) fn of(cell: &CellResult, screen: Screen) -> String {
    let cut_short = cell.cut_short.iter().map(|cut| match cut {
        CutShort::LiveSafety(cause) => format!("live-safety: {cause}"),
        CutShort::DiskLow(cause) => format!("disk: {cause}"),
        CutShort::PhaseFailed(reason) => format!("a phase failed: {reason}"),
        CutShort::Interrupted => "interrupted".to_owned(),
    });
    let sections: [(&str, Vec<String>); 7] = [
        ("Cut short", cut_short.collect()),
        ("Published", cell.published.iter().map(published).collect()),
        ("Custody", cell.custody.iter().flat_map(custody).collect()),
        ("Drain", cell.drained.iter().map(drained).collect()),
        ("Outages", cell.outages.iter().map(outage).collect()),
        ("Commands", cell.ran.iter().map(ran).collect()),
        ("Events", events(&cell.events)),
    ];
    let sections = sections.iter().map(|(label, lines)| labelled(label, lines, screen));
    sections.collect::<String>() + "\n" + &phases(cell, screen)
}

/// What happened before, between and after the cells.
pub(super) fn around(entries: &[Entry], screen: Screen) -> String {
    let lines: Vec<String> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Ran(entry) => Some(ran(entry)),
            Entry::Published(entry) => Some(published(entry)),
            Entry::Event(entry) => Some(event(entry)),
            _ => None,
        })
        .collect();
    let text = labelled("Around", &lines, screen);
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn phases(cell: &CellResult, screen: Screen) -> String {
    let headings = ["phase", "kind", "began", "took", ""].map(str::to_owned);
    let rows: Vec<Vec<String>> = cell
        .windows
        .iter()
        .map(|window| {
            let measured = if window.measured { "measured" } else { "" };
            vec![window.name.clone(), window.kind.clone(), at(window.from), length(window.seconds()), measured.into()]
        })
        .collect();
    table(&headings, &rows, screen)
}

fn published(published: &Published) -> String {
    let Published { window, messages, acked, publish_s, visible_s, wrong, .. } = published;
    let visible = visible_s.map(|seconds| format!(", visible after {seconds:.2} s")).unwrap_or_default();
    let wrong = wrong.as_ref().map(|wrong| format!("; {wrong}")).unwrap_or_default();
    format!("- {window}: {messages} messages, {acked} acknowledged in {publish_s:.2} s{visible}{wrong}")
}

/// The sums, then the readings by name.
fn custody(custody: &Custody) -> Vec<String> {
    if let Some(wrong) = &custody.wrong {
        return vec![format!("- {}: the store could not be compared: {wrong}", custody.window)];
    }
    let mut lines = vec![format!(
        "- {} of {}: {} acknowledged, {} stored, {} missing, {} too many, {} changed, {} in doubt, over {} payload seconds",
        custody.window,
        custody.load,
        custody.acked,
        custody.stored,
        custody.missing,
        custody.surplus,
        custody.changed,
        custody.in_doubt,
        custody.seconds
    )];
    if !custody.identified && custody.missing + custody.surplus + custody.changed > 0 {
        lines.push("  known from counts and sums alone; `rows_of_second` would name the readings".to_owned());
    }
    lines.extend(custody.missing_named.iter().map(|reading| format!("  missing: {}", named(reading))));
    lines.extend(custody.surplus_named.iter().map(|reading| format!("  too many: {}", named(reading))));
    lines.extend(
        custody
            .changed_named
            .iter()
            .map(|(reading, stored)| format!("  changed: {}, stored as {stored}", named(reading))),
    );
    lines
}

/// `fbf/scale/s0/e0/flow at 1796061600 with 12.5`.
#[expect(clippy::cast_precision_loss, reason = "values are multiples of 1/1024 in a small range")]
fn named(reading: &Reading) -> String {
    format!("{} at {} with {}", reading.topic, reading.second, reading.value as f64 / 1024.0)
}

fn drained(drained: &Drained) -> String {
    let settled = if drained.settled { "came to rest" } else { "did not come to rest" };
    let waiting = drained.waiting_s.map(|seconds| format!(", first moved after {seconds:.2} s")).unwrap_or_default();
    let unseen = match drained.canaries_unseen {
        Some(unseen) if unseen > 0 => format!(", {unseen} canary readings unseen"),
        _ => String::new(),
    };
    let wrong = drained.wrong.as_ref().map(|wrong| format!("; {wrong}")).unwrap_or_default();
    format!(
        "- {}: the store {settled}; last change after {:.2} s{waiting}{unseen}{wrong}",
        drained.window, drained.drain_s
    )
}

fn outage(outage: &Outage) -> String {
    let Outage { window, service, action, down_at, ready_at, pid_before, pid_after, ended, proven, .. } = outage;
    let pid = |pid: &Option<u32>| pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
    let back = match ready_at {
        Some(ready) => format!("ready again {:.2} s later", ready - down_at),
        None => "never ready again in time".to_owned(),
    };
    let ended = ended.as_ref().map(|how| format!(" ({how})")).unwrap_or_default();
    let proof = if *proven { "proven" } else { "not proven" };
    let (before, after) = (pid(pid_before), pid(pid_after));
    let timed = [
        ("first query answered after", &outage.first_query),
        ("WAL replayed in", &outage.wal_replay),
        ("retained messages there again after", &outage.retained_replay),
    ];
    let timed = timed.into_iter().filter_map(|(what, timed)| match timed {
        Timed::Seconds(seconds) => Some(format!("; {what} {seconds:.2} s")),
        Timed::Unseen(_) => None,
    });
    let timed: String = timed.collect();
    format!(
        "- {window}: {service} {action} at {}{ended}, {back}; process {before} → {after}; {proof}{timed}",
        at(*down_at)
    )
}

fn ran(ran: &Ran) -> String {
    let wrong = ran.wrong.as_ref().map_or_else(|| "done".to_owned(), |wrong| format!("failed: {wrong}"));
    format!("- {}: {wrong} in {:.2} s", ran.window, ran.seconds)
}

fn events(events: &[Event]) -> Vec<String> {
    let mut lines: Vec<String> = events.iter().take(EVENTS).map(event).collect();
    if events.len() > EVENTS {
        lines.push(format!("- and {} more in the result", events.len() - EVENTS));
    }
    lines
}

fn event(event: &Event) -> String {
    format!("- {} {} {}: {}", at(event.at), event.subject, happened(event.kind), event.detail)
}

/// The event's kind in words.
pub(super) fn happened(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Connected => "connected",
        EventKind::Disconnected => "lost its connection",
        EventKind::Refused => "was refused",
        EventKind::AckTimeout => "waited too long for a PUBACK",
        EventKind::UnexpectedExit => "ended unexpectedly",
        EventKind::OutOfMemory => "was killed for want of memory",
        EventKind::Restarted => "was restarted by the engine",
        EventKind::EngineLost => "could not be followed",
        EventKind::OthersCompared => "others on the engine",
        EventKind::OtherChanged => "is not ours and changed",
        EventKind::Started => "started",
        EventKind::TakenDown => "taken down",
        EventKind::BroughtBack => "brought back",
        EventKind::LiveSafety => "live-safety tripped",
        EventKind::Interrupted => "interrupted",
        EventKind::PhaseFailed => "phase failed",
        EventKind::Note => "note",
    }
}
