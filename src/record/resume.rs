//! Going on after an interruption: what is kept of the interrupted run, and whether the new one may build on it. Pure.
//!
//! A cell that was interrupted says nothing, so it is run again; a whole cell is kept with every entry. The old journal stays as it
//! is: the new run copies what it keeps, and its times go on counting from the old run's start.

use std::fmt;

use indexmap::IndexMap;
use serde_json::Value;

use super::{
    entry::{CutShort, Entry, Host, PlanIdentity, RunStarted},
    fold::{FoldError, fold},
};

/// The whole cells of an interrupted run.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// What was known at its start.
    pub started: RunStarted,
    /// Everything after its start up to the end of its last whole cell.
    pub entries: Vec<Entry>,
    /// The number of whole cells.
    pub cells: u32,
    /// The latest moment that is known of it, seconds since its start.
    pub stopped_at: f64,
}

/// Why a run cannot be gone on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotResumable {
    /// The journal makes no record.
    NoRecord(FoldError),
    /// It reached its own end.
    Ended,
    /// Not even its first cell is whole.
    NoCell,
}

impl fmt::Display for NotResumable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRecord(error) => write!(out, "its journal makes no record: {error}"),
            Self::Ended => out.write_str("it reached its own end, and nothing of it is left to run"),
            Self::NoCell => {
                out.write_str("it was interrupted before its first cell was whole, and nothing of it can be kept")
            }
        }
    }
}

impl Kept {
    /// What is kept of a run's entries.
    ///
    /// # Errors
    /// When nothing is, or when nothing is left to run.
    pub fn of(mut entries: Vec<Entry>) -> Result<Self, NotResumable> {
        let record = fold(entries.iter().cloned()).map_err(NotResumable::NoRecord)?;
        if !record.interrupted() {
            return Err(NotResumable::Ended);
        }
        let whole = entries.iter().rposition(is_whole_cell_s_end).ok_or(NotResumable::NoCell)?;
        entries.truncate(whole + 1);
        let cells = entries.iter().filter(|entry| is_whole_cell_s_end(entry)).count();
        let ended_at = record.finished.as_ref().map_or(0.0, |finished| finished.at);
        let stopped_at = record.cells.last().map_or(ended_at, |cell| cell.until.max(ended_at));
        entries.remove(0);
        Ok(Self { started: record.started, entries, cells: u32::try_from(cells).unwrap_or(u32::MAX), stopped_at })
    }

    /// What is not the same for a run that would begin now, in words: the plan, its variables, the host, the program, the systems. Empty
    /// when the run may go on.
    #[must_use]
    pub fn differences(&self, now: &RunStarted) -> Vec<String> {
        let mut found = Differences(Vec::new());
        found.plan(&self.started.plan, &now.plan);
        found.host(&self.started.host, &now.host);
        found.text("scaler", &self.started.scaler_version, &now.scaler_version);
        let build = |started: &RunStarted| started.scaler_build.clone().unwrap_or_else(|| "not recorded".to_owned());
        found.text("the build of scaler", build(&self.started), build(now));
        found.names("the commit of", &self.started.commits, &now.commits);
        found.0
    }
}

fn is_whole_cell_s_end(entry: &Entry) -> bool {
    matches!(entry, Entry::CellFinished(finished) if finished.cut_short != Some(CutShort::Interrupted))
}

struct Differences(Vec<String>);

impl Differences {
    fn text(&mut self, what: &str, then: impl fmt::Display, now: impl fmt::Display) {
        let (then, now) = (then.to_string(), now.to_string());
        if then != now {
            self.0.push(format!("{what} was {then} and is {now}"));
        }
    }

    /// Values by name; one that is there only once differs from nothing.
    fn names<V: ToString + PartialEq>(&mut self, what: &str, then: &IndexMap<String, V>, now: &IndexMap<String, V>) {
        let added = now.keys().filter(|name| !then.contains_key(*name));
        for name in then.keys().chain(added) {
            let value = |values: &IndexMap<String, V>| values.get(name).map_or("nothing".to_owned(), V::to_string);
            self.text(&format!("{what} {name}"), value(then), value(now));
        }
    }

    fn plan(&mut self, then: &PlanIdentity, now: &PlanIdentity) {
        self.text("the plan's text (SHA-256)", short(&then.sha256), short(&now.sha256));
        if then.bases != now.bases {
            self.0.push("the text of a plan that it extends is another".to_owned());
        }
        let before = self.0.len();
        self.names::<Value>("the variable", &then.vars, &now.vars);
        let steps =
            |plan: &PlanIdentity| -> Vec<String> { plan.steps.iter().flatten().map(ToString::to_string).collect() };
        self.text("the ladder", steps(then).join(", "), steps(now).join(", "));
        if self.0.len() == before {
            // Gates follow from text and variables; when they alone differ, the plan reads something else of this host.
            self.text("the gates (SHA-256)", short(&then.gates_sha256), short(&now.gates_sha256));
        }
    }

    fn host(&mut self, then: &Host, now: &Host) {
        self.text("the host", &then.name, &now.name);
        self.text("the number of CPUs", then.cpus, now.cpus);
        self.text("the CPU", &then.cpu_model, &now.cpu_model);
        self.text("the CPUs that scaler may use", &then.affinity, &now.affinity);
        self.text("the memory in bytes", then.memory_bytes, now.memory_bytes);
        self.text("the kernel", &then.kernel, &now.kernel);
    }
}

/// Enough of a hash to tell it from another.
fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{
        entry::{Resumed, RunFinished},
        fixture,
    };

    fn cell_ends(entries: &[Entry]) -> Vec<usize> {
        let ends = entries.iter().enumerate().filter(|(_, entry)| matches!(entry, Entry::CellFinished(_)));
        ends.map(|(index, _)| index).collect()
    }

    #[test]
    fn torn_off_anywhere_the_whole_cells_are_kept_and_nothing_else() {
        let run = fixture::run();
        let ends = cell_ends(&run);
        for length in 1..run.len() {
            let whole = ends.iter().filter(|end| **end < length).count();
            match Kept::of(run[..length].to_vec()) {
                Ok(kept) => {
                    assert_eq!((kept.cells as usize, kept.entries.as_slice()), (whole, &run[1..=ends[whole - 1]]));
                    assert!(kept.stopped_at > 0.0);
                }
                Err(error) => assert_eq!((error, whole), (NotResumable::NoCell, 0), "{length}"),
            }
        }
        assert_eq!(Kept::of(run), Err(NotResumable::Ended));
        assert!(matches!(Kept::of(Vec::new()), Err(NotResumable::NoRecord(_))));
    }

    #[test]
    fn an_interrupted_cell_is_dropped_with_everything_after_it() {
        let run = fixture::run();
        let ends = cell_ends(&run);
        let mut entries = run[..=ends[1]].to_vec();
        if let Entry::CellFinished(finished) = &mut entries[ends[1]] {
            finished.cut_short = Some(CutShort::Interrupted);
        }
        entries.push(fixture::event(70.0, "stopping"));
        entries.push(Entry::RunFinished(RunFinished { at: 71.0, interrupted: true }));
        let kept = Kept::of(entries).unwrap();
        assert_eq!((kept.cells, kept.entries.as_slice(), kept.stopped_at), (1, &run[1..=ends[0]], 71.0));
    }

    #[test]
    fn a_run_that_went_on_has_the_record_of_one_that_never_stopped() {
        let run = fixture::run();
        let ends = cell_ends(&run);
        let kept = Kept::of(run[..ends[1] + 5].to_vec()).unwrap();
        let resumed = Resumed { run_id: "old".into(), cells: kept.cells, stopped_at: kept.stopped_at, at: 500.0 };
        let mut again = vec![Entry::RunStarted(Box::new(kept.started))];
        again.extend(kept.entries);
        again.push(Entry::Resumed(resumed.clone()));
        again.extend(run[ends[1] + 1..].iter().cloned());
        let (mut went_on, whole) = (fold(again).unwrap(), fold(run).unwrap());
        assert_eq!(std::mem::take(&mut went_on.resumed), [resumed]);
        assert_eq!(went_on, whole);
    }

    #[test]
    fn everything_that_differs_is_named() {
        let run = fixture::run();
        let kept = Kept::of(run[..run.len() - 1].to_vec()).unwrap();
        assert_eq!(kept.differences(&fixture::started()), Vec::<String>::new());
        let mut now = fixture::started();
        now.host.load1_at_start += 1.0;
        now.host.disk_free_bytes /= 2;
        assert_eq!(kept.differences(&now), Vec::<String>::new(), "what changes by itself is no difference");
        now.plan.sha256 = "ffffffffffffffff".into();
        now.plan.vars.insert("soak".into(), "1m".into());
        now.host.cpus = 64;
        now.scaler_version = "9.9.9".into();
        now.scaler_build = Some("28600777 bytes of 2026-12-01T08:00:00Z".into());
        now.commits.insert("baler".into(), "0123".into());
        let found = kept.differences(&now);
        assert_eq!(found.len(), 6, "{found:?}");
        assert!(found[0].starts_with("the plan's text (SHA-256) was ") && found[0].ends_with(" and is ffffffffffff"));
        assert!(found[1].starts_with("the variable soak was "), "{found:?}");
        assert_eq!(found[2], "the number of CPUs was 2 and is 64");
        assert_eq!(found[3], "scaler was 0.1.0 and is 9.9.9");
        let builds = ["28600776 bytes of 2026-11-30T17:00:00Z", "28600777 bytes of 2026-12-01T08:00:00Z"];
        assert_eq!(found[4], format!("the build of scaler was {} and is {}", builds[0], builds[1]));
        let before = RunStarted { scaler_build: None, ..fixture::started() };
        let of_before = Kept { started: before, ..kept };
        let found = of_before.differences(&fixture::started());
        assert_eq!(found, [format!("the build of scaler was not recorded and is {}", builds[0])]);
    }
}
