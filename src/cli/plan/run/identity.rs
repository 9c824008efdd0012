//! The plan as a run records it.

use indexmap::IndexMap;

use crate::{plan::checked::Checked, record::entry::PlanIdentity};

/// The identity of a checked plan that was given as `path`.
pub(super) fn of(path: &str, checked: &Checked) -> PlanIdentity {
    let header = &checked.header;
    let named = |pairs: Vec<(&String, &String)>| -> IndexMap<String, String> {
        pairs.into_iter().map(|(name, words)| (name.clone(), words.clone())).collect()
    };
    PlanIdentity {
        name: header.name.clone(),
        question: header.question.clone(),
        path: path.to_owned(),
        text: header.text.clone(),
        bases: checked.bases.clone(),
        sha256: header.sha256.clone(),
        gates_sha256: header.gates_sha256.clone(),
        vars: header.vars.clone(),
        steps: header.steps.clone(),
        step_name: header.ladder.as_ref().map(|ladder| ladder.variable.clone()),
        not_covered: named(header.not_covered.iter().map(|left| (&left.name, &left.reason)).collect()),
        not_proven: named(header.not_proven.iter().map(|open| (&open.name, &open.statement)).collect()),
        known_as: header.known_as.clone(),
    }
}
