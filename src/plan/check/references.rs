//! Every name that is used means something of the right kind, and everything that is declared is used.

use std::collections::BTreeSet;

use super::Scene;
use crate::{
    plan::{
        load::Load,
        nearest::{list, offer, quoted_as_at},
        phase::Phase,
        probe::Probe,
        query::Query,
        tree::join,
        watch::Watch,
    },
    problem::Problem,
};

const MQTT: &[&str] = &["mqtt"];
const SQL: &[&str] = &["postgres", "sqlite"];
const POSTGRES: &[&str] = &["postgres"];
const HTTP: &[&str] = &["http"];

/// A name and where it is used.
struct Use<'a> {
    pointer: String,
    name: &'a str,
    /// The table that declares it.
    table: &'static str,
    /// The kinds of connection that fit.
    kinds: &'static [&'static str],
}

pub(super) fn check(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let mut phases = Vec::new();
    for at in &scene.phases {
        of_phase(&at.pointer, &at.phase, &mut phases);
    }
    let mut uses = of_tables(scene);
    uses.extend(phases);
    let before = problems.len();
    for each in &uses {
        problems.extend(unknown(scene, each).or_else(|| unfit(scene, each)));
    }
    // A misspelt name leaves the right one unused: that is one problem, not two.
    if problems.len() == before {
        unused(scene, &uses, problems);
    }
}

fn of_tables<'a>(scene: &'a Scene<'_>) -> Vec<Use<'a>> {
    let cell = scene.cell;
    let mut uses = Uses::default();
    for (name, load) in &cell.loads {
        if let Load::MqttPublish(publish) = load {
            let at = format!("{}/mqtt_publish", join("/loads", name));
            uses.connection(&at, &publish.connection, MQTT);
            if let Some(preflight) = &publish.preflight {
                uses.add(format!("{at}/preflight/query"), &preflight.query, "queries");
            }
        }
    }
    if let Some(clean) = &cell.clean {
        uses.add("/clean/query".to_owned(), &clean.query, "queries");
    }
    for (name, query) in &cell.queries {
        let at = join("/queries", name);
        match query {
            Query::Sql(sql) => uses.connection(&format!("{at}/sql"), &sql.connection, SQL),
            Query::HttpJson(json) => uses.connection(&format!("{at}/http_json"), &json.connection, HTTP),
        }
    }
    for (name, probe) in &cell.probes {
        let at = join("/probes", name);
        match &probe.probe {
            Probe::Http(http) => uses.connection(&format!("{at}/http"), &http.connection, HTTP),
            Probe::Sql(sql) => uses.connection(&format!("{at}/sql"), &sql.connection, SQL),
            Probe::Exec(_) => {}
        }
    }
    for (name, workflow) in &cell.workflows {
        uses.connection(&join("/workflows", name), &workflow.connection, HTTP);
    }
    for (name, watch) in &cell.watches {
        of_watch(&join("/watches", name), &watch.watch, &mut uses);
    }
    uses.0
}

fn of_watch<'a>(at: &str, watch: &'a Watch, uses: &mut Uses<'a>) {
    match watch {
        Watch::Sql(sql) => uses.connection(&format!("{at}/sql"), &sql.connection, SQL),
        Watch::HttpJson(json) => uses.connection(&format!("{at}/http_json"), &json.connection, HTTP),
        Watch::Prometheus(prometheus) => uses.connection(&format!("{at}/prometheus"), &prometheus.connection, HTTP),
        Watch::MqttSys(sys) => uses.connection(&format!("{at}/mqtt_sys"), &sys.connection, MQTT),
        Watch::Canary(canary) => {
            uses.connection(&format!("{at}/canary"), &canary.connection, MQTT);
            uses.add(format!("{at}/canary/seen"), &canary.seen, "queries");
        }
        Watch::Process(process) => uses.each(&format!("{at}/process/services"), &process.services, "services"),
        Watch::Containers(containers) => {
            uses.each(&format!("{at}/containers/services"), &containers.services, "services");
        }
        Watch::Exec(exec) => {
            if let Some(service) = &exec.service {
                uses.add(format!("{at}/exec/in"), service, "services");
            }
        }
        Watch::Host(_) => {}
    }
}

fn of_phase<'a>(at: &str, phase: &'a Phase, found: &mut Vec<Use<'a>>) {
    let mut uses = Uses::default();
    match phase {
        Phase::Publish(publish) => {
            uses.connection(&format!("{at}/publish"), &publish.connection, MQTT);
            uses.each(&format!("{at}/publish/messages"), &publish.messages, "messages");
            if let Some(until) = &publish.until {
                uses.add(format!("{at}/publish/until/query"), &until.query, "queries");
            }
        }
        Phase::Hold(hold) => {
            uses.each(&format!("{at}/hold/start"), &hold.start, "loads or canaries");
            uses.each(&format!("{at}/hold/stop"), &hold.stop, "loads or canaries");
        }
        Phase::Probe(probe) => uses.each(&format!("{at}/probe/probes"), &probe.probes, "probes"),
        Phase::Workflow(workflow) => uses.add(format!("{at}/workflow/run"), &workflow.run, "workflows"),
        Phase::Fault(fault) => {
            uses.add(format!("{at}/fault/service"), &fault.service, "services");
            if let Some(query) = &fault.query {
                uses.add(format!("{at}/fault/query"), query, "queries");
            }
            if let Some(retained) = &fault.retained {
                uses.connection(&format!("{at}/fault/retained"), &retained.connection, MQTT);
            }
        }
        Phase::Drain(drain) => {
            uses.each(&format!("{at}/drain/stop"), &drain.stop, "loads");
            if let Some(canary) = &drain.canary {
                uses.add(format!("{at}/drain/canary"), canary, "canaries");
            }
            if let Some(query) = &drain.query {
                uses.add(format!("{at}/drain/query"), query, "queries");
            }
        }
        Phase::Reconcile(reconcile) => {
            uses.add(format!("{at}/reconcile/load"), &reconcile.load, "loads");
            uses.connection(&format!("{at}/reconcile"), &reconcile.connection, SQL);
        }
        Phase::Sql(sql) => {
            uses.connection(&format!("{at}/sql"), &sql.connection, POSTGRES);
            if let Some(moves) = &sql.moves {
                uses.add(format!("{at}/sql/moves/query"), &moves.query, "queries");
            }
        }
        Phase::Exec(_) => {}
    }
    found.append(&mut uses.0);
}

#[derive(Default)]
struct Uses<'a>(Vec<Use<'a>>);

impl<'a> Uses<'a> {
    fn add(&mut self, pointer: String, name: &'a str, table: &'static str) {
        self.0.push(Use { pointer, name, table, kinds: &[] });
    }

    fn each(&mut self, pointer: &str, names: &'a [String], table: &'static str) {
        for (index, name) in names.iter().enumerate() {
            self.add(format!("{pointer}/{index}"), name, table);
        }
    }

    fn connection(&mut self, pointer: &str, name: &'a str, kinds: &'static [&'static str]) {
        self.0.push(Use { pointer: format!("{pointer}/connection"), name, table: "connections", kinds });
    }
}

/// The names that a table declares.
fn declared<'a>(scene: &'a Scene<'_>, table: &str) -> Vec<&'a str> {
    let plan = scene.plan;
    let canaries = || {
        let watches = scene.cell.watches.iter();
        watches.filter(|(_, watch)| matches!(watch.watch, Watch::Canary(_))).map(|(name, _)| name.as_str())
    };
    match table {
        "connections" => plan.connections.keys().map(String::as_str).collect(),
        "queries" => plan.queries.keys().map(String::as_str).collect(),
        "messages" => plan.messages.keys().map(String::as_str).collect(),
        "loads" => plan.loads.keys().map(String::as_str).collect(),
        "canaries" => canaries().collect(),
        "loads or canaries" => plan.loads.keys().map(String::as_str).chain(canaries()).collect(),
        "probes" => plan.probes.keys().map(String::as_str).collect(),
        "workflows" => plan.workflows.keys().map(String::as_str).collect(),
        "services" => scene.cell.target.services(),
        _ => Vec::new(),
    }
}

fn unknown(scene: &Scene<'_>, used: &Use<'_>) -> Option<Problem> {
    let known = declared(scene, used.table);
    // An external target has no services: `target.rs` says so once.
    if known.contains(&used.name) || (used.table == "services" && known.is_empty()) {
        return None;
    }
    let place = scene.place(&used.pointer);
    let noun = singular(used.table);
    let label = if scene.plan.watches.contains_key(used.name) && used.table == "loads or canaries" {
        "this watch is no canary: it runs through every cell by itself".to_owned()
    } else {
        format!("no {noun} of that name")
    };
    let problem = Problem::error(format!("unknown {noun} `{}`", used.name)).at(place.clone(), label);
    let problem = offer(problem, used.name, known, |name| quoted_as_at(place.as_ref(), name));
    Some(if scene.is_verbatim(&used.pointer) { problem } else { Problem { replacement: None, ..problem } })
}

fn singular(table: &str) -> &str {
    match table {
        "queries" => "query",
        "loads or canaries" => "load or canary",
        "canaries" => "canary",
        "services" => "process of the target",
        plural => plural.trim_end_matches('s'),
    }
}

/// A connection of the wrong kind.
fn unfit(scene: &Scene<'_>, used: &Use<'_>) -> Option<Problem> {
    let kind = scene.cell.connections.get(used.name).filter(|_| used.table == "connections")?.key();
    if used.kinds.contains(&kind) {
        return None;
    }
    let fitting = scene.cell.connections.iter().filter(|(_, connection)| used.kinds.contains(&connection.key()));
    let title = format!("the connection `{}` is of kind `{kind}`", used.name);
    let wanted = format!("needs {}", list(used.kinds.iter().copied()).replace(" and ", " or "));
    let names = list(fitting.map(|(name, _)| name.as_str()));
    Some(
        Problem::error(title).at(scene.place(&used.pointer), wanted).help(format!("connections of that kind: {names}")),
    )
}

/// What is declared and never used does nothing, which is hardly what was meant.
fn unused(scene: &Scene<'_>, uses: &[Use<'_>], problems: &mut Vec<Problem>) {
    let known: BTreeSet<(&str, &str)> = uses
        .iter()
        .flat_map(|used| match used.table {
            "loads or canaries" => vec![("loads", used.name), ("watches", used.name)],
            "canaries" => vec![("watches", used.name)],
            table => vec![(table, used.name)],
        })
        .collect();
    let canaries = declared(scene, "canaries");
    let tables = [
        ("connections", declared(scene, "connections"), "nothing talks to it"),
        ("messages", declared(scene, "messages"), "no phase publishes it"),
        ("loads", declared(scene, "loads"), "no `hold` starts it"),
        ("queries", declared(scene, "queries"), "nothing asks it"),
        ("watches", canaries, "no `hold` starts it"),
        ("probes", declared(scene, "probes"), "no phase runs it"),
        ("workflows", declared(scene, "workflows"), "no phase runs it"),
    ];
    for (table, names, why) in tables {
        for name in names.into_iter().filter(|name| !known.contains(&(table, *name))) {
            let place = scene.key(&join(&format!("/{table}"), name));
            problems.push(Problem::warning(format!("`{name}` is never used")).at(place, why));
        }
    }
}
