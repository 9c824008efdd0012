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

struct List(Vec<Touch>);

impl List {
    fn add(&mut self, kind: TouchKind, by: &str, what: impl Into<String>) {
        self.0.push(Touch { kind, by: by.to_owned(), what: what.into() });
    }

    fn command(&mut self, by: &str, command: &[String]) {
        self.add(TouchKind::Command, by, command.join(" "));
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
            Watch::Exec(exec) => self.command(by, &exec.command),
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
