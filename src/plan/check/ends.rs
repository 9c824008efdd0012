//! Addresses, topics, paths and JSON pointers: what would otherwise fail only when it is used.

use super::Scene;
use crate::{
    plan::{
        connection::Connection,
        load::Load,
        phase::{Phase, Reconcile},
        probe::{Expect, Probe},
        query::Query,
        tree::join,
        watch::Watch,
        workflow::Workflow,
    },
    problem::Problem,
};

pub(super) fn check(scene: &Scene<'_>, problems: &mut Vec<Problem>) {
    let mut ends = Ends { scene, problems };
    ends.connections();
    ends.topics();
    ends.queries();
    ends.reads();
    for (name, workflow) in &scene.cell.workflows {
        ends.workflow(&join("/workflows", name), workflow);
    }
    for at in &scene.phases {
        if let Phase::Reconcile(reconcile) = &at.phase {
            ends.statements(&format!("{}/reconcile", at.pointer), reconcile);
        }
    }
}

struct Ends<'a, 'b> {
    scene: &'a Scene<'a>,
    problems: &'b mut Vec<Problem>,
}

impl Ends<'_, '_> {
    fn wrong(&mut self, pointer: &str, title: String, label: impl Into<String>) {
        self.problems.push(Problem::error(title).at(self.scene.place(pointer), label));
    }

    fn connections(&mut self) {
        for (name, connection) in &self.scene.cell.connections {
            let at = join("/connections", name);
            match connection {
                Connection::Mqtt(mqtt) => {
                    let pointer = format!("{at}/mqtt/url");
                    self.url(&pointer, &mqtt.url, &["mqtt://", "mqtts://"]);
                    if mqtt.url.contains('@') {
                        let label = "`user` and `password` have keys of their own";
                        self.wrong(&pointer, "an account in the address".to_owned(), label);
                    }
                }
                Connection::Postgres(postgres) => {
                    self.url(&format!("{at}/postgres/url"), &postgres.url, &["postgres://", "postgresql://"]);
                }
                Connection::Http(http) => {
                    self.url(&format!("{at}/http/url"), &http.url, &["http://", "https://"]);
                    if let Some(login) = &http.login {
                        self.pointer(&format!("{at}/http/login/token"), &login.token);
                    }
                }
                Connection::Sqlite(_) => {}
            }
        }
        if let Some(url) = self.scene.cell.live_safety.as_ref().and_then(|safety| safety.url.as_deref()) {
            self.url("/live_safety/url", url, &["http://", "https://"]);
        }
    }

    fn url(&mut self, pointer: &str, url: &str, schemes: &[&str]) {
        if !url.starts_with("{{") && !schemes.iter().any(|scheme| url.starts_with(scheme) && url.len() > scheme.len()) {
            self.wrong(
                pointer,
                format!("`{url}` is no address for this"),
                format!("expected {}…", schemes.join("… or ")),
            );
        }
    }

    /// Messages go to topics, not to filters.
    fn topics(&mut self) {
        let mut topics: Vec<(String, &str)> = Vec::new();
        for (name, load) in &self.scene.cell.loads {
            if let Load::MqttPublish(publish) = load {
                let at = format!("{}/mqtt_publish", join("/loads", name));
                topics.push((format!("{at}/topic"), &publish.topic));
                topics.extend(
                    publish
                        .preflight
                        .as_ref()
                        .map(|preflight| (format!("{at}/preflight/topic"), preflight.topic.as_str())),
                );
            }
        }
        for (name, message) in &self.scene.cell.messages {
            topics.push((format!("{}/topic", join("/messages", name)), &message.topic));
        }
        for (name, watch) in &self.scene.cell.watches {
            if let Watch::Canary(canary) = &watch.watch {
                topics.push((format!("{}/canary/topic", join("/watches", name)), &canary.topic));
            }
        }
        for (pointer, topic) in topics {
            if topic.is_empty() || topic.contains(['+', '#']) || topic.starts_with('$') {
                let label = "a topic to publish to is not empty, has no `+` or `#`, and does not begin with `$`";
                self.wrong(&pointer, format!("`{topic}` cannot be published to"), label);
            }
        }
    }

    fn queries(&mut self) {
        let queries = &self.scene.cell.queries;
        for (name, query) in queries {
            if let Query::HttpJson(json) = query {
                let at = format!("{}/http_json", join("/queries", name));
                self.path(&format!("{at}/path"), &json.path);
                self.pointer(&format!("{at}/pointer"), &json.pointer);
            }
        }
        let for_preflight = |query: &Query| match query {
            Query::Sql(sql) => sql.statement.contains("preflight."),
            Query::HttpJson(json) => json.path.contains("preflight."),
        };
        for (pointer, name) in uses_without_preflight(self.scene) {
            if queries.get(name).is_some_and(for_preflight) {
                let label = "it asks for `preflight`, which is known only in a load's preflight";
                self.wrong(&pointer, format!("the query `{name}` cannot be used here"), label);
            }
        }
    }

    fn reads(&mut self) {
        for (name, probe) in &self.scene.cell.probes {
            let at = join("/probes", name);
            if probe.budget.is_some() && probe.budget_source.is_none() {
                let place = self.scene.key(&format!("{at}/budget"));
                let problem = Problem::error(format!("the budget of `{name}` comes from nowhere"));
                let problem = problem.at(place, "`budget_source` is needed beside it");
                self.problems
                    .push(problem.help("name the issue or requirement, or write budget_source = \"provisional\""));
            }
            if probe.cold + probe.warm == 0 {
                self.wrong(&format!("{at}/warm"), format!("`{name}` never runs"), "no cold and no warm runs");
            } else if probe.budget.is_some() && probe.warm == 0 {
                self.wrong(
                    &format!("{at}/warm"),
                    format!("the budget of `{name}` cannot be judged"),
                    "it is of the warm runs",
                );
            }
            if let Probe::Http(http) = &probe.probe {
                self.path(&format!("{at}/http/path"), &http.path);
                self.expect(&format!("{at}/http/expect"), &http.expect);
            }
        }
        for (name, watch) in &self.scene.cell.watches {
            if let Watch::HttpJson(json) = &watch.watch {
                let at = format!("{}/http_json", join("/watches", name));
                self.path(&format!("{at}/path"), &json.path);
                for (series, pointer) in &json.series {
                    self.pointer(&join(&format!("{at}/series"), series), pointer);
                }
            }
        }
    }

    fn workflow(&mut self, at: &str, workflow: &Workflow) {
        let mut captured: Vec<&str> = Vec::new();
        for (index, step) in workflow.step.iter().enumerate() {
            let at = format!("{at}/step/{index}");
            self.path(&format!("{at}/path"), &step.path);
            self.expect(&format!("{at}/expect"), &step.expect);
            let body = step.body.as_ref().map(ToString::to_string).unwrap_or_default();
            for (field, text) in [("path", step.path.as_str()), ("body", body.as_str())] {
                for name in captures(text).filter(|name| !captured.contains(&name.as_str())) {
                    let label = "no earlier step captures it";
                    self.wrong(&format!("{at}/{field}"), format!("unknown name `capture.{name}`"), label);
                }
            }
            for (name, pointer) in &step.capture {
                self.pointer(&join(&format!("{at}/capture"), name), pointer);
                captured.push(name);
            }
            if let Some(until) = &step.until {
                self.pointer(&format!("{at}/until/pointer"), &until.pointer);
            }
        }
    }

    fn expect(&mut self, at: &str, expect: &Expect) {
        for pointer in expect.values.keys().filter(|pointer| !is_pointer(pointer)) {
            let place = self.scene.key(&join(&format!("{at}/values"), pointer));
            self.problems.push(not_a_pointer(pointer).at(place, POINTER));
        }
        if let Some(pointer) = &expect.rows_at {
            self.pointer(&format!("{at}/rows_at"), pointer);
        }
        if expect.rows_at.is_some() && expect.rows.is_none() {
            self.wrong(&format!("{at}/rows_at"), "`rows_at` without `rows`".to_owned(), "nothing is counted there");
        }
    }

    fn pointer(&mut self, at: &str, pointer: &str) {
        if !is_pointer(pointer) {
            self.problems.push(not_a_pointer(pointer).at(self.scene.place(at), POINTER));
        }
    }

    fn path(&mut self, at: &str, path: &str) {
        if !path.starts_with('/') && !path.starts_with("{{") {
            self.wrong(at, format!("`{path}` is no path"), "a path begins with `/`");
        }
    }

    /// A statement without its bounds would count the whole store.
    fn statements(&mut self, at: &str, reconcile: &Reconcile) {
        let statements = [
            ("rows_per_second", Some(&reconcile.rows_per_second)),
            ("rows_of_second", reconcile.rows_of_second.as_ref()),
        ];
        for (field, statement) in statements {
            let Some(statement) = statement else { continue };
            if !(statement.contains("from_s") && statement.contains("to_s")) {
                let label = "it must ask only for rows from `{{ from_s }}` to `{{ to_s }}`";
                self.wrong(&format!("{at}/{field}"), format!("`{field}` counts more than the load's seconds"), label);
            }
        }
    }
}

const POINTER: &str = "a JSON pointer is empty or begins with `/`";

fn not_a_pointer(pointer: &str) -> Problem {
    Problem::error(format!("`{pointer}` is no JSON pointer"))
}

fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/') || text.contains("{{")
}

/// The names that a text takes from `capture`.
fn captures(text: &str) -> impl Iterator<Item = String> {
    text.split("capture.").skip(1).map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

/// Where a query is asked that is not a load's preflight.
fn uses_without_preflight<'a>(scene: &'a Scene<'_>) -> Vec<(String, &'a str)> {
    let mut uses: Vec<(String, &str)> = Vec::new();
    for (name, watch) in &scene.cell.watches {
        if let Watch::Canary(canary) = &watch.watch {
            uses.push((format!("{}/canary/seen", join("/watches", name)), &canary.seen));
        }
    }
    for at in &scene.phases {
        match &at.phase {
            Phase::Publish(publish) => uses.extend(
                publish
                    .until
                    .as_ref()
                    .map(|until| (format!("{}/publish/until/query", at.pointer), until.query.as_str())),
            ),
            Phase::Drain(drain) => {
                uses.extend(drain.query.as_deref().map(|query| (format!("{}/drain/query", at.pointer), query)));
            }
            _ => {}
        }
    }
    uses
}
