//! The merged tree of a plan and everything that it takes to fill it: once for the checker, once more for each cell.

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::{
    check::resolve_gates,
    checked::{CellPlan, HostFacts, RunScope},
    document::Plan,
    fill::{Scopes, fill, fill_at},
    resolve::resolve,
    scope,
    subject::subjects,
    tree::{Data, Node, join, segments},
};
use crate::problem::{Problem, Problems};

/// A plan before it is filled for a step.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// The merged tree, its variables filled.
    pub(crate) tree: Node,
    /// The host that it was checked on.
    pub(crate) host: HostFacts,
    /// The tree filled for the first step.
    pub(crate) first: Filled,
}

/// A tree that is filled for a step.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    /// The tree.
    pub(crate) tree: Node,
    /// The same as JSON.
    pub(crate) value: Value,
}

impl From<Node> for Filled {
    fn from(tree: Node) -> Self {
        Self { value: tree.to_value(), tree }
    }
}

impl Page {
    /// A page whose variables are filled; nothing else is yet.
    pub(crate) fn new(mut tree: Node, host: &HostFacts, problems: &mut Vec<Problem>) -> Self {
        let vars = tree.get("vars").map(|vars| {
            let known = Map::from_iter([("host".to_owned(), json!(host))]);
            let declared = [("host", names(scope::HOST)), ("vars", keys(Some(vars))), ("run", names(scope::RUN))];
            let secrets = ("secrets", keys(tree.get("secrets")));
            let declared = declared.into_iter().chain([secrets]).collect();
            fill_at(vars, &["vars"], &Scopes { declared, known, vars: None }, problems)
        });
        if let (Data::Table(fields), Some(vars)) = (&mut tree.data, vars)
            && let Some(field) = fields.get_mut("vars")
        {
            field.node = vars;
        }
        let first = Filled { tree: tree.clone(), value: Value::Null };
        Self { tree, host: host.clone(), first }
    }

    /// The name of the step's variable.
    pub(crate) fn step_name(&self) -> Option<&str> {
        self.tree.get("ladder")?.get("variable")?.text()
    }

    /// Fills the ladder, which cannot use the step that it makes.
    pub(crate) fn ladder(&self, problems: &mut Vec<Problem>) -> Option<Node> {
        let ladder = self.tree.get("ladder")?;
        Some(fill_at(ladder, &["ladder"], &self.scopes(None, None), problems))
    }

    /// Fills the whole tree.
    pub(crate) fn fill(&self, step: Option<u64>, run: Option<&RunScope>, problems: &mut Vec<Problem>) -> Node {
        fill(&self.tree, &self.scopes(step, run), problems)
    }

    /// Fills the texts at these JSON pointers anew in what was filled for another step.
    pub(crate) fn refill(&self, filled: &mut Filled, texts: &[String], step: Option<u64>, problems: &mut Vec<Problem>) {
        let scopes = self.scopes(step, None);
        for pointer in texts {
            let path: Vec<String> = segments(pointer).collect();
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let places = (self.tree.at(pointer), filled.tree.at_mut(pointer), filled.value.pointer_mut(pointer));
            if let (Some(template), Some(text), Some(value)) = places {
                *text = fill_at(template, &path, &scopes, problems);
                *value = text.to_value();
            }
        }
    }

    /// The JSON pointers of the texts that use the ladder's step: no other text differs between two steps.
    pub(crate) fn texts_of_the_step(&self) -> Vec<String> {
        let mut found = Vec::new();
        leaves(&self.tree, "", &mut |pointer, node| {
            if node.text().is_some_and(|text| text.contains('{') && text.contains("step")) {
                found.push(pointer.to_owned());
            }
        });
        found
    }

    fn scopes(&self, step: Option<u64>, run: Option<&RunScope>) -> Scopes<'_> {
        let vars = self.tree.get("vars");
        let mut known = Map::new();
        known.insert("vars".to_owned(), vars.map_or_else(|| json!({}), Node::to_value));
        known.insert("host".to_owned(), json!(self.host));
        let mut declared = [
            ("vars", keys(vars)),
            ("host", names(scope::HOST)),
            ("run", names(scope::RUN)),
            ("secrets", keys(self.tree.get("secrets"))),
        ]
        .into_iter()
        .collect::<indexmap::IndexMap<_, _>>();
        if let Some(name) = self.step_name() {
            declared.insert("step", vec![name.to_owned()]);
            known.extend(step.map(|step| ("step".to_owned(), json!({ name: step }))));
        }
        if let Some(run) = run {
            known.insert("run".to_owned(), json!({ "scaler": run.scaler, "folder": run.folder, "id": run.id }));
            known.insert("secrets".to_owned(), json!(run.secrets));
        }
        Scopes { declared, known, vars }
    }

    /// The plan for a step.
    pub(crate) fn cell(&self, step: Option<u64>, run: Option<&RunScope>) -> Result<CellPlan, Problems> {
        let mut problems = Vec::new();
        let tree = self.fill(step, run, &mut problems);
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        let plan = read_plan(&tree.to_value())?;
        let mut cell = resolve(&plan, step, &tree, &mut problems);
        cell.gates = resolve_gates(&plan, &cell, &subjects(&cell), &tree, &mut problems);
        let problems = Problems(problems);
        if problems.has_errors() { Err(problems) } else { Ok(cell) }
    }
}

/// The typed plan of a filled tree that has the shape of one.
pub(crate) fn read_plan(value: &Value) -> Result<Plan, Problems> {
    Plan::deserialize(value).map_err(|error| Problem::error(format!("the plan cannot be read: {error}")).into())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn keys(table: Option<&Node>) -> Vec<String> {
    table.and_then(Node::fields).into_iter().flat_map(|fields| fields.keys().cloned()).collect()
}

/// Every leaf of a tree with its JSON pointer, in the order of the text.
pub(crate) fn leaves<'a>(node: &'a Node, pointer: &str, visit: &mut dyn FnMut(&str, &'a Node)) {
    match &node.data {
        Data::Table(fields) => {
            for (key, field) in fields {
                leaves(&field.node, &join(pointer, key), visit);
            }
        }
        Data::List(nodes) => {
            for (index, node) in nodes.iter().enumerate() {
                leaves(node, &format!("{pointer}/{index}"), visit);
            }
        }
        Data::Leaf(_) => visit(pointer, node),
    }
}
