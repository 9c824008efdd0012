//! A metric that is asked for: of what, by which name, over which window.

use super::{measured::Measured, scope::Scope};
use crate::{
    plan::{checked::Window, gate::Unit},
    record::{cell::CellRecord, entry::RunStarted},
};

/// One question to a cell's record.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The run.
    pub(super) run: &'a RunStarted,
    /// The cell.
    pub(super) cell: &'a CellRecord,
    /// The subject's name.
    pub(super) subject: &'a str,
    /// The metric's name behind the subject's.
    pub(super) name: &'a str,
    /// The unit that the vocabulary gives it.
    pub(super) unit: Unit,
    /// The window.
    pub(super) window: &'a Window,
}

impl Asked<'_> {
    /// The window, resolved.
    pub(super) fn scope(&self) -> Result<Scope, String> {
        Scope::of(self.cell, self.window)
    }

    /// The window for things that do not go on all the time, such as probes and exits: without a name, the whole cell.
    pub(super) fn scope_of_events(&self) -> Result<Scope, String> {
        if self.window.phase.is_none() { Ok(Scope::cell(self.cell)) } else { self.scope() }
    }

    /// A name that no subject of this kind has.
    pub(super) fn unknown(&self) -> Measured {
        Measured::unmeasured(format!("`{}` has no metric `{}`", self.subject, self.name))
    }
}
