//! From entries to the record. The same fold serves the running experiment, a finished journal and one that was torn off.

use std::fmt;

use super::{
    cell::{CellRecord, Record, WindowSpan},
    entry::{CellFinished, CutShort, Entry, Event, EventKind, Ledger, RunStarted, Sample},
    journal::{JournalRead, Torn},
};

/// Why entries make no record. A program that journals rightly never causes one; a damaged or foreign file does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoldError {
    /// There is no entry at all, or the first one does not begin a run.
    NotStarted,
    /// The run begins twice, or goes on after its end.
    AfterTheEnd,
    /// A cell begins within another, whose name this is.
    CellOpen(String),
    /// A cell ends that is not the open one.
    CellNotOpen(u32),
    /// A phase begins within another, whose name this is.
    WindowOpen(String),
    /// A phase ends that is not the open one.
    WindowNotOpen(String),
}

impl fmt::Display for FoldError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted => out.write_str("it does not begin with the start of a run"),
            Self::AfterTheEnd => out.write_str("it goes on after the end of the run, or begins twice"),
            Self::CellOpen(name) => write!(out, "a cell begins before the cell {name:?} has ended"),
            Self::CellNotOpen(number) => write!(out, "cell {number} ends and was not open"),
            Self::WindowOpen(name) => write!(out, "a phase begins before the phase {name:?} has ended"),
            Self::WindowNotOpen(name) => write!(out, "the phase {name:?} ends and was not open"),
        }
    }
}

impl std::error::Error for FoldError {}

/// Puts all entries together.
///
/// # Errors
/// When they are not in an order that a run can have.
pub fn fold(entries: impl IntoIterator<Item = Entry>) -> Result<Record, FoldError> {
    let mut fold = Fold::default();
    for entry in entries {
        fold.push(entry)?;
    }
    fold.finish()
}

impl Record {
    /// The record of a run of which only the beginning is known.
    fn begun(started: RunStarted) -> Self {
        Self {
            started,
            cells: Vec::new(),
            around: Vec::new(),
            targets: Vec::new(),
            neighbours: Vec::new(),
            resumed: Vec::new(),
            finished: None,
        }
    }

    /// The record of a run whose journal is all that there is. What could not be read of it is noted in the record.
    ///
    /// # Errors
    /// When the entries are not in an order that a run can have.
    pub fn recovered(read: JournalRead) -> Result<Self, FoldError> {
        let mut fold = Fold::default();
        for entry in read.entries {
            fold.push(entry)?;
        }
        if let Some(Torn { line, why, behind }) = read.torn
            && fold.record.as_ref().is_some_and(|record| record.finished.is_none())
        {
            let at = fold.record.as_ref().and_then(|record| record.cells.last()).map_or(0.0, |cell| cell.until);
            let more = if behind > 0 { format!(" ({behind} more behind it)") } else { String::new() };
            let detail = format!("from line {line} on the journal could not be read{more}: {why}");
            fold.push(Entry::Event(Event { at, kind: EventKind::Interrupted, subject: "journal".into(), detail }))?;
        }
        fold.finish()
    }
}

/// A record that grows entry by entry.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    record: Option<Record>,
    cell_open: bool,
}

impl Fold {
    /// Adds what happened next.
    ///
    /// # Errors
    /// When the entry cannot follow the ones before it; the record is unchanged then.
    pub fn push(&mut self, entry: Entry) -> Result<(), FoldError> {
        let Some(record) = &mut self.record else {
            let Entry::RunStarted(started) = entry else { return Err(FoldError::NotStarted) };
            self.record = Some(Record::begun(*started));
            return Ok(());
        };
        if record.finished.is_some() {
            return Err(FoldError::AfterTheEnd);
        }
        let open = if self.cell_open { record.cells.last_mut() } else { None };
        match (entry, open) {
            (Entry::RunStarted(_), _) => return Err(FoldError::AfterTheEnd),
            (Entry::CellStarted(_) | Entry::Resumed(_) | Entry::RunFinished(_), Some(cell)) => {
                return Err(FoldError::CellOpen(cell.started.name.clone()));
            }
            (Entry::CellStarted(started), None) => {
                record.cells.push(CellRecord::new(started));
                self.cell_open = true;
            }
            (Entry::Resumed(resumed), None) => record.resumed.push(resumed),
            (Entry::RunFinished(finished), None) => record.finished = Some(finished),
            // They hold for the whole run, whenever they became known.
            (Entry::Target(target), _) => record.targets.push(target),
            (Entry::Neighbours(compared), _) => record.neighbours.push(compared),
            (Entry::CellFinished(finished), cell) => {
                let cell = cell.filter(|cell| cell.started.cell == finished.cell);
                cell.ok_or(FoldError::CellNotOpen(finished.cell))?.finish(finished);
                self.cell_open = false;
            }
            (entry, Some(cell)) => cell.push(entry)?,
            (entry, None) => record.around.push(entry),
        }
        Ok(())
    }

    /// The record so far; none before the run began.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// The cell that is open.
    #[must_use]
    pub fn cell(&self) -> Option<&CellRecord> {
        self.record.as_ref()?.cells.last().filter(|_| self.cell_open)
    }

    /// The record as it is. A cell that is still open when the entries end was interrupted: nobody ran it any further.
    ///
    /// # Errors
    /// When the run never began.
    pub fn finish(self) -> Result<Record, FoldError> {
        let mut record = self.record.ok_or(FoldError::NotStarted)?;
        if self.cell_open
            && let Some(cell) = record.cells.last_mut()
        {
            let (at, number) = (cell.until, cell.started.cell);
            cell.finish(CellFinished { at, cell: number, cut_short: Some(CutShort::Interrupted) });
        }
        Ok(record)
    }
}

impl CellRecord {
    /// Adds what happened next in the cell.
    ///
    /// # Errors
    /// When a phase begins or ends out of turn. Entries that begin or end cells and runs belong to [`Fold::push`].
    pub fn push(&mut self, entry: Entry) -> Result<(), FoldError> {
        let moment = moment(&entry);
        match entry {
            Entry::WindowOpened(window) => {
                if let Some(open) = self.open_window() {
                    return Err(FoldError::WindowOpen(open.name.clone()));
                }
                self.windows.push(WindowSpan {
                    name: window.name,
                    kind: window.kind,
                    measured: window.measured,
                    from: window.at,
                    to: window.at,
                    closed: false,
                });
            }
            Entry::WindowClosed(closed) => {
                let open = self.windows.last_mut().filter(|window| !window.closed && window.name == closed.name);
                let open = open.ok_or(FoldError::WindowNotOpen(closed.name))?;
                open.to = closed.at.max(open.from);
                open.closed = true;
            }
            Entry::Sample(sample) => self.samples.push(sample.finite()),
            Entry::Slice(slice) => self.slices.push(slice),
            Entry::Ledger(ledger) => self.post(ledger),
            Entry::Schedule(schedule) => self.schedules.push(schedule),
            Entry::InDoubt(in_doubt) => self.in_doubt.push(in_doubt),
            Entry::Canary(reading) => self.canaries.push(reading),
            Entry::ProbeRun(run) => self.probe_runs.push(run),
            Entry::WorkflowRun(run) => self.workflow_runs.push(run),
            Entry::Published(published) => self.published.push(published),
            Entry::Outage(outage) => self.outages.push(outage),
            Entry::Drained(drained) => self.drained.push(drained),
            Entry::Custody(custody) => self.custody.push(custody),
            Entry::Ran(ran) => self.ran.push(ran),
            Entry::Event(event) => self.events.push(event),
            Entry::CellFinished(finished) => self.finish(finished),
            Entry::RunStarted(_)
            | Entry::CellStarted(_)
            | Entry::Resumed(_)
            | Entry::RunFinished(_)
            | Entry::Target(_)
            | Entry::Neighbours(_) => {
                return Err(FoldError::CellOpen(self.started.name.clone()));
            }
        }
        if let Some(at) = moment {
            self.advance(at);
        }
        Ok(())
    }

    /// Ends the cell, and the phase that is open with it.
    fn finish(&mut self, finished: CellFinished) {
        self.advance(finished.at);
        if let Some(window) = self.windows.last_mut() {
            window.closed = true;
        }
        self.finished = Some(finished);
    }

    /// Enters payload seconds in the ledger; each replaces what was known of it.
    fn post(&mut self, ledger: Ledger) {
        let seconds = self.seconds.entry(ledger.load).or_default();
        seconds.extend(ledger.seconds.into_iter().map(|second| (second.second, second)));
    }

    /// Moves the latest known moment on; the open phase lasts at least until then.
    fn advance(&mut self, at: f64) {
        self.until = self.until.max(at);
        if let Some(window) = self.windows.last_mut().filter(|window| !window.closed) {
            window.to = window.to.max(at);
        }
    }
}

/// When an entry became known, if it says so.
fn moment(entry: &Entry) -> Option<f64> {
    match entry {
        Entry::WindowOpened(window) => Some(window.at),
        Entry::WindowClosed(window) => Some(window.at),
        Entry::Sample(sample) => Some(sample.at),
        Entry::Slice(slice) => Some(slice.to),
        Entry::Canary(reading) => Some(reading.seen.unwrap_or(reading.published)),
        Entry::ProbeRun(run) => Some(run.at + run.seconds),
        Entry::WorkflowRun(run) => Some(run.at + run.seconds),
        Entry::Outage(outage) => Some(outage.ready_at.unwrap_or(outage.up_at)),
        Entry::Event(event) => Some(event.at),
        _ => None,
    }
}

impl Sample {
    /// The same sample with numbers that are none, such as a `NaN` of an exporter, turned into gaps: JSON cannot hold them and
    /// arithmetic must not meet them.
    #[must_use]
    pub fn finite(mut self) -> Self {
        let gaps = &mut self.gaps;
        self.values.retain(|series, value| {
            if !value.is_finite() {
                gaps.insert(series.clone(), format!("the reading was {value}, which is no number"));
            }
            value.is_finite()
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::record::{
        entry::{CellStarted, RunFinished, Second},
        fixture::{self, closed},
    };

    fn run_started() -> Entry {
        Entry::RunStarted(Box::new(fixture::started()))
    }

    fn cell_started(at: f64, cell: u32) -> Entry {
        Entry::CellStarted(CellStarted {
            at,
            cell,
            name: format!("cell {cell}"),
            step: None,
            condition: None,
            repeat: 1,
            subjects: IndexMap::new(),
            gates: Vec::new(),
        })
    }

    fn opened(at: f64, name: &str) -> Entry {
        fixture::opened(at, name, "hold", true)
    }

    fn cell_finished(at: f64, cell: u32) -> Entry {
        Entry::CellFinished(CellFinished { at, cell, cut_short: None })
    }

    fn second(second: i64, acked: u64) -> Second {
        Second { second, acked, ..Second::default() }
    }

    #[test]
    fn a_whole_run_is_put_together() {
        let ledger = |seconds| Entry::Ledger(Ledger { load: "readings".into(), seconds });
        let record = fold([
            run_started(),
            opened(0.5, "setup"),
            closed(0.9, "setup"),
            cell_started(1.0, 0),
            opened(1.0, "soak"),
            ledger(vec![second(10, 3), second(11, 1)]),
            ledger(vec![second(11, 5)]),
            closed(16.0, "soak"),
            cell_finished(17.0, 0),
            Entry::RunFinished(RunFinished { at: 18.0, interrupted: false }),
        ])
        .unwrap();
        assert!(!record.interrupted());
        assert_eq!(record.around, [opened(0.5, "setup"), closed(0.9, "setup")]);
        let cell = &record.cells[0];
        assert_eq!((cell.windows[0].from, cell.windows[0].to, cell.windows[0].closed), (1.0, 16.0, true));
        assert_eq!((cell.until, cell.started.at), (17.0, 1.0));
        assert_eq!(cell.seconds["readings"].values().map(|second| second.acked).collect::<Vec<_>>(), [3, 5]);
    }

    #[test]
    fn a_torn_run_is_interrupted_where_it_was() {
        let sample = Sample { at: 4.0, watch: "host".into(), values: IndexMap::new(), gaps: IndexMap::new() };
        let record = fold([run_started(), cell_started(1.0, 7), opened(2.0, "soak"), Entry::Sample(sample)]).unwrap();
        assert!(record.interrupted());
        let cell = &record.cells[0];
        let end = CellFinished { at: 4.0, cell: 7, cut_short: Some(CutShort::Interrupted) };
        assert_eq!(cell.finished, Some(end));
        assert_eq!((cell.windows[0].to, cell.windows[0].closed), (4.0, true));
    }

    #[test]
    fn what_a_journal_lacks_is_noted_in_the_record() {
        let entries = vec![run_started(), cell_started(1.0, 0), opened(2.5, "soak")];
        let torn = Some(Torn { line: 4, why: "EOF".into(), behind: 0 });
        let record = Record::recovered(JournalRead { entries, torn }).unwrap();
        let event = &record.cells[0].events[0];
        assert_eq!(event.detail, "from line 4 on the journal could not be read: EOF");
        assert_eq!((event.at, record.cells[0].windows[0].to), (2.5, 2.5));
        let nothing = JournalRead { entries: vec![], torn: None };
        assert_eq!(Record::recovered(nothing), Err(FoldError::NotStarted));
    }

    #[test]
    fn entries_out_of_turn_are_refused() {
        let refused = |entries: Vec<Entry>| fold(entries).unwrap_err();
        assert_eq!(refused(vec![]), FoldError::NotStarted);
        assert_eq!(refused(vec![cell_started(1.0, 0)]), FoldError::NotStarted);
        assert_eq!(refused(vec![run_started(), run_started()]), FoldError::AfterTheEnd);
        assert_eq!(refused(vec![run_started(), cell_finished(1.0, 0)]), FoldError::CellNotOpen(0));
        let open = vec![run_started(), cell_started(1.0, 0)];
        let after = |entry| [open.clone(), vec![entry]].concat();
        assert_eq!(refused(after(cell_started(2.0, 1))), FoldError::CellOpen("cell 0".into()));
        assert_eq!(refused(after(cell_finished(2.0, 1))), FoldError::CellNotOpen(1));
        assert_eq!(refused(after(closed(2.0, "soak"))), FoldError::WindowNotOpen("soak".into()));
        let both = [open.clone(), vec![opened(2.0, "soak"), opened(3.0, "drain")]].concat();
        assert_eq!(refused(both), FoldError::WindowOpen("soak".into()));
    }

    #[test]
    fn a_number_that_is_none_becomes_a_gap() {
        let values = IndexMap::from([("good".to_owned(), 1.0), ("bad".to_owned(), f64::NAN)]);
        let sample = Sample { at: 1.0, watch: "queue".into(), values, gaps: IndexMap::new() }.finite();
        assert_eq!(sample.values, IndexMap::from([("good".to_owned(), 1.0)]));
        assert_eq!(sample.gaps["bad"], "the reading was NaN, which is no number");
    }
}
