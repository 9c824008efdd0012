//! `extends`: a plan that changes another one.
//!
//! Tables merge by key. Arrays of tables merge by `name` (a gate without one by its metric and window): an element that the base has
//! is changed where it stands; a new one is put behind the one that precedes it in the plan's own list (which may be no more than a
//! name), or at the end when none does. Everything else is replaced. What `without` names is taken out of the base first. Where exactly one key of several may be given (the kind of a
//! phase, the comparison of a gate), the plan's key takes the place of the base's.

use std::{
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use indexmap::IndexMap;
use serde_json::Value;

use super::{
    bounds::{EXTENDS_CHAIN, PLAN_BYTES},
    connection::Connection,
    load::Load,
    phase::Phase,
    probe::Probe,
    query::Query,
    scope::matches,
    target::Target,
    tree::{Data, Field, Node},
    watch::Watch,
    without,
};
use crate::problem::{Problem, Source};

/// Reads a file.
pub(crate) type Read<'a> = dyn Fn(&str) -> io::Result<String> + 'a;

/// A plan and all that it extends.
pub(crate) struct Extended {
    /// The merged tree.
    pub(crate) tree: Node,
    /// The plan's own text.
    pub(crate) text: String,
    /// The texts of the plans that it extends, by path.
    pub(crate) bases: IndexMap<String, String>,
}

/// Reads a plan and all that it extends.
pub(crate) fn read(path: &str, read: &Read<'_>) -> Result<Extended, Vec<Problem>> {
    let text = read(path).map_err(|error| vec![cannot_read(path, &error)])?;
    let mut reader =
        Reader { read, chain: vec![normal(Path::new(path))], bases: IndexMap::new(), problems: Vec::new() };
    let tree = reader.tree(path, text.clone());
    if reader.problems.is_empty() {
        return Ok(Extended { tree, text, bases: reader.bases });
    }
    Err(reader.problems)
}

struct Reader<'a> {
    read: &'a Read<'a>,
    chain: Vec<PathBuf>,
    bases: IndexMap<String, String>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn tree(&mut self, path: &str, text: String) -> Node {
        let (bytes, plans) = (text.len(), self.chain.len());
        // What is too much is not even parsed.
        let is_too_much = bytes > PLAN_BYTES || plans > EXTENDS_CHAIN;
        let text = if is_too_much { String::new() } else { text };
        let source = Arc::new(Source { name: path.to_owned(), text });
        if is_too_much {
            let title = if bytes > PLAN_BYTES {
                format!("`{path}` has {bytes} bytes; a plan has at most {PLAN_BYTES}")
            } else {
                format!("more than {EXTENDS_CHAIN} plans extend each other")
            };
            self.problems.push(Problem::error(title));
        }
        let tree = Node::parse(&source, &mut self.problems);
        self.format(&tree);
        let Some(named) = tree.get("extends") else {
            self.problems.extend(without::of_nothing(&tree));
            return tree;
        };
        let Some(name) = named.text() else {
            self.problem(named, "wrong type for `extends`", "expected the path of a plan".to_owned());
            return tree;
        };
        let base_path = normal(&Path::new(path).parent().unwrap_or(Path::new("")).join(name));
        if self.chain.contains(&base_path) {
            self.problem(named, "plans that extend each other", "this plan is extended by that one already".to_owned());
            return tree;
        }
        let base_name = base_path.display().to_string();
        match (self.read)(&base_name) {
            Ok(text) => {
                self.bases.insert(base_name.clone(), text.clone());
                self.chain.push(base_path);
                let mut base = self.tree(&base_name, text);
                if let Data::Table(fields) = &mut base.data {
                    fields.shift_remove("extends");
                    fields.shift_remove("without");
                }
                let folder = Path::new(name).parent().unwrap_or(Path::new(""));
                from_folder(&mut base, folder, &mut Vec::new());
                self.problems.extend(without::leave_out(&mut base, &tree));
                merge(base, tree, &mut Vec::new())
            }
            Err(error) => {
                self.problem(named, &format!("cannot read `{base_name}`"), error.to_string());
                tree
            }
        }
    }

    /// Another format has other rules: nothing else is said of such a plan.
    fn format(&mut self, tree: &Node) {
        let Some(node) = tree.get("format") else { return };
        let Some(format) = node.to_value().as_i64() else { return };
        let known = i64::from(super::document::FORMAT);
        if format > known {
            let title = format!("the plan's format {format} is newer than this program, which reads format {known}");
            let problem = Problem::error(title).at(Some(node.place.clone()), "a newer scaler wrote this");
            self.problems = vec![problem.help("install a newer scaler, or write the plan in the older format")];
        } else if format < known {
            let title = format!("there is no format {format}; this program reads format {known}");
            self.problems.push(Problem::error(title).at(Some(node.place.clone()), "no such format"));
        }
    }

    fn problem(&mut self, node: &Node, title: &str, label: String) {
        self.problems.push(Problem::error(title).at(Some(node.place.clone()), label));
    }
}

fn cannot_read(path: &str, error: &io::Error) -> Problem {
    Problem::error(format!("cannot read `{path}`: {error}"))
}

/// A path without `.` and `..`, so that two ways to one file are one name.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(normal.components().next_back(), Some(Component::Normal(_))) => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Files and folders that a plan names, relative to the file that names them.
const PATHS: &[&str] = &["secrets_file", "commits/*", "connections/*/mqtt/ca_file", "connections/*/postgres/ca_file"];

/// Rewrites the paths of a base plan, which are relative to its own folder, as seen from the plan that extends it.
fn from_folder(node: &mut Node, folder: &Path, path: &mut Vec<String>) {
    match &mut node.data {
        Data::Table(fields) => {
            for (key, field) in fields {
                path.push(key.clone());
                from_folder(&mut field.node, folder, path);
                path.pop();
            }
        }
        // A template says itself where its path begins.
        Data::Leaf(Value::String(file)) if !file.starts_with("{{") && PATHS.iter().any(|own| matches(own, path)) => {
            *file = normal(&folder.join(&*file)).display().to_string();
        }
        Data::Leaf(_) | Data::List(_) => {}
    }
}

/// Where exactly one key may be given, by the place of the table.
const ALTERNATIVES: &[(&str, &[&str])] = &[
    ("target", Target::KEYS),
    ("connections/*", Connection::KEYS),
    ("loads/*", Load::KEYS),
    ("queries/*", Query::KEYS),
    ("watches/*", Watch::KEYS),
    ("probes/*", Probe::KEYS),
    ("setup/*", Phase::KEYS),
    ("phase/*", Phase::KEYS),
    ("teardown/*", Phase::KEYS),
    ("gate/*", &["at_least", "at_most", "above", "below", "equals"]),
    ("target/processes/services/*/ready", &["tcp", "http"]),
    ("*/*/fault", &["kill", "stop", "pause"]),
    ("secrets/*", &["random", "env"]),
];

fn merge(base: Node, plan: Node, path: &mut Vec<String>) -> Node {
    let data = match (base.data, plan.data) {
        (Data::Table(base), Data::Table(plan)) => Data::Table(merge_tables(base, plan, path)),
        (Data::List(base), Data::List(plan)) if plan.iter().chain(&base).all(|node| key(node).is_some()) => {
            Data::List(merge_lists(base, plan, path))
        }
        (_, data) => data,
    };
    Node { place: plan.place, verbatim: plan.verbatim, data }
}

fn merge_tables(
    mut base: IndexMap<String, Field>,
    plan: IndexMap<String, Field>,
    path: &mut Vec<String>,
) -> IndexMap<String, Field> {
    let alternatives =
        ALTERNATIVES.iter().find(|(pattern, _)| matches(pattern, path)).map_or(&[][..], |(_, keys)| keys);
    if plan.keys().any(|key| alternatives.contains(&key.as_str())) {
        base.retain(|key, _| plan.contains_key(key) || !alternatives.contains(&key.as_str()));
    }
    for (key, field) in plan {
        path.push(key.clone());
        let merged = match base.get(&key).cloned() {
            Some(old) => Field { key: field.key, node: merge(old.node, field.node, path) },
            None => field,
        };
        path.pop();
        base.insert(key, merged);
    }
    base
}

fn merge_lists(mut base: Vec<Node>, plan: Vec<Node>, path: &mut Vec<String>) -> Vec<Node> {
    let mut behind = None;
    for node in plan {
        path.push("*".to_owned());
        let place = if let Some(place) = base.iter().position(|old| key(old) == key(&node)) {
            base[place] = merge(base[place].clone(), node, path);
            place
        } else {
            let place = behind.map_or(base.len(), |place: usize| place + 1);
            base.insert(place, node);
            place
        };
        behind = Some(place);
        path.pop();
    }
    base
}

/// What an element of an array of tables is called.
pub(super) fn key(node: &Node) -> Option<String> {
    if let Some(name) = node.get("name").and_then(Node::text) {
        return Some(name.to_owned());
    }
    let metric = node.get("metric").and_then(Node::text)?;
    Some(super::gate::default_name(metric, node.get("window").and_then(Node::text)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn extended(files: &[(&str, &str)]) -> Result<serde_json::Value, Vec<String>> {
        let read_file = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        };
        read(files[0].0, &read_file)
            .map(|extended| extended.tree.to_value())
            .map_err(|problems| problems.into_iter().map(|problem| problem.title).collect())
    }

    #[test]
    fn tables_merge_by_key_and_arrays_of_tables_by_name() {
        let base = "a = { x = 1, y = 2 }\nsteps = [1, 2]\n[[phase]]\nname = 'one'\nhold = { for = '1s', measure = true }\n[[phase]]\nname = 'two'\nprobe = { probes = [] }";
        let plan = "extends = '../base.toml'\na = { y = 3 }\nsteps = [9]\n[[phase]]\nname = 'two'\nsql = { connection = 'c' }\n[[phase]]\nname = 'one'\nhold = { for = '5s' }\n[[phase]]\nname = 'three'";
        assert_eq!(
            extended(&[("plans/x/p.toml", plan), ("plans/base.toml", base)]).unwrap(),
            json!({
                "a": { "x": 1, "y": 3 }, "steps": [9], "extends": "../base.toml",
                "phase": [
                    { "name": "one", "hold": { "for": "5s", "measure": true } },
                    { "name": "three" },
                    { "name": "two", "sql": { "connection": "c" } },
                ],
            })
        );
    }

    #[test]
    fn the_paths_of_a_base_are_relative_to_the_base() {
        let base = "secrets_file = 'a.env'\ncommits = { app = '../app', abs = '/srv/x' }\n[connections.h.postgres]\nca_file = '{{ vars.ca }}'";
        let plan = "extends = '../base/base.toml'\ncommits = { own = 'x' }";
        assert_eq!(
            extended(&[("plans/p.toml", plan), ("base/base.toml", base)]).unwrap(),
            json!({
                "secrets_file": "../base/a.env", "extends": "../base/base.toml",
                "commits": { "app": "../app", "abs": "/srv/x", "own": "x" },
                "connections": { "h": { "postgres": { "ca_file": "{{ vars.ca }}" } } },
            })
        );
    }

    #[test]
    fn what_is_left_out_is_gone_before_the_merge() {
        let base = "a = { x = 1, y = { z = 2 } }\n[[phase]]\nname = 'one'\n[[phase]]\nname = 'two'\n[[gate]]\nmetric = 'm'\nbelow = 1";
        let plan = "extends = 'b'\nwithout = ['a/y/z', 'phase/one', 'gate/m', 'a/x']\na = { x = 3 }";
        assert_eq!(
            extended(&[("p", plan), ("b", base)]).unwrap(),
            json!({
                "a": { "x": 3, "y": {} }, "phase": [{ "name": "two" }], "gate": [],
                "extends": "b", "without": ["a/y/z", "phase/one", "gate/m", "a/x"],
            })
        );
        let further = extended(&[("q", "extends = 'p'\na = { w = 1 }"), ("p", plan), ("b", base)]).unwrap();
        assert_eq!((&further["a"]["y"], further.get("without")), (&json!({}), None));
    }

    #[test]
    fn gates_without_a_name_merge_by_metric_and_window() {
        let base = "[[gate]]\nmetric = 'm'\nwindow = 'soak'\nbelow = '1s'";
        let plan = "extends = 'b'\n[[gate]]\nmetric = 'm'\nwindow = 'soak'\nat_most = '2s'\n[[gate]]\nmetric = 'm'\nbelow = '3s'";
        assert_eq!(
            extended(&[("p", plan), ("b", base)]).unwrap()["gate"],
            json!([{ "metric": "m", "window": "soak", "at_most": "2s" }, { "metric": "m", "below": "3s" }])
        );
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let large = extended(&[("a", "extends = 'b'"), ("b", &"#".repeat(PLAN_BYTES + 1))]);
        assert_eq!(large, Err(vec!["`b` has 1048577 bytes; a plan has at most 1048576".to_owned()]));
        let texts: Vec<(String, String)> =
            (0..20).map(|n| (format!("p{n}"), format!("extends = 'p{}'", n + 1))).collect();
        let chain: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(extended(&chain), Err(vec!["more than 16 plans extend each other".to_owned()]));
        assert!(extended(&[("a", &format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000)))]).is_err());
    }

    #[test]
    fn loops_and_missing_files_are_refused() {
        let looped = extended(&[("d/a", "extends = 'b'"), ("d/b", "extends = './c/../a'")]);
        assert_eq!(looped, Err(vec!["plans that extend each other".to_owned()]));
        assert_eq!(extended(&[("a", "extends = 'b'")]), Err(vec!["cannot read `b`".to_owned()]));
    }
}
