//! The part of a cell that a metric is taken over: its stretches of time, its name in words, and why there may be none.

use super::measured::Extent;
use crate::{
    plan::checked::{Part, Window},
    record::cell::CellRecord,
};

/// A window of a cell, resolved.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scope {
    /// Its name and ends.
    pub(super) extent: Extent,
    /// Its stretches of time, in order.
    pub(super) spans: Vec<(f64, f64)>,
    /// Whether it is a part of a window: its edges are not those of phases.
    pub(super) is_part: bool,
    /// Whether it is the whole cell, in which loads and watches need not run throughout.
    pub(super) is_cell: bool,
}

impl Scope {
    /// The stretches that a window means in this cell.
    ///
    /// # Errors
    /// When its phase was not run. A cell that was cut short before any measured phase has no default window: the time before
    /// it must not stand for it.
    pub(super) fn of(cell: &CellRecord, window: &Window) -> Result<Self, String> {
        let measured: Vec<&str> =
            cell.windows.iter().filter(|span| span.measured).map(|span| span.name.as_str()).collect();
        if let Some(phase) = &window.phase {
            if !cell.windows.iter().any(|span| span.name == *phase) {
                return Err(format!("the phase `{phase}` was not run"));
            }
        } else if measured.is_empty() && was_cut_short(cell) {
            return Err("the cell was cut short before a measured phase began".to_owned());
        }
        let spans = cell.window_spans(window);
        let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
            return Err("the window has no length".to_owned());
        };
        if spans.iter().all(|(from, to)| to <= from) {
            return Err("the window has no length".to_owned());
        }
        let extent = Extent { window: label(window, &measured), from: first.0, to: last.1 };
        let is_cell = window.phase.is_none() && measured.is_empty();
        Ok(Self { extent, is_part: window.part != Part::Whole, is_cell, spans })
    }

    /// The whole cell.
    pub(super) fn cell(cell: &CellRecord) -> Self {
        let (from, to) = (cell.started.at, cell.until.max(cell.started.at));
        let extent = Extent { window: "cell".to_owned(), from, to };
        Self { extent, spans: vec![(from, to)], is_part: false, is_cell: true }
    }

    /// Whether a moment lies in it; a stretch holds its beginning and not its end, so that halves share nothing.
    pub(super) fn holds(&self, at: f64) -> bool {
        self.spans.iter().any(|(from, to)| *from <= at && at < *to)
    }

    /// Its length in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.spans.iter().map(|(from, to)| to - from).sum()
    }
}

/// A window of a cell in words, whether it was run or not.
pub(super) fn words(cell: &CellRecord, window: &Window) -> String {
    let measured: Vec<&str> = cell.windows.iter().filter(|span| span.measured).map(|span| span.name.as_str()).collect();
    label(window, &measured)
}

/// Whether the cell ended before its last phase.
fn was_cut_short(cell: &CellRecord) -> bool {
    cell.finished.as_ref().is_some_and(|finished| finished.cut_short.is_some())
}

/// The window in words: `soak`, `soak/last_half`, `soak + burst` for several measured phases, `cell`.
fn label(window: &Window, measured: &[&str]) -> String {
    let whole = match &window.phase {
        Some(phase) => phase.clone(),
        None if measured.is_empty() => "cell".to_owned(),
        None => measured.join(" + "),
    };
    match part_name(window.part) {
        Some(part) => format!("{whole}/{part}"),
        None => whole,
    }
}

/// A part as plans write it; none for the whole.
pub(super) fn part_name(part: Part) -> Option<&'static str> {
    match part {
        Part::Whole => None,
        Part::FirstHalf => Some("first_half"),
        Part::LastHalf => Some("last_half"),
        Part::FirstThird => Some("first_third"),
        Part::MiddleThird => Some("middle_third"),
        Part::LastThird => Some("last_third"),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample_cell::{cell, cut_short, default_window, in_phase, open_window},
        *,
    };
    use crate::record::entry::CutShort;

    #[test]
    fn a_phase_that_was_not_run_has_no_scope() {
        assert_eq!(Scope::of(&cell(), &in_phase("soak", Part::Whole)), Err("the phase `soak` was not run".into()));
    }

    #[test]
    fn what_came_before_the_measured_phase_does_not_stand_for_it() {
        let mut cell = cell();
        open_window(&mut cell, "warm-up", false, 1.0, 4.0);
        assert!(Scope::of(&cell, &default_window()).is_ok_and(|scope| scope.is_cell));
        cut_short(&mut cell, CutShort::PhaseFailed("warm-up: no".into()));
        assert!(Scope::of(&cell, &default_window()).is_err());
    }

    #[test]
    fn halves_share_no_moment() {
        let mut cell = cell();
        open_window(&mut cell, "soak", true, 10.0, 20.0);
        let [first, last] =
            [Part::FirstHalf, Part::LastHalf].map(|part| Scope::of(&cell, &in_phase("soak", part)).unwrap());
        assert_eq!((first.extent.window.as_str(), last.extent.window.as_str()), ("soak/first_half", "soak/last_half"));
        assert!(!first.holds(15.0) && last.holds(15.0));
        assert!(first.holds(10.0) && !last.holds(20.0));
    }

    #[test]
    fn several_measured_phases_are_named_together() {
        let mut cell = cell();
        open_window(&mut cell, "soak", true, 10.0, 20.0);
        open_window(&mut cell, "burst", true, 30.0, 40.0);
        let scope = Scope::of(&cell, &default_window()).unwrap();
        assert_eq!((scope.extent.window.as_str(), scope.seconds()), ("soak + burst", 20.0));
        assert!(!scope.holds(25.0));
    }
}
