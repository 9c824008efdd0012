//! What a person sees while a run goes: a few lines that move on a terminal, dated lines elsewhere. All on standard error.

use std::{collections::HashMap, io::IsTerminal, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

use super::screen;
use crate::{
    judge::judge_cell,
    plan::{checked::Checked, phase::Phase},
    record::{
        entry::{Entry, EventKind},
        fold::Fold,
    },
    report::progress::{self, Closest, Progress},
    run::interpreter::Observer,
};

/// Seconds between two looks at the gates, which read the whole record of the cell.
const GATES_EVERY_S: f64 = 5.0;

/// Seconds between two lines of progress without a terminal.
const LINE_EVERY_S: f64 = 10.0;

/// The running display.
pub(super) struct Display {
    bar: Option<ProgressBar>,
    quiet: bool,
    started_unix_ms: u64,
    steps: Vec<Option<u64>>,
    phases: HashMap<String, f64>,
    gates_at: f64,
    line_at: f64,
    closest: Option<Closest>,
}

impl Display {
    /// A display for a run; `quiet` leaves out the lines that no person waits for.
    pub(super) fn new(checked: &Checked, started_unix_ms: u64, quiet: bool) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_style(
                ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        let first = checked.cell(checked.header.steps.first().copied().flatten(), None).ok();
        let phases = first.map(|plan| plan.phases).unwrap_or_default().into_iter();
        let phases = phases.filter_map(|named| match named.phase {
            Phase::Hold(hold) => Some((named.name, hold.length.as_secs_f64())),
            _ => None,
        });
        Self {
            bar,
            quiet,
            started_unix_ms,
            steps: checked.header.steps.clone(),
            phases: phases.collect(),
            gates_at: 0.0,
            line_at: 0.0,
            closest: None,
        }
    }

    /// Takes the moving lines away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| screen::remark(line)),
            None => screen::remark(line),
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run in milliseconds")]
    fn unix_ms(&self, now: f64) -> u64 {
        self.started_unix_ms + (now * 1e3) as u64
    }

    /// Where the run is; none between the cells.
    fn progress(&mut self, now: f64, fold: &Fold) -> Option<Progress> {
        let (cell, record) = (fold.cell()?, fold.record()?);
        if now >= self.gates_at {
            self.gates_at = now + GATES_EVERY_S;
            self.closest = progress::closest(cell, &judge_cell(&record.started, cell).gates);
        }
        let mut progress = Progress::of(cell, now);
        let place = self.steps.iter().position(|step| *step == cell.started.step);
        progress.step = (place.map_or(record.cells.len(), |place| place + 1), self.steps.len());
        let length = progress.phase.as_ref().and_then(|phase| self.phases.get(phase));
        progress.remaining_s = length.map(|length| (length - progress.elapsed_s).max(0.0));
        progress.closest.clone_from(&self.closest);
        Some(progress)
    }
}

impl Observer for Display {
    fn see(&mut self, now: f64, entry: &Entry) {
        if matches!(entry, Entry::CellStarted(_)) {
            (self.closest, self.gates_at) = (None, now);
        }
        if !self.quiet
            && (self.bar.is_none() || is_worth_a_line(entry))
            && let Some(line) = progress::dated_entry(self.unix_ms(now), entry)
        {
            self.say(&line);
        }
    }

    fn look(&mut self, now: f64, fold: &Fold) {
        if self.bar.is_none() && (self.quiet || now < self.line_at) {
            return;
        }
        let Some(progress) = self.progress(now, fold) else { return };
        if let Some(bar) = &self.bar {
            bar.set_message(screen::clean(&progress::lines(&progress).join("\n  ")).into_owned());
        } else {
            self.line_at = now + LINE_EVERY_S;
            screen::remark(&progress::dated(self.unix_ms(now), &progress));
        }
    }
}

/// On a terminal the moving lines tell the ordinary course; what is out of the ordinary stays on the screen.
fn is_worth_a_line(entry: &Entry) -> bool {
    match entry {
        Entry::Event(event) => !matches!(event.kind, EventKind::Connected | EventKind::Started | EventKind::Note),
        Entry::CellFinished(_) => true,
        _ => false,
    }
}
