//! Two plans that differ in one thing, and what is said of it.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Alteration, Change, Effect, PlanDiff, Side, Topic, diff};
use crate::plan::{
    checked::{CheckedGate, Part, StepEstimate, Window},
    gate::{Comparison, Miss, Unit},
};

fn plan() -> Value {
    json!({
        "format": 1, "name": "a", "question": "How far?",
        "vars": { "soak": "60s" },
        "target": { "processes": { "services": { "broker": { "command": ["b", "--queue", "1"], "ports": [21883] } } } },
        "ladder": { "variable": "points", "steps": ["1k", "5k"] },
        "phase": [
            { "name": "warm-up", "hold": { "for": "3s" } },
            { "name": "soak", "hold": { "for": "15m", "measure": true } }
        ],
        "gate": [{ "metric": "lag.p95_s", "below": "30s" }]
    })
}

fn gate(name: &str, comparison: Comparison, bound: f64) -> CheckedGate {
    CheckedGate {
        name: name.into(),
        metric: name.into(),
        window: Window { phase: None, part: Part::Whole },
        comparison,
        bound,
        bound_text: format!("{bound}s"),
        unit: Unit::Seconds,
        miss: Miss::Fail,
        cause: None,
        proof: false,
        requires: None,
        because: None,
    }
}

fn plans(before: &Value, after: &Value) -> PlanDiff {
    let side = |plan| Side { plan, gates: &[], estimates: &[] };
    diff(side(before), side(after))
}

fn gates(before: &[CheckedGate], after: &[CheckedGate]) -> Vec<Change> {
    let side = |gates| Side { plan: &Value::Null, gates, estimates: &[] };
    diff(side(before), side(after)).changes
}

/// The one change, as subject, part and texts.
fn only(diff: &PlanDiff) -> (&str, &str, &Alteration) {
    assert_eq!(diff.changes.len(), 1, "{:#?}", diff.changes);
    let change = &diff.changes[0];
    (&change.subject, &change.part, &change.alteration)
}

fn replaced(before: &str, after: &str) -> Alteration {
    Alteration::Replaced { before: before.into(), after: after.into() }
}

#[test]
fn a_changed_length_is_told_with_its_phase() {
    let mut after = plan();
    after["phase"][1]["hold"]["for"] = json!("5m");
    assert_eq!(only(&plans(&plan(), &after)), ("soak", "hold.for", &replaced("15m", "5m")));
}

#[test]
fn another_spelling_is_no_change() {
    let mut after = plan();
    after["vars"]["soak"] = json!("1m");
    after["phase"][1]["hold"]["for"] = json!("900s");
    after["ladder"]["steps"] = json!([1000, "5_000"]);
    after["ladder"]["continue_on_fail"] = json!(false);
    assert!(plans(&plan(), &after).is_empty(), "{:#?}", plans(&plan(), &after));
}

#[test]
fn a_text_that_looks_like_a_quantity_is_still_a_text() {
    let mut after = plan();
    after["target"]["processes"]["services"]["broker"]["command"] = json!(["b", "--queue", "1_0"]);
    let mut before = plan();
    before["target"]["processes"]["services"]["broker"]["command"] = json!(["b", "--queue", "10"]);
    assert_eq!(
        only(&plans(&before, &after)),
        ("service broker", "command", &replaced("b --queue 10", "b --queue 1_0"))
    );
}

#[test]
fn a_default_that_changes_is_told_against_the_default() {
    let mut after = plan();
    after["ladder"]["continue_on_fail"] = json!(true);
    assert_eq!(only(&plans(&plan(), &after)), ("ladder", "continue_on_fail", &replaced("false", "true")));
}

#[test]
fn steps_and_ports_are_told_by_element() {
    let mut after = plan();
    after["ladder"]["steps"] = json!(["1k", "10k"]);
    let elements = Alteration::Elements { added: vec!["10k".into()], removed: vec!["5k".into()] };
    assert_eq!(only(&plans(&plan(), &after)), ("ladder", "steps", &elements));
}

#[test]
fn a_new_phase_says_where_it_stands() {
    let rest = json!({ "name": "rest", "hold": { "for": "10s" } });
    let names: Vec<String> =
        plan()["phase"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap().to_owned()).collect();
    for at in 0..=names.len() {
        let mut after = plan();
        after["phase"].as_array_mut().unwrap().insert(at, rest.clone());
        let found = plans(&plan(), &after);
        let place = if at == 0 { ", first".to_owned() } else { format!(", after {}", names[at - 1]) };
        let (subject, _, alteration) = only(&found);
        assert_eq!(subject, "rest");
        assert!(matches!(alteration, Alteration::Added(text) if text.ends_with(&place)), "{alteration:?} at {at}");
    }
}

#[test]
fn a_new_fault_says_what_may_be_killed() {
    let mut after = plan();
    let fault = json!({ "name": "crash", "fault": { "service": "postgres", "kill": "SIGKILL", "down": "10s" } });
    after["phase"].as_array_mut().unwrap().push(fault);
    let found = plans(&plan(), &after);
    let kill = found.changes.iter().find(|change| change.topic == Topic::Faults).expect("a change of faults");
    assert_eq!(kill.subject, "kill");
    assert_eq!(kill.alteration, Alteration::Elements { added: vec!["postgres".into()], removed: vec![] });
    assert!(
        found
            .changes
            .iter()
            .any(|change| change.subject == "crash" && matches!(change.alteration, Alteration::Added(_)))
    );
}

#[test]
fn phases_are_matched_by_name_and_their_order_is_told() {
    let mut after = plan();
    after["phase"].as_array_mut().unwrap().swap(0, 1);
    assert_eq!(only(&plans(&plan(), &after)), ("phase", "order", &replaced("warm-up, soak", "soak, warm-up")));
}

#[test]
fn a_new_service_is_told_as_a_whole() {
    let mut after = plan();
    after["target"]["processes"]["services"]["store"] = json!({ "command": ["s"] });
    let found = plans(&plan(), &after);
    let (subject, part, alteration) = only(&found);
    assert_eq!((subject, part), ("service store", ""));
    assert!(matches!(alteration, Alteration::Added(text) if text.contains("command = [s]")), "{alteration:?}");
}

#[test]
fn a_section_that_comes_is_told_thing_by_thing() {
    let mut after = plan();
    after["secrets"] = json!({ "A": {}, "B": {} });
    let subjects: Vec<String> = plans(&plan(), &after).changes.into_iter().map(|change| change.subject).collect();
    assert_eq!(subjects, ["secret A", "secret B"]);
}

#[test]
fn bounds_move_loosely_or_tightly() {
    use Comparison::{Above, AtLeast, AtMost, Below, Equals};
    use Effect::{Changed, Loosened, Tightened};
    let table = [
        (Below, 30.0, Below, 60.0, Some(Loosened)),
        (Below, 60.0, Below, 30.0, Some(Tightened)),
        (AtLeast, 0.99, AtLeast, 0.9, Some(Loosened)),
        (AtLeast, 0.9, AtLeast, 0.99, Some(Tightened)),
        (AtMost, 5.0, Below, 5.0, Some(Tightened)),
        (Above, 5.0, AtLeast, 5.0, Some(Loosened)),
        (Equals, 0.0, AtMost, 0.0, Some(Loosened)),
        (Equals, 0.0, AtMost, 3.0, Some(Loosened)),
        (AtLeast, 0.0, Equals, 1.0, Some(Tightened)),
        (Equals, 0.0, Equals, 1.0, Some(Changed)),
        (Below, 5.0, Above, 5.0, Some(Changed)),
        (Below, 5.0, Below, 5.0, None),
    ];
    for (was, old, is, new, effect) in table {
        let changes = gates(&[gate("g", was, old)], &[gate("g", is, new)]);
        assert_eq!(changes.first().and_then(|change| change.effect), effect, "{was:?} {old} → {is:?} {new}");
    }
}

#[test]
fn gates_that_come_and_go_move_the_bar() {
    let g = gate("g", Comparison::Below, 1.0);
    assert_eq!(gates(&[], std::slice::from_ref(&g))[0].effect, Some(Effect::Tightened));
    assert_eq!(gates(&[g], &[])[0].effect, Some(Effect::Loosened));
}

#[test]
fn what_a_miss_means_moves_the_bar() {
    let fail = CheckedGate { proof: true, ..gate("g", Comparison::Below, 1.0) };
    let caveat = CheckedGate { miss: Miss::Caveat, proof: false, ..fail.clone() };
    let changes = gates(std::slice::from_ref(&fail), std::slice::from_ref(&caveat));
    let parts: Vec<&str> = changes.iter().map(|change| change.part.as_str()).collect();
    assert_eq!(parts, ["miss", "proof"]);
    assert!(changes.iter().all(|change| change.effect == Some(Effect::Loosened)));
    let back = gates(&[caveat], &[fail]);
    assert!(back.iter().all(|change| change.effect == Some(Effect::Tightened)));
}

#[test]
fn another_window_is_changed_and_a_condition_is_tighter() {
    let old = gate("g", Comparison::Below, 1.0);
    let window = Window { phase: Some("soak".into()), part: Part::LastHalf };
    let new = CheckedGate { window, requires: Some("rest".into()), ..old.clone() };
    let changes = gates(&[old], &[new]);
    assert_eq!(changes[0].alteration, replaced("all measured phases", "soak/last_half"));
    assert_eq!(
        changes.iter().map(|change| change.effect).collect::<Vec<_>>(),
        [Some(Effect::Changed), Some(Effect::Tightened)]
    );
}

#[test]
fn a_renamed_gate_is_not_a_lost_one() {
    let old = gate("g", Comparison::Below, 1.0);
    let new = CheckedGate { name: "backlog".into(), ..old.clone() };
    let changes = gates(&[old], &[new]);
    assert_eq!((changes.len(), changes[0].part.as_str()), (1, "name"));
}

#[test]
fn costs_are_summed_over_the_steps() {
    let step = |rows| StepEstimate { rows, seconds: 10.0, disk_bytes: Some(rows * 100), ..StepEstimate::default() };
    let side = |estimates| Side { plan: &Value::Null, gates: &[], estimates };
    let found = diff(side(&[step(1), step(2)]), side(&[step(5)]));
    assert_eq!((found.cost.0.rows, found.cost.0.disk_bytes, found.cost.1.rows), (3, Some(200), 5));
    assert!(found.is_empty());
}

/// Any tree that a plan could be, roughly.
fn trees() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c0-9 ms]{0,6}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("(name|vars|phase|gate|[a-c])", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// A tree without what is compared elsewhere.
fn told(tree: &Value) -> Value {
    let mut tree = tree.clone();
    if let Some(table) = tree.as_object_mut() {
        table.shift_remove("gate");
    }
    tree
}

proptest! {
    #[test]
    fn a_plan_and_itself_do_not_differ(tree in trees(), bound in -1e6..1e6_f64) {
        let gates = [gate("g", Comparison::Below, bound)];
        let side = Side { plan: &tree, gates: &gates, estimates: &[] };
        prop_assert!(diff(side, side).is_empty());
    }

    #[test]
    fn two_trees_that_differ_have_a_change(a in trees(), b in trees()) {
        prop_assume!(told(&a) != told(&b) && a.get("vars").is_none());
        prop_assert!(!plans(&a, &b).is_empty());
    }

    #[test]
    fn a_bar_that_is_loosened_one_way_is_tightened_the_other(a in 0.0..9.0_f64, b in 0.0..9.0_f64) {
        prop_assume!((a - b).abs() > f64::EPSILON);
        let (old, new) = (gate("g", Comparison::AtMost, a), gate("g", Comparison::AtMost, b));
        let there = gates(std::slice::from_ref(&old), std::slice::from_ref(&new))[0].effect;
        let back = gates(&[new], &[old])[0].effect;
        prop_assert!(there != back && there.is_some() && back.is_some());
    }
}
