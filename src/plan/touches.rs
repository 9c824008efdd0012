//! Everything outside of itself that a run of the plan would touch: commands, files, ends, ports, and what it takes down.
//!
//! The matches are exhaustive on purpose: a new kind does not compile until it says here what it touches.

use super::{
    checked::{CellPlan, Header},
    connection::Connection,
    load::Load,
    phase::Phase,
    probe::Probe,
    target::{Service, Target},
    watch::Watch,
};

/// One thing that is touched, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// What kind of thing.
    pub kind: TouchKind,
    /// The part of the plan that touches it, such as `service broker`.
    pub by: String,
    /// The command, path, end, port or process.
    pub what: String,
}

/// The kinds of things, in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TouchKind {
    /// A command that is run.
    Command,
    /// A command that is run inside a container of the target.
    Inside,
    /// A file or folder that is read or written.
    Path,
    /// A host and port, or a URL, that is talked to.
    End,
    /// A loopback port that the target listens on.
    Port,
    /// A process that is taken down.
    TakenDown,
}

impl TouchKind {
    /// The heading in reports.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Self::Command => "commands that are run",
            Self::Inside => "commands that are run inside containers of the target",
            Self::Path => "files and folders",
            Self::End => "hosts and ports that are talked to",
            Self::Port => "ports that the target listens on",
            Self::TakenDown => "processes that are taken down",
        }
    }
}

/// Everything that a run touches, by kind.
#[must_use]
pub fn touches(header: &Header, cell: &CellPlan) -> Vec<Touch> {
    let mut found = List(Vec::new());
    found.header(header);
    found.target(&cell.target);
    for (name, connection) in &cell.connections {
        found.connection(&format!("connection {name}"), connection);
    }
    for (name, load) in &cell.loads {
        match load {
            Load::MqttPublish(_) => {}
            Load::Exec(exec) => found.command(&format!("load {name}"), &exec.command),
        }
    }
    for (name, watch) in &cell.watches {
        found.watch(&format!("watch {name}"), &watch.watch);
    }
    for (name, probe) in &cell.probes {
        match &probe.probe {
            Probe::Http(_) | Probe::Sql(_) => {}
            Probe::Exec(exec) => found.command(&format!("probe {name}"), &exec.command),
        }
    }
    for named in cell.setup.iter().chain(&cell.phases).chain(&cell.teardown) {
        found.phase(&format!("phase {}", named.name), &named.phase);
    }
    if let Some(url) = cell.live_safety.as_ref().and_then(|live| live.url.as_ref()) {
        found.add(TouchKind::End, "live_safety", url);
    }
    let mut touches = found.0;
    touches.sort_by_key(|touch| touch.kind);
    touches
}

/// A command as it is shown; one that has lines of its own must not break those of the list.
fn in_one_line(command: &[String]) -> String {
    command.join(" ").trim().replace('\n', "\\n")
}

struct List(Vec<Touch>);

impl List {
    fn add(&mut self, kind: TouchKind, by: &str, what: impl Into<String>) {
        self.0.push(Touch { kind, by: by.to_owned(), what: what.into() });
    }

    fn command(&mut self, by: &str, command: &[String]) {
        self.add(TouchKind::Command, by, in_one_line(command));
    }

    fn header(&mut self, header: &Header) {
        if header.secrets.values().any(|secret| secret.env.is_none()) {
            self.add(TouchKind::Path, "secrets", &header.secrets_file);
        }
        for (name, folder) in &header.commits {
            self.add(TouchKind::Path, &format!("commit {name}"), folder);
        }
    }

    fn target(&mut self, target: &Target) {
        match target {
            Target::Processes(processes) => {
                for (name, service) in &processes.services {
                    self.service(&format!("service {name}"), service);
                }
            }
            Target::Compose(compose) => {
                let command = format!("docker compose --project-name {} …", compose.project);
                self.add(TouchKind::Command, "target", command);
                for file in compose.files.iter().chain([&compose.env_file]) {
                    self.add(TouchKind::Path, "target", file);
                }
            }
            Target::External(external) => self.add(TouchKind::End, "target", &external.description),
        }
    }

    fn service(&mut self, by: &str, service: &Service) {
        self.command(by, &service.command);
        for file in service.files.keys() {
            self.add(TouchKind::Path, by, format!("{file}, in its working folder"));
        }
        for port in &service.ports {
            self.add(TouchKind::Port, by, port.to_string());
        }
        let ends = service.ready.iter().flat_map(|ready| [ready.tcp.as_ref(), ready.http.as_ref()]).flatten();
        for end in ends {
            self.add(TouchKind::End, by, end);
        }
    }

    fn connection(&mut self, by: &str, connection: &Connection) {
        let ca_file = match connection {
            Connection::Mqtt(mqtt) => {
                self.add(TouchKind::End, by, &mqtt.url);
                mqtt.ca_file.as_ref()
            }
            Connection::Postgres(postgres) => {
                self.add(TouchKind::End, by, &postgres.url);
                postgres.ca_file.as_ref()
            }
            Connection::Sqlite(sqlite) => {
                self.add(TouchKind::Path, by, &sqlite.path);
                None
            }
            Connection::Http(http) => {
                self.add(TouchKind::End, by, &http.url);
                None
            }
        };
        if let Some(path) = ca_file {
            self.add(TouchKind::Path, by, path);
        }
    }

    fn watch(&mut self, by: &str, watch: &Watch) {
        match watch {
            Watch::Exec(exec) => match &exec.service {
                Some(service) => {
                    self.add(TouchKind::Inside, by, format!("{service}: {}", in_one_line(&exec.command)));
                }
                None => self.command(by, &exec.command),
            },
            Watch::Host(host) => {
                if let Some(disk) = &host.disk {
                    self.add(TouchKind::Path, by, disk);
                }
            }
            Watch::Process(_)
            | Watch::Containers(_)
            | Watch::Sql(_)
            | Watch::HttpJson(_)
            | Watch::Prometheus(_)
            | Watch::MqttSys(_)
            | Watch::Canary(_) => {}
        }
    }

    fn phase(&mut self, by: &str, phase: &Phase) {
        match phase {
            Phase::Exec(exec) => self.command(by, &exec.command),
            Phase::Fault(fault) => self.add(TouchKind::TakenDown, by, &fault.service),
            Phase::Publish(_)
            | Phase::Hold(_)
            | Phase::Probe(_)
            | Phase::Workflow(_)
            | Phase::Drain(_)
            | Phase::Reconcile(_)
            | Phase::Sql(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, io};

    use serde_json::Value;

    use super::{super::checked::HostFacts, *};
    use crate::plan::{self, schema::plan_schema};

    /// The names of the fields that lead outside.
    const LEADING_OUT: &[&str] = &[
        "command",
        "path",
        "url",
        "ca_file",
        "ports",
        "tcp",
        "http",
        "disk",
        "commits",
        "secrets_file",
        "extends",
        "description",
    ];

    /// Paths behind the URL of a connection, which is listed; and plans, which are read before anything can be shown.
    const WITHIN: &[&str] = &[
        "/extends",
        "/connections/*/http/login/path",
        "/queries/*/http_json/path",
        "/watches/*/http_json/path",
        "/watches/*/prometheus/path",
        "/probes/*/http/path",
        "/workflows/*/step/*/path",
    ];

    /// The schema's fields of those names that are no tables, with a `*` for each name and index.
    fn leading_out(schema: &Value, node: &Value, at: &str, found: &mut BTreeSet<String>) {
        let node = match node.get("$ref").and_then(Value::as_str) {
            Some(reference) => schema.pointer(&reference[1..]).unwrap(),
            None => node,
        };
        for (key, inner) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let inside = format!("{at}/{key}");
            let mut below = BTreeSet::new();
            leading_out(schema, inner, &inside, &mut below);
            let referred = inner.get("$ref").and_then(Value::as_str);
            let resolved = referred.map_or(inner, |reference| schema.pointer(&reference[1..]).unwrap());
            let is_table = resolved.get("type").is_none() || resolved.get("properties").is_some();
            if LEADING_OUT.contains(&key.as_str()) && !is_table {
                found.insert(inside);
            }
            found.append(&mut below);
        }
        for choice in ["allOf", "anyOf", "oneOf"] {
            for inner in node.get(choice).and_then(Value::as_array).into_iter().flatten() {
                leading_out(schema, inner, at, found);
            }
        }
        for key in ["additionalProperties", "items"] {
            if let Some(inner) = node.get(key).filter(|inner| inner.is_object()) {
                leading_out(schema, inner, &format!("{at}/*"), found);
            }
        }
    }

    /// A plan in which each of those fields says where it stands.
    const EVERYTHING: &str = r#"
extends = "quickstart.toml"
secrets_file = "/secrets_file"
commits = { it = "/commits" }
[target.processes.services.broker]
command = ["/target/processes/services/*/command"]
ports = [1]
ready = { TCP_OR_HTTP }
[live_safety]
url = "http://127.0.0.1:1/live_safety/url"
[connections.broker.mqtt]
url = "mqtts://127.0.0.1:2"
ca_file = "/connections/*/mqtt/ca_file"
[connections.pg.postgres]
url = "postgres://127.0.0.1:3/connections"
ca_file = "/connections/*/postgres/ca_file"
[connections.history.sqlite]
path = "/connections/*/sqlite/path"
[connections.api.http]
url = "http://127.0.0.1:4"
[loads.noise.exec]
command = ["/loads/*/exec/command"]
[watches.host.host]
disk = "/watches/*/host/disk"
[watches.own]
every = "1s"
[watches.own.exec]
command = ["/watches/*/exec/command"]
series = ["a"]
[probes.exec-read]
warm = 1
exec = { command = ["/probes/*/exec/command"] }
[[setup]]
name = "before"
exec = { command = ["/setup/*/exec/command"], within = "1s" }
[[phase]]
name = "run"
exec = { command = ["/phase/*/exec/command"], within = "1s" }
[[phase]]
name = "warm-up"
hold = { start = ["readings", "lag", "noise"], for = "1s" }
[[phase]]
name = "reads"
probe = { probes = ["list-points", "history-1000", "status", "exec-read"] }
[[phase]]
name = "drain"
drain = { stop = ["readings", "noise"] }
[[phase]]
name = "fill"
sql = { connection = "pg", statement = "SELECT 1" }
[[teardown]]
name = "after"
exec = { command = ["/teardown/*/exec/command"], within = "1s" }
"#;

    fn touched(changes: &str) -> Vec<Touch> {
        let read = |path: &str| match path {
            "p.toml" => Ok(changes.to_owned()),
            "quickstart.toml" => Ok(include_str!("../../plans/quickstart.toml").to_owned()),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        let host = HostFacts { cpus: 2, memory_bytes: 8_000_000_000, name: "host".into() };
        let checked = plan::load("p.toml", &read, &[], &host).unwrap_or_else(|problems| panic!("{problems}"));
        let cell = checked.cell(checked.header.steps[0], None).unwrap();
        touches(&checked.header, &cell)
    }

    #[test]
    fn every_field_of_the_schema_that_leads_outside_is_listed() {
        let schema = plan_schema();
        let mut fields = BTreeSet::new();
        leading_out(&schema, &schema, "", &mut fields);
        assert!(fields.len() >= 25, "{fields:#?}");
        let tcp = EVERYTHING.replace("TCP_OR_HTTP", "tcp = '127.0.0.1:5'");
        let http = EVERYTHING.replace("TCP_OR_HTTP", "http = 'http://127.0.0.1:6'");
        let mut external = List(Vec::new());
        let description = serde_json::json!({ "description": "/target/external/description" });
        external.target(&Target::External(serde_json::from_value(description).unwrap()));
        let mut inside = List(Vec::new());
        let exec = serde_json::json!({ "in": "/watches/*/exec/in", "command": ["x"], "series": ["a"] });
        inside.watch("watch own", &Watch::Exec(serde_json::from_value(exec).unwrap()));
        assert_eq!((inside.0[0].kind, inside.0[0].what.as_str()), (TouchKind::Inside, "/watches/*/exec/in: x"));
        let all: Vec<Touch> = [touched(&tcp), touched(&http), external.0].concat();
        let elsewhere = [
            ("/target/processes/services/*/ready/tcp", "127.0.0.1:5"),
            ("/target/processes/services/*/ready/http", "http://127.0.0.1:6"),
            ("/target/processes/services/*/ports", "1"),
            ("/live_safety/url", "http://127.0.0.1:1/live_safety/url"),
            ("/connections/*/mqtt/url", "mqtts://127.0.0.1:2"),
            ("/connections/*/postgres/url", "postgres://127.0.0.1:3/connections"),
            ("/connections/*/http/url", "http://127.0.0.1:4"),
        ];
        for field in fields.iter().filter(|field| !WITHIN.contains(&field.as_str())) {
            let what = elsewhere.iter().find(|(known, _)| known == field).map_or(field.as_str(), |(_, what)| what);
            assert!(all.iter().any(|touch| touch.what == what), "`{field}` is not among what a run touches");
        }
    }
}
