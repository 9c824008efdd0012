//! Whether containers that are there already can be measured as they are. Whoever killed scaler in the middle of an outage left one that is
//! frozen, or cut off a network; its health check may be content all the same, and what is measured on it is the outage.

use serde_json::Value;

use crate::engine::Container;

/// What an outage left on these containers, one sentence each; `config` is the project's effective one.
pub(super) fn left_by_an_outage(containers: &[Container], config: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for container in containers {
        let name = &container.name;
        if container.status == "paused" {
            found.push(format!("{name} is paused"));
        }
        let wanted = networks_of(config, &container.service);
        let missing = wanted.iter().filter(|network| !container.networks.iter().any(|(there, _)| there == *network));
        found.extend(missing.map(|network| format!("{name} is cut off the network {network}")));
    }
    found
}

/// The names of a service's networks.
fn networks_of<'a>(config: &'a Value, service: &str) -> Vec<&'a str> {
    let keys = config["services"][service]["networks"].as_object().into_iter().flat_map(serde_json::Map::keys);
    keys.filter_map(|key| config["networks"][key]["name"].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_frozen_container_and_one_off_its_network_are_told() {
        let config = json!({
            "services": { "web": { "networks": { "default": null, "back": null } }, "host": { "network_mode": "host" } },
            "networks": { "default": { "name": "scale_default" }, "back": { "name": "scale_back" } }
        });
        let web = |status: &str, networks: &[&str]| Container {
            name: "scale-web-1".to_owned(),
            service: "web".to_owned(),
            status: status.to_owned(),
            networks: networks.iter().map(|name| ((*name).to_owned(), Vec::new())).collect(),
            ..Container::default()
        };
        let left = |container: Container| left_by_an_outage(&[container], &config);
        let none = Vec::<String>::new();
        assert_eq!(left(web("running", &["scale_back", "scale_default"])), none);
        assert_eq!(left(web("exited", &["scale_back", "scale_default"])), none, "Compose starts it again");
        assert_eq!(left(web("running", &["scale_back"])), ["scale-web-1 is cut off the network scale_default"]);
        assert_eq!(left(web("paused", &["scale_back", "scale_default"])), ["scale-web-1 is paused"]);
        assert_eq!(left(Container { service: "host".to_owned(), ..Container::default() }), none);
    }
}
