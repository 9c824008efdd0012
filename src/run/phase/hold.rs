//! `hold`: keep loads and watches running for a time.

use super::super::interpreter::{Halt, Interpreter};
use crate::plan::{checked::CellPlan, phase::Hold};

impl Interpreter<'_> {
    pub(super) fn hold(&mut self, plan: &CellPlan, hold: &Hold) -> Result<(), Halt> {
        for name in &hold.start {
            self.start(plan, name)?;
        }
        let end = self.now() + hold.length.as_secs_f64();
        if hold.measure {
            self.pause_under_guard(end)?;
        } else {
            self.pause_until(end)?;
        }
        for name in &hold.stop {
            self.stop(name)?;
        }
        Ok(())
    }
}
