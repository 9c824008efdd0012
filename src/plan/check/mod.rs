//! What makes a plan trustworthy beyond its shape: one file for each concern, each a function from the scene to problems.
//!
//! A check says what is wrong, where, and what would be right. Errors stop the plan; warnings say that a figure will not mean
//! what one may hope.

mod compose;
mod derived;
mod ends;
mod fleet;
mod gates;
mod implied;
mod ladder;
mod names;
mod order;
mod references;
mod samples;
mod target;
mod times;

use indexmap::IndexMap;

use super::{
    checked::CellPlan,
    document::Plan,
    phase::{Phase, PhaseTable},
    subject::Subject,
    tree::Node,
};
use crate::problem::{Place, Problem};

pub(crate) use gates::resolve_gates;

/// Everything that a check looks at: the filled plan of one step, and where it was written.
pub(crate) struct Scene<'a> {
    plan: &'a Plan,
    cell: &'a CellPlan,
    subjects: &'a IndexMap<String, Subject>,
    tree: &'a Node,
    phases: Vec<PhaseAt<'a>>,
}

/// A phase and where it was written.
struct PhaseAt<'a> {
    pointer: String,
    name: &'a str,
    phase: Phase,
    /// Whether it belongs to the cells, not to what is around them.
    in_cell: bool,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        cell: &'a CellPlan,
        subjects: &'a IndexMap<String, Subject>,
        tree: &'a Node,
    ) -> Self {
        let lists = [("setup", &plan.setup), ("phase", &plan.phase), ("teardown", &plan.teardown)];
        let phases = lists.into_iter().flat_map(|(list, tables)| phases_of(list, tables)).collect();
        Self { plan, cell, subjects, tree, phases }
    }

    /// The place of a value; of its table when a default stands in for it.
    fn place(&self, pointer: &str) -> Option<Place> {
        match self.tree.at(pointer) {
            Some(node) => Some(node.place.clone()),
            None => self.key(pointer.rsplit_once('/')?.0),
        }
    }

    /// The place of a key.
    fn key(&self, pointer: &str) -> Option<Place> {
        self.tree.key_at(pointer)
    }

    /// Whether the text at a value's place is the value itself, so that it may be replaced.
    fn is_verbatim(&self, pointer: &str) -> bool {
        self.tree.at(pointer).is_some_and(|node| node.verbatim)
    }

    /// The phases of the cells.
    fn cell_phases(&self) -> impl Iterator<Item = &PhaseAt<'a>> {
        self.phases.iter().filter(|at| at.in_cell)
    }
}

fn phases_of<'a>(list: &'static str, tables: &'a [PhaseTable]) -> impl Iterator<Item = PhaseAt<'a>> {
    tables.iter().enumerate().filter_map(move |(index, table)| {
        let phase = table.kind().ok()?;
        Some(PhaseAt { pointer: format!("/{list}/{index}"), name: &table.name, phase, in_cell: list == "phase" })
    })
}

/// Runs every check.
pub(crate) fn check(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    const CHECKS: &[fn(&Scene<'_>, &mut Vec<Problem>)] = &[
        names::check,
        references::check,
        target::check,
        ends::check,
        fleet::check,
        times::check,
        order::check,
        ladder::check,
        samples::check,
        derived::check,
    ];
    for check in CHECKS {
        check(scene, problems);
    }
}
