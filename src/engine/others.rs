//! Everything on the engine that is not ours, as facts that must be the same afterwards: containers with their starts and
//! restarts, networks, volumes, and the images that these containers use.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write as _,
};

use bollard::query_parameters::{ListImagesOptionsBuilder, ListNetworksOptions, ListVolumesOptions};
use sha2::{Digest, Sha256};

use super::{Container, Engine, PROJECT_LABEL};

/// What is not ours: thing to facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Others(BTreeMap<String, String>);

impl Others {
    /// How many things there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// SHA-256 over all things and facts, hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        for (thing, facts) in &self.0 {
            hash.update(format!("{thing}\0{facts}\n"));
        }
        let mut hex = String::new();
        for byte in hash.finalize() {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }

    /// What is not as it was: the thing, and how it differs.
    #[must_use]
    pub fn changes(&self, after: &Self) -> Vec<(String, String)> {
        let gone = self.0.iter().filter(|(thing, _)| !after.0.contains_key(*thing));
        let gone = gone.map(|(thing, facts)| (thing.clone(), format!("is gone (was: {facts})")));
        let new = after.0.iter().filter(|(thing, _)| !self.0.contains_key(*thing));
        let new = new.map(|(thing, facts)| (thing.clone(), format!("is new ({facts})")));
        let both = self.0.iter().filter_map(|(thing, facts)| Some((thing, facts, after.0.get(thing)?)));
        let changed = both.filter(|(_, before, after)| before != after);
        let changed = changed.map(|(thing, before, after)| (thing.clone(), format!("was {before}, is {after}")));
        gone.chain(new).chain(changed).collect()
    }

    fn add(&mut self, thing: String, facts: String) {
        self.0.insert(thing, facts);
    }
}

impl Engine {
    /// Looks at everything that does not belong to a project.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub fn others(&self, project: &str) -> Result<Others, String> {
        let mut others = Others::default();
        let (ours, theirs): (Vec<Container>, Vec<Container>) =
            self.containers(None)?.into_iter().partition(|container| container.project == project);
        let images = self.image_names()?;
        for container in &theirs {
            let Container { id, status, started_at, restarts, image, .. } = container;
            let facts = format!("{id}, {status}, started {started_at}, {restarts} restarts, image {image}");
            others.add(format!("container {}", container.name), facts);
            let names = images.get(image).map_or_else(|| "no name".to_owned(), |names| names.join(" "));
            others.add(format!("image {image}"), names);
        }
        let is_ours =
            |labels: &HashMap<String, String>| labels.get(PROJECT_LABEL).is_some_and(|label| label == project);
        for network in self.wait(self.docker.list_networks(None::<ListNetworksOptions>))? {
            if !is_ours(&network.labels.unwrap_or_default()) {
                others.add(format!("network {}", network.name.unwrap_or_default()), network.id.unwrap_or_default());
            }
        }
        let used_by_us: HashSet<&String> = ours.iter().flat_map(|container| &container.volumes).collect();
        for volume in self.wait(self.docker.list_volumes(None::<ListVolumesOptions>))?.volumes.unwrap_or_default() {
            if !is_ours(&volume.labels) && !used_by_us.contains(&volume.name) {
                // Its time of creation is none: the engine gives the last change of the folder, which its owner makes by using it.
                others.add(format!("volume {}", volume.name), format!("{} {}", volume.driver, volume.mountpoint));
            }
        }
        Ok(others)
    }

    /// Images with their names.
    fn image_names(&self) -> Result<HashMap<String, Vec<String>>, String> {
        let images = self.wait(self.docker.list_images(Some(ListImagesOptionsBuilder::new().all(false).build())))?;
        let named = images.into_iter().map(|image| {
            let mut names = image.repo_tags;
            names.sort();
            (image.id, names)
        });
        Ok(named.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(things: &[(&str, &str)]) -> Others {
        Others(things.iter().map(|(thing, facts)| ((*thing).to_owned(), (*facts).to_owned())).collect())
    }

    #[test]
    fn every_difference_is_named_and_changes_the_hash() {
        let before = others(&[("container db", "started 1"), ("volume a", "x"), ("network n", "1")]);
        assert_eq!(before.changes(&before.clone()), []);
        let after = others(&[("container db", "started 2"), ("volume b", "x"), ("network n", "1")]);
        let said: Vec<String> =
            before.changes(&after).into_iter().map(|(thing, how)| format!("{thing} {how}")).collect();
        assert_eq!(
            said,
            ["volume a is gone (was: x)", "volume b is new (x)", "container db was started 1, is started 2"]
        );
        assert_ne!(before.sha256(), after.sha256());
        assert_eq!(before.sha256().len(), 64);
    }
}
