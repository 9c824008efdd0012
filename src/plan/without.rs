//! `without`: what a plan leaves out of the plan that it extends.
//!
//! Each entry is the way to a part of the base: keys, and names of elements of arrays of tables, joined by `/`. An entry that leads nowhere is
//! an error: what is gone already must not look as if it were left out.

use super::{
    extend::key,
    nearest::{offer, quoted_as_at},
    tree::{Data, Node},
};
use crate::problem::Problem;

/// Takes what a plan names in `without` out of its base.
pub(super) fn leave_out(base: &mut Node, plan: &Node) -> Vec<Problem> {
    let Some(without) = plan.get("without") else { return Vec::new() };
    let Data::List(entries) = &without.data else { return vec![unfit(without)] };
    entries.iter().filter_map(|entry| leave_out_one(base, entry)).collect()
}

fn leave_out_one(base: &mut Node, entry: &Node) -> Option<Problem> {
    let Some(way) = entry.text() else { return Some(unfit(entry)) };
    let known = take(base, way).err()?;
    let problem = Problem::error(format!("the plan that is extended has no `{way}`"));
    let problem = problem.at(Some(entry.place.clone()), "there is nothing to leave out");
    Some(offer(problem, way, known.iter().map(String::as_str), |name| quoted_as_at(Some(&entry.place), name)))
}

/// A `without` in a plan that extends no other.
pub(super) fn of_nothing(plan: &Node) -> Option<Problem> {
    let without = plan.get("without")?;
    let problem =
        Problem::error("`without` leaves nothing out").at(Some(without.place.clone()), "this plan extends no other");
    Some(problem.help("take it away, or add `extends`"))
}

fn unfit(node: &Node) -> Problem {
    Problem::error("wrong type for `without`")
        .at(Some(node.place.clone()), "expected a list of texts such as \"watches/lag\"")
}

/// Takes one part out; the ways that there are where it went astray.
fn take(node: &mut Node, way: &str) -> Result<(), Vec<String>> {
    let (first, rest) = way.split_once('/').map_or((way, None), |(first, rest)| (first, Some(rest)));
    let known = names(node);
    let inner = match (&mut node.data, rest) {
        (Data::Table(fields), None) => return fields.shift_remove(first).map(drop).ok_or(known),
        (Data::Table(fields), Some(_)) => fields.get_mut(first).map(|field| &mut field.node),
        (Data::List(elements), rest) => {
            let Some(place) = elements.iter().position(|element| key(element).as_deref() == Some(first)) else {
                return Err(known);
            };
            if rest.is_none() {
                elements.remove(place);
                return Ok(());
            }
            elements.get_mut(place)
        }
        (Data::Leaf(_), _) => None,
    };
    let (Some(inner), Some(rest)) = (inner, rest) else { return Err(known) };
    take(inner, rest).map_err(|known| known.into_iter().map(|name| format!("{first}/{name}")).collect())
}

/// What can be named in a node.
fn names(node: &Node) -> Vec<String> {
    match &node.data {
        Data::Table(fields) => fields.keys().cloned().collect(),
        Data::List(elements) => elements.iter().filter_map(key).collect(),
        Data::Leaf(_) => Vec::new(),
    }
}
