//! What a project owns on the engine: everything that Compose marked as its own.

use std::collections::{BTreeSet, HashMap};

use bollard::query_parameters::{
    ListImagesOptionsBuilder, ListNetworksOptionsBuilder, ListVolumesOptionsBuilder, RemoveImageOptions,
};

use super::{Engine, PROJECT_LABEL};

/// The names of what a project owns, each with its kind: `container scale-web-1`, `volume scale_data`, ….
pub type Owned = BTreeSet<String>;

impl Engine {
    /// Everything that a project owns; images only when it built them.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub fn owned(&self, project: &str) -> Result<Owned, String> {
        let filters = HashMap::from([("label", vec![format!("{PROJECT_LABEL}={project}")])]);
        let containers =
            self.containers(Some(project))?.into_iter().map(|container| format!("container {}", container.name));
        let mut owned: Owned = containers.collect();
        let options = ListNetworksOptionsBuilder::new().filters(&filters).build();
        let networks = self.wait(self.docker.list_networks(Some(options)))?;
        owned.extend(networks.into_iter().filter_map(|network| network.name).map(|name| format!("network {name}")));
        let options = ListVolumesOptionsBuilder::new().filters(&filters).build();
        let volumes = self.wait(self.docker.list_volumes(Some(options)))?.volumes.unwrap_or_default();
        owned.extend(volumes.into_iter().map(|volume| format!("volume {}", volume.name)));
        let options = ListImagesOptionsBuilder::new().filters(&filters).build();
        let images = self.wait(self.docker.list_images(Some(options)))?;
        owned.extend(images.into_iter().flat_map(|image| image.repo_tags).map(|name| format!("image {name}")));
        Ok(owned)
    }

    /// Removes the images that a project built.
    ///
    /// # Errors
    /// When one is still in use.
    pub fn remove_images(&self, project: &str) -> Result<(), String> {
        for owned in self.owned(project)? {
            if let Some(image) = owned.strip_prefix("image ") {
                self.wait(self.docker.remove_image(image, None::<RemoveImageOptions>, None))?;
            }
        }
        Ok(())
    }
}
