//! What is in force for a target, as the engine has it, and the comparison of its neighbours: fields of the journal.

use scaler::{record::entry::Entry, run::world::Call};

use super::bench::{docker, shared, waiting};

#[test]
fn caps_images_and_neighbours_are_fields() {
    let _turn = shared();
    let (mut bench, project) = waiting("force");
    bench.done(Call::CompareOthers);
    let in_force = bench.entries.iter().find_map(|entry| match entry {
        Entry::Target(target) => Some(target.clone()),
        _ => None,
    });
    let in_force = in_force.expect("the start tells what is in force");
    let web = &in_force.services["web"];
    assert_eq!((in_force.project.as_str(), in_force.started_here), (project.as_str(), true));
    assert_eq!((web.cpus, web.memory_bytes, web.cpus_clamped_from), (Some(0.25), Some(32 << 20), None));
    assert_eq!(web.image, docker(&["inspect", "--format", "{{.Image}}", &web.container]));
    assert_eq!(in_force.engine, docker(&["version", "--format", "{{.Server.Version}}"]));
    let compared = bench.entries.iter().find_map(|entry| match entry {
        Entry::Neighbours(compared) => Some(compared.clone()),
        _ => None,
    });
    let compared = compared.expect("the comparison is told");
    // Other tests run at the same time, so others may change; the hashes say so exactly when something did.
    assert_eq!(compared.sha256_before == compared.sha256_after, compared.changed.is_empty(), "{compared:?}");
    assert!(compared.things > 0 && compared.sha256_before.len() == 64);
}
