//! What a run shows while it goes on: where it is, what it does, and which bar is closest.

use super::{evidence::happened, number};
use crate::{
    judge::verdict::{GateOutcome, Standing},
    measure::{measured::in_words, metric::is_over},
    plan::gate::Unit,
    record::{
        cell::CellRecord,
        entry::{CutShort, Entry, Slice},
    },
};

/// A look at the running experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// The cell's name.
    pub cell: String,
    /// Its place in the ladder, from 1, and the number of steps.
    pub step: (usize, usize),
    /// The phase that is open.
    pub phase: Option<String>,
    /// Seconds since the phase began.
    pub elapsed_s: f64,
    /// Seconds that the phase will still take, when the plan says how long it is.
    pub remaining_s: Option<f64>,
    /// Readings written per second, all loads together.
    pub offered_per_s: Option<f64>,
    /// Readings acknowledged per second.
    pub acked_per_s: Option<f64>,
    /// The lag of the last canary reading that was seen.
    pub lag_s: Option<f64>,
    /// Readings due and not yet written, and publishes that wait for their PUBACK.
    pub backlog: Option<u64>,
    /// CPU of the target's parts, percent of one core.
    pub cpu_pct: Vec<(String, f64)>,
    /// The gate that is closest to breaking, or the first that is broken.
    pub closest: Option<Closest>,
}

/// The gate that needs watching.
#[derive(Clone, Debug, PartialEq)]
pub struct Closest {
    /// What to call it.
    pub word: &'static str,
    /// How it stands.
    pub gate: GateOutcome,
}

impl Progress {
    /// What the record of the open cell shows at the time `now`. The ladder, the rest of the phase and the closest gate are known to
    /// the caller alone.
    #[must_use]
    pub fn of(cell: &CellRecord, now: f64) -> Self {
        let open = cell.open_window();
        let latest = latest_slices(cell);
        let rate = |count: fn(&Slice) -> u64| {
            let rates = latest.iter().filter(|slice| slice.to > slice.from);
            let rates: Vec<f64> = rates.map(|slice| count_of(count(slice)) / (slice.to - slice.from)).collect();
            (!rates.is_empty()).then(|| rates.iter().sum())
        };
        Self {
            cell: cell.started.name.clone(),
            phase: open.map(|window| window.name.clone()),
            elapsed_s: open.map_or(0.0, |window| (now - window.from).max(0.0)),
            offered_per_s: rate(|slice| slice.offered),
            acked_per_s: rate(|slice| slice.acked),
            lag_s: cell.canaries.iter().rev().find_map(|reading| Some(reading.seen? - reading.published)),
            backlog: (!latest.is_empty()).then(|| latest.iter().map(|slice| slice.backlog + slice.in_flight).sum()),
            cpu_pct: cpu(cell),
            ..Self::default()
        }
    }
}

/// The last slice of each load in the open phase; what a load did before it stopped is not what it does.
fn latest_slices(cell: &CellRecord) -> Vec<&Slice> {
    let Some(open) = cell.open_window() else { return Vec::new() };
    let mut latest: Vec<&Slice> = Vec::new();
    for slice in cell.slices.iter().rev().take_while(|slice| slice.to > open.from) {
        if latest.iter().all(|known| known.load != slice.load) {
            latest.push(slice);
        }
    }
    latest
}

/// The last CPU figure of each process.
fn cpu(cell: &CellRecord) -> Vec<(String, f64)> {
    let is_cpu = |series: &String| series.ends_with(".cpu_pct");
    let sample = cell.samples.iter().rev().find(|sample| sample.values.keys().any(is_cpu));
    let values = sample.map(|sample| sample.values.iter()).into_iter().flatten();
    let part = |series: &String| series.trim_end_matches(".cpu_pct").to_owned();
    values.filter(|(series, _)| is_cpu(series)).map(|(series, value)| (part(series), *value)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of a moment stay far below 2^53")]
fn count_of(count: u64) -> f64 {
    count as f64
}

/// The gate that needs watching, and what to call it: `broken` for the first that is and stays so, else `closest` for the one with the
/// least margin for its bound. A figure of a phase that still goes on may yet become a good one, so it breaks nothing.
#[must_use]
pub fn closest(cell: &CellRecord, gates: &[GateOutcome]) -> Option<Closest> {
    let over = |gate: &GateOutcome| {
        let bar = cell.started.gates.iter().find(|bar| bar.name == gate.name);
        bar.is_some_and(|bar| is_over(cell, &bar.metric, &bar.window))
    };
    let broken = gates.iter().find(|gate| gate.standing == Standing::Broken && over(gate));
    let nearest = || {
        let held = gates.iter().filter_map(|gate| Some((gate.margin_ratio()?, gate)));
        held.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, gate)| gate)
    };
    let word = if broken.is_some() { "broken" } else { "closest" };
    broken.or_else(nearest).map(|gate| Closest { word, gate: gate.clone() })
}

/// The lines of the running display.
#[must_use]
pub fn lines(progress: &Progress) -> Vec<String> {
    let mut lines = vec![place(progress)];
    let load = load(progress);
    if !load.is_empty() {
        lines.push(load.join(" · "));
    }
    if let Some(Closest { word, gate }) = &progress.closest {
        lines.push(format!("{word}: {}", gate.sentence()));
    }
    lines
}

/// One line for a log without a terminal, dated by the world's clock.
#[must_use]
pub fn dated(unix_ms: u64, progress: &Progress) -> String {
    dated_text(unix_ms, &lines(progress).join(" · "))
}

/// One dated line for an entry that a person wants to know of; none for the others.
#[must_use]
pub fn dated_entry(unix_ms: u64, entry: &Entry) -> Option<String> {
    let text = match entry {
        Entry::CellStarted(cell) => format!("cell {}", cell.name),
        Entry::WindowOpened(window) => format!("phase {} ({})", window.name, window.kind),
        Entry::Event(event) => format!("{} {}: {}", event.subject, happened(event.kind), event.detail),
        Entry::CellFinished(finished) => match &finished.cut_short {
            None => "cell done".to_owned(),
            Some(CutShort::LiveSafety(cause)) => format!("cell cut short by live-safety: {cause}"),
            Some(CutShort::DiskLow(cause)) => format!("cell cut short by the disk: {cause}"),
            Some(CutShort::PhaseFailed(reason)) => format!("cell cut short: {reason}"),
            Some(CutShort::Interrupted) => "cell interrupted".to_owned(),
        },
        _ => return None,
    };
    Some(dated_text(unix_ms, &text))
}

fn dated_text(unix_ms: u64, text: &str) -> String {
    format!("{} {text}", number::moment(unix_ms))
}

fn place(progress: &Progress) -> String {
    let (step, steps) = progress.step;
    let phase = progress.phase.as_deref().unwrap_or("between phases");
    let remaining = progress.remaining_s.map(|seconds| format!(", {} left", number::length(seconds)));
    format!(
        "{step}/{steps} {} · {phase} {}{}",
        progress.cell,
        number::length(progress.elapsed_s),
        remaining.unwrap_or_default()
    )
}

fn load(progress: &Progress) -> Vec<String> {
    let words = |label: &str, value: Option<f64>, unit| value.map(|value| format!("{label} {}", in_words(value, unit)));
    let cpu = progress.cpu_pct.iter().map(|(part, value)| format!("{part} {value:.0}%")).collect::<Vec<_>>();
    [
        words("offered", progress.offered_per_s.map(f64::round), Unit::PerSecond),
        words("acked", progress.acked_per_s.map(f64::round), Unit::PerSecond),
        words("lag", progress.lag_s, Unit::Seconds),
        words("backlog", progress.backlog.map(count_of), Unit::Count),
        (!cpu.is_empty()).then(|| format!("CPU {}", cpu.join(", "))),
    ]
    .into_iter()
    .flatten()
    .collect()
}
