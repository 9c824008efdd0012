//! Whatever the config: one that is accepted touches no refused name, port or path. The oracle knows nothing of the guard's
//! structure; it walks the whole tree and looks at every key by its name alone.

use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Map, Value, json};

use super::{Facts, check, paths};
use crate::plan::isolation::Isolation;

const LIVE_PORTS: [u16; 3] = [1883, 8080, 5433];
const CHECKOUT: &str = "/data/baler-scale";

/// For each key of a service, values that are fine and values that are not.
fn service_parts() -> Vec<(&'static str, Vec<Value>)> {
    let bind = |source: &str, read_only: bool| json!([{ "type": "bind", "source": source, "target": "/t", "read_only": read_only }]);
    let port = |address: Value, published: Value| json!([{ "target": 1, "host_ip": address, "published": published }]);
    vec![
        (
            "network_mode",
            vec![json!("none"), json!("host"), json!("container:db"), json!("bridge"), json!("service:a")],
        ),
        ("pid", vec![json!("service:a"), json!("host"), json!("container:db")]),
        ("ipc", vec![json!("private"), json!("host")]),
        ("privileged", vec![json!(false), json!(true)]),
        ("cap_add", vec![json!([]), json!(["SYS_ADMIN"])]),
        ("devices", vec![json!([]), json!([{ "source": "/dev/sda", "target": "/dev/sda" }])]),
        ("container_name", vec![json!("baler-db")]),
        ("volumes_from", vec![json!(["a"]), json!(["container:db"])]),
        (
            "ports",
            vec![
                port(json!("127.0.0.1"), json!("21883")),
                port(json!("::1"), json!(28080)),
                port(json!("127.0.0.1"), json!("1000-2000")),
                port(json!("127.0.0.1"), json!("8080")),
                port(json!("0.0.0.0"), json!("21883")),
                port(Value::Null, json!("21883")),
                port(json!("127.0.0.1"), Value::Null),
            ],
        ),
        (
            "volumes",
            vec![
                json!([{ "type": "volume", "source": "data", "target": "/t" }]),
                json!([{ "type": "volume", "target": "/t" }]),
                bind("/data/baler-scale/sub", false),
                bind("/etc", true),
                bind("/srv/live", false),
                bind("/var/run/docker.sock", true),
                bind("/data/baler-scale", false),
                bind("/data/baler-scale/../baler-deploy", false),
            ],
        ),
    ]
}

/// A table with a random choice for each of some keys.
fn table(parts: Vec<(&'static str, Vec<Value>)>, likely: f64) -> impl Strategy<Value = Map<String, Value>> {
    let choices: Vec<_> = parts
        .into_iter()
        .map(|(key, values)| {
            // The first value is fine and the likeliest, so that configs are accepted often enough.
            let any = prop_oneof![3 => Just(values[0].clone()), 1 => proptest::sample::select(values)];
            proptest::option::weighted(likely, any).prop_map(move |value| value.map(|value| (key.to_owned(), value)))
        })
        .collect();
    choices.prop_map(|entries| entries.into_iter().flatten().collect())
}

fn config() -> impl Strategy<Value = Value> {
    let service = table(service_parts(), 0.3);
    let volume = table(
        vec![
            ("name", vec![json!("scale_data"), json!("baler_data")]),
            ("external", vec![json!(false), json!(true)]),
            ("driver_opts", vec![json!({ "type": "tmpfs" }), json!({ "o": "bind", "device": "/srv/live" })]),
        ],
        0.4,
    );
    let network = table(
        vec![
            ("name", vec![json!("scale_back"), json!("baler_default")]),
            ("external", vec![json!(false), json!(true)]),
            ("driver", vec![json!("bridge"), json!("macvlan")]),
        ],
        0.4,
    );
    (proptest::collection::vec(service, 1..3), volume, network).prop_map(|(services, mut volume, mut network)| {
        volume.entry("name").or_insert(json!("scale_data"));
        network.entry("name").or_insert(json!("scale_default"));
        let services: Map<String, Value> = ["a", "b"]
            .into_iter()
            .zip(services)
            .map(|(name, mut service)| {
                service.extend([("cpus".to_owned(), json!(1)), ("mem_limit".to_owned(), json!("67108864"))]);
                (name.to_owned(), Value::Object(service))
            })
            .collect();
        json!({ "name": "scale", "services": services, "volumes": { "data": volume }, "networks": { "default": network } })
    })
}

/// Everything in the tree that touches what is not ours.
fn touched(key: &str, value: &Value, found: &mut Vec<String>) {
    let mut say = |what: String| found.push(format!("{key}: {what}"));
    match value {
        Value::String(text) if text == "host" || text.starts_with("container:") || text.contains("docker.sock") => {
            say(text.clone());
        }
        Value::String(text) if key == "network_mode" && text == "bridge" => say(text.clone()),
        Value::String(text) if key == "container_name" || (key == "driver" && text != "bridge") => say(text.clone()),
        Value::String(text) if key == "name" && text != "scale" && !text.starts_with("scale_") => say(text.clone()),
        Value::Bool(true) if matches!(key, "privileged" | "external") => say("true".to_owned()),
        Value::Array(items) if matches!(key, "cap_add" | "devices") && !items.is_empty() => say(value.to_string()),
        Value::Object(table) if table.contains_key("published") => port(table, &mut say),
        Value::Object(table) if table.get("type") == Some(&json!("bind")) && table["read_only"] == json!(false) => {
            let source = real(table["source"].as_str().unwrap_or_default());
            if !source.starts_with(&format!("{CHECKOUT}/")) || source.contains("..") {
                say(source);
            }
        }
        Value::Object(table) if table.get("type") == Some(&json!("volume")) && !table.contains_key("source") => {
            say("no name".to_owned());
        }
        Value::Object(table) if table.contains_key("device") => say(value.to_string()),
        _ => {}
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| touched(key, item, found)),
        Value::Object(table) => table.iter().for_each(|(key, value)| touched(key, value, found)),
        _ => {}
    }
}

fn port(table: &Map<String, Value>, say: &mut dyn FnMut(String)) {
    let address = table["host_ip"].as_str().unwrap_or("every address");
    if !(address == "127.0.0.1" || address == "::1") {
        say(address.to_owned());
    }
    let published = table["published"].to_string().replace('"', "");
    let ends: Vec<u16> = published.split('-').filter_map(|end| end.parse().ok()).collect();
    match (ends.first(), ends.last()) {
        (Some(first), Some(last)) if !LIVE_PORTS.iter().any(|live| first <= live && live <= last) => {}
        _ => say(published),
    }
}

/// What the paths of this test are.
fn real(path: &str) -> String {
    path.replace("/var/run", "/run").replace("/baler-scale/..", "")
}

#[test]
fn no_accepted_config_touches_what_is_not_ours() {
    let isolation = Isolation { ports_refused: LIVE_PORTS.to_vec(), ..Isolation::default() };
    let (accepted, refused) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let mut runner = TestRunner::new(ProptestConfig { cases: 2_000, ..ProptestConfig::default() });
    let outcome = runner.run(&config(), |config| {
        let facts = Facts {
            project: "scale".to_owned(),
            checkout: CHECKOUT.to_owned(),
            live_env_files: vec![format!("{CHECKOUT}/.env")],
            real: paths(&config).into_iter().map(|path| (path.clone(), real(&path))).collect(),
            sockets: vec!["/run/docker.sock".to_owned()],
            ..Facts::default()
        };
        let mut found = Vec::new();
        touched("config", &config, &mut found);
        let count = if check(&config, &isolation, &facts).is_ok() { &accepted } else { &refused };
        count.set(count.get() + 1);
        prop_assert_eq!(check(&config, &isolation, &facts).is_ok(), found.is_empty(), "touched: {:?}", found);
        Ok(())
    });
    outcome.expect("no accepted config touches anything, and no other is refused");
    assert!(accepted.get() > 100 && refused.get() > 100, "{} accepted, {} refused", accepted.get(), refused.get());
}
