//! The fleet and its messages: enough points, and only names that the thing a message is sent for has.

use super::Scene;
use crate::{
    plan::{
        fleet::Each,
        load::Load,
        nearest::list,
        template::{self, Piece},
        tree::join,
    },
    problem::Problem,
};

pub(super) fn check(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let Some(fleet) = &scene.cell.fleet else {
        let publishing = scene.cell.loads.iter().find(|(_, load)| matches!(load, Load::MqttPublish(_)));
        let user = publishing.map(|(name, _)| join("/loads", name));
        let user = user.or_else(|| scene.cell.messages.keys().next().map(|name| join("/messages", name)));
        if let Some(pointer) = user {
            let problem =
                Problem::error("there is no `[fleet]`").at(scene.key(&pointer), "its points are those of the fleet");
            problems.push(problem.help("say how many points there are: [fleet] points = \"10k\""));
        }
        return;
    };
    if fleet.points.0 == 0 {
        problems
            .push(Problem::error("a fleet without points").at(scene.place("/fleet/points"), "at least one is needed"));
    }
    for (index, label) in
        fleet.labels.iter().enumerate().filter(|(index, label)| fleet.labels[..*index].contains(label))
    {
        let place = scene.place(&format!("/fleet/labels/{index}"));
        problems.push(
            Problem::error(format!("two labels `{label}`")).at(place, "two points of an equip would share a topic"),
        );
    }
    messages(scene, problems);
    topics_differ(scene, problems);
}

fn messages(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    for (name, message) in &scene.cell.messages {
        let (unknown, noun): (&[&str], &str) = match message.each {
            Each::Fleet => (&["site", "equip", "label", "labels", "point"], "the whole fleet"),
            Each::Site => (&["equip", "label", "labels", "point"], "a site"),
            Each::Equip => (&["label", "point"], "an equip"),
            Each::Point => (&[], "a point"),
        };
        let at = join("/messages", name);
        let payload = message.payload.to_string();
        for (field, text) in [("topic", message.topic.as_str()), ("payload", payload.as_str())] {
            let used = names(text).into_iter().find(|name| unknown.contains(&name.as_str()));
            if let Some(used) = used {
                let title = format!("`{used}` is not known in a message for {noun}");
                let problem = Problem::error(title).at(scene.place(&format!("{at}/{field}")), format!("uses `{used}`"));
                problems.push(problem.help(format!("not known here: {}", list(unknown.iter().copied()))));
            }
        }
    }
}

/// Points that share a topic cannot be told apart in the store.
fn topics_differ(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let Some(fleet) = &scene.cell.fleet else { return };
    for (name, load) in &scene.cell.loads {
        let Load::MqttPublish(publish) = load else { continue };
        let used = names(&publish.topic);
        let has = |name: &str| used.iter().any(|used| used == name);
        let several_per_equip = fleet.points.0 > 1 && fleet.points_per_equip > 1;
        let several_equips = fleet.points.0 > u64::from(fleet.points_per_equip);
        if !has("point") && ((several_per_equip && !has("label")) || (several_equips && !has("equip"))) {
            let place = scene.place(&format!("{}/mqtt_publish/topic", join("/loads", name)));
            let problem = Problem::error("points of the fleet share this topic")
                .at(place, "their readings could not be told apart");
            problems.push(problem.help("use `{{ equip }}` and `{{ label }}`, or `{{ point }}`"));
        }
    }
}

/// The names that the placeholders of a text use.
fn names(text: &str) -> Vec<String> {
    let pieces = template::pieces(text).unwrap_or_default();
    let expressions = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Placeholder { expression, .. } => template::names_of_expression(expression).ok(),
        Piece::Literal(_) => None,
    });
    expressions.flatten().collect()
}
