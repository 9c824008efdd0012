//! What derived figures are made of exists and gives the series that they need; names of metrics name metrics.

use indexmap::IndexMap;

use super::Scene;
use crate::{
    plan::{
        derived::DURABILITY_SETTINGS,
        nearest::{list, offer, quoted_as_at},
        phase::Phase,
        subject::{Subject, resolve_metric},
        tree::join,
    },
    problem::Problem,
};

pub(super) fn check(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let subjects = scene.subjects;
    if let Some(durability) = &scene.cell.durability {
        for (key, watch) in [("server", &durability.server), ("ingest", &durability.ingest)] {
            problems.extend(settings(scene, &format!("/durability/{key}"), watch));
        }
        if durability.server == durability.ingest {
            let problem = Problem::error("one watch for both ends of durability");
            let label = "a connection of the ingest path may have other settings than the server";
            problems.push(problem.at(scene.place("/durability/ingest"), label));
        }
    }
    if let Some(growth) = &scene.cell.growth {
        let phases = scene.cell_phases().filter(|at| matches!(at.phase, Phase::Reconcile(_))).map(|at| at.name);
        let custody = Known { noun: "`reconcile` phase", names: phases.map(str::to_owned).collect() };
        problems.extend(custody.lacks(scene, "/growth/custody", &growth.custody));
        let series = Known { noun: "series of a watch", names: all_series(subjects) };
        problems.extend(series.lacks(scene, "/growth/bytes_per_row", &growth.bytes_per_row));
        let total = growth.total_bytes.as_ref();
        problems.extend(total.and_then(|total| series.lacks(scene, "/growth/total_bytes", total)));
    }
    for metric in scene.plan.known_as.keys() {
        if let Err(error) = resolve_metric(subjects, metric) {
            let place = scene.key(&join("/known_as", metric));
            let problem = Problem::error(format!("unknown metric `{metric}`")).at(place.clone(), error.reason);
            let known = error.known.iter().map(String::as_str);
            problems.push(offer(problem, metric, known, |name| quoted_as_at(place.as_ref(), name)));
        }
    }
}

/// A watch that does not exist, or lacks one of the settings.
fn settings(scene: &Scene<'_>, pointer: &str, watch: &str) -> Option<Problem> {
    let subjects = scene.subjects;
    let with_series = |(_, subject): &(&String, &Subject)| !subject.series.is_empty();
    let watches = Known {
        noun: "watch with series",
        names: subjects.iter().filter(with_series).map(|(name, _)| name.clone()).collect(),
    };
    if let Some(unknown) = watches.lacks(scene, pointer, watch) {
        return Some(unknown);
    }
    let series = &subjects.get(watch)?.series;
    let missing: Vec<&str> = DURABILITY_SETTINGS.into_iter().filter(|setting| !series.contains_key(*setting)).collect();
    if missing.is_empty() {
        return None;
    }
    let label = format!("it has no series {}", list(missing));
    Some(Problem::error(format!("`{watch}` does not read all settings")).at(scene.place(pointer), label))
}

fn all_series(subjects: &IndexMap<String, Subject>) -> Vec<String> {
    let of = |(name, subject): (&String, &Subject)| -> Vec<String> {
        subject.series.keys().map(|series| format!("{name}.{series}")).collect()
    };
    subjects.iter().flat_map(of).collect()
}

/// Names that may stand at a place.
struct Known {
    noun: &'static str,
    names: Vec<String>,
}

impl Known {
    fn lacks(&self, scene: &Scene<'_>, pointer: &str, name: &str) -> Option<Problem> {
        if self.names.iter().any(|known| known == name) {
            return None;
        }
        let place = scene.place(pointer);
        let problem = Problem::error(format!("unknown {} `{name}`", self.noun)).at(place.clone(), "there is none");
        let known = self.names.iter().map(String::as_str);
        Some(offer(problem, name, known, |name| quoted_as_at(place.as_ref(), name)))
    }
}
