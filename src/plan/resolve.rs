//! From what was written to what is meant: each table becomes the one kind that it names.

use indexmap::IndexMap;

use super::{
    checked::{CellPlan, CheckedProbe, CheckedWatch, NamedPhase},
    connection::ConnectionTable,
    document::Plan,
    load::LoadTable,
    nearest::list,
    one_of::NotOne,
    phase::PhaseTable,
    query::QueryTable,
    target::{External, Target},
    tree::{Node, join},
};
use crate::problem::Problem;

/// Resolves a filled plan for one step. What names no kind, or two, is reported and left out.
/// The gates come later: they need the subjects that this gives.
pub(crate) fn resolve(plan: &Plan, step: Option<u64>, tree: &Node, problems: &mut Vec<Problem>) -> CellPlan {
    let mut resolver = Resolver { tree, problems };
    let target = resolver.one("/target", "target", plan.target.kind());
    CellPlan {
        step,
        // An empty external target stands in for one that is wrong; the error keeps it from being used.
        target: target.unwrap_or(Target::External(External { description: String::new() })),
        isolation: plan.isolation.clone().unwrap_or_default(),
        connections: resolver.each("connections", "connection", &plan.connections, ConnectionTable::kind),
        fleet: plan.fleet.clone(),
        messages: plan.messages.clone(),
        loads: resolver.each("loads", "load", &plan.loads, LoadTable::kind),
        queries: resolver.each("queries", "query", &plan.queries, QueryTable::kind),
        watches: resolver.each("watches", "watch", &plan.watches, |table| {
            table.kind().map(|watch| CheckedWatch { every: table.every, watch })
        }),
        probes: resolver.each("probes", "probe", &plan.probes, |table| {
            table.kind().map(|probe| CheckedProbe {
                cold: table.cold,
                warm: table.warm,
                budget: table.budget,
                budget_source: table.budget_source.clone(),
                probe,
            })
        }),
        workflows: plan.workflows.clone(),
        setup: resolver.phases("setup", &plan.setup),
        phases: resolver.phases("phase", &plan.phase),
        teardown: resolver.phases("teardown", &plan.teardown),
        gates: Vec::new(),
        clean: plan.clean.clone(),
        durability: plan.durability.clone(),
        growth: plan.growth.clone(),
        live_safety: plan.live_safety.clone(),
    }
}

struct Resolver<'a> {
    tree: &'a Node,
    problems: &'a mut Vec<Problem>,
}

impl Resolver<'_> {
    fn each<Table, Kind>(
        &mut self,
        table: &str,
        noun: &str,
        tables: &IndexMap<String, Table>,
        kind: impl Fn(&Table) -> Result<Kind, NotOne>,
    ) -> IndexMap<String, Kind> {
        tables
            .iter()
            .filter_map(|(name, written)| {
                let pointer = join(&format!("/{table}"), name);
                self.one(&pointer, &format!("{noun} `{name}`"), kind(written)).map(|kind| (name.clone(), kind))
            })
            .collect()
    }

    fn phases(&mut self, list: &str, tables: &[PhaseTable]) -> Vec<NamedPhase> {
        tables
            .iter()
            .enumerate()
            .filter_map(|(index, table)| {
                let noun = format!("phase `{}`", table.name);
                let phase = self.one(&format!("/{list}/{index}"), &noun, table.kind())?;
                Some(NamedPhase { name: table.name.clone(), phase })
            })
            .collect()
    }

    fn one<Kind>(&mut self, pointer: &str, noun: &str, kind: Result<Kind, NotOne>) -> Option<Kind> {
        let error = match kind {
            Ok(kind) => return Some(kind),
            Err(error) => error,
        };
        let known = format!("exactly one of {}", list(error.known.iter().copied()));
        let problem = match error.found.as_slice() {
            [_, second, ..] => Problem::error(format!("{noun} is of two kinds: {}", list(error.found.iter().copied())))
                .at(self.tree.key_at(&join(pointer, second)), "a second kind"),
            _ => Problem::error(format!("{noun} does not say what it is"))
                .at(self.tree.key_at(pointer), "no key here names its kind"),
        };
        self.problems.push(problem.help(known));
        None
    }
}
