//! One file per phase kind. Each asks the world, and journals the outcome as one entry.

mod drain;
mod exec;
mod fault;
mod hold;
mod probe;
mod publish;
mod reconcile;
mod recovery;
mod sql;
mod workflow;

use super::interpreter::{Halt, Interpreter};
use crate::plan::{
    checked::{CellPlan, NamedPhase},
    fill::fill_text,
    phase::Phase,
};

impl Interpreter<'_> {
    /// Runs one phase to its end.
    pub(super) fn phase(&mut self, plan: &CellPlan, named: &NamedPhase) -> Result<(), Halt> {
        let name = &named.name;
        match &named.phase {
            Phase::Publish(publish) => self.publish(name, publish),
            Phase::Hold(hold) => self.hold(plan, hold),
            Phase::Probe(probe) => self.probe(plan, name, probe),
            Phase::Workflow(workflow) => self.workflow(plan, name, workflow),
            Phase::Fault(fault) => self.fault(name, fault),
            Phase::Drain(drain) => self.drain(name, drain),
            Phase::Reconcile(reconcile) => self.reconcile(name, reconcile),
            Phase::Exec(exec) => self.exec(name, exec),
            Phase::Sql(sql) => self.sql(name, sql),
        }
    }

    /// Fills the placeholders that wait for the moment of use.
    fn fill_late(&self, text: &str) -> Result<String, Halt> {
        fill_text(text, &self.late).map_err(Halt::PhaseFailed)
    }
}
