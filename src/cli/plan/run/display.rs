//! What a run shows while it goes: a few lines that are drawn over on a terminal, dated lines elsewhere. All on standard error.

use std::{
    collections::HashMap,
    io::{self, IsTerminal},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::super::screen;
use crate::{
    judge::{judge_cell, verdict::GateOutcome},
    plan::{checked::Checked, phase::Phase},
    record::{cell::CellRecord, entry::Entry, fold::Fold},
    report::progress::{Progress, closest, dated, dated_entry, lines},
    run::interpreter::Observer,
};

/// A terminal is drawn at most this often, seconds.
const DRAW_S: f64 = 0.25;
/// A log gets a line at least this often, seconds.
const LOG_S: f64 = 10.0;
/// The gates are looked at this often, seconds: judging a long cell costs CPU that the load may need.
const JUDGE_S: f64 = 2.0;

/// Looks on and shows.
pub(super) struct Display<'a> {
    checked: &'a Checked,
    started_unix_ms: u64,
    /// The lines on the terminal; none elsewhere.
    bar: Option<ProgressBar>,
    shown_at: f64,
    judged_at: f64,
    closest: Option<GateOutcome>,
    /// How long each phase of the open cell holds, seconds.
    lengths: HashMap<String, f64>,
}

impl<'a> Display<'a> {
    pub(super) fn new(checked: &'a Checked, started_unix_ms: u64) -> Self {
        Self {
            checked,
            started_unix_ms,
            bar: io::stderr().is_terminal().then(bar),
            shown_at: f64::NEG_INFINITY,
            judged_at: f64::NEG_INFINITY,
            closest: None,
            lengths: HashMap::new(),
        }
    }

    /// Takes the lines off the terminal.
    pub(super) fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    fn unix_ms(&self, now: f64) -> u64 {
        let since = std::time::Duration::try_from_secs_f64(now).unwrap_or_default();
        self.started_unix_ms.saturating_add(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// Tells of an entry that a person wants to know of.
    fn tell(&mut self, now: f64, entry: &Entry) {
        if let Entry::CellStarted(cell) = entry {
            self.closest = None;
            self.lengths = lengths(self.checked, cell.step);
        }
        let Some(line) = dated_entry(self.unix_ms(now), entry) else { return };
        match &self.bar {
            Some(bar) => bar.println(line),
            None => screen::remark(&line),
        }
    }

    fn draw(&mut self, now: f64, cell: &CellRecord, fold: &Fold) {
        let every = if self.bar.is_some() { DRAW_S } else { LOG_S };
        if now - self.shown_at < every {
            return;
        }
        self.shown_at = now;
        if now - self.judged_at >= JUDGE_S
            && let Some(record) = fold.record()
        {
            self.judged_at = now;
            self.closest = closest(&judge_cell(&record.started, cell).gates).cloned();
        }
        let steps = &self.checked.header.steps;
        let number = steps.iter().position(|step| *step == cell.started.step).map_or(steps.len(), |at| at + 1);
        let mut progress = Progress::of(cell, now);
        progress.step = (number, steps.len());
        let length = progress.phase.as_ref().and_then(|phase| self.lengths.get(phase));
        progress.remaining_s = length.map(|length| (length - progress.elapsed_s).max(0.0));
        progress.closest.clone_from(&self.closest);
        match &self.bar {
            Some(bar) => bar.set_message(lines(&progress).join("\n")),
            None => screen::remark(&dated(self.unix_ms(now), &progress)),
        }
    }
}

impl Observer for Display<'_> {
    fn look(&mut self, now: f64, entry: Option<&Entry>, fold: &Fold) {
        if let Some(entry) = entry {
            self.tell(now, entry);
        }
        if let Some(cell) = fold.cell() {
            self.draw(now, cell, fold);
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}

/// The phases whose length the plan states.
fn lengths(checked: &Checked, step: Option<u64>) -> HashMap<String, f64> {
    let phases = checked.cell(step, None).map(|cell| cell.phases).unwrap_or_default();
    phases
        .into_iter()
        .filter_map(|named| match named.phase {
            Phase::Hold(hold) => Some((named.name, hold.length.as_secs_f64())),
            _ => None,
        })
        .collect()
}
