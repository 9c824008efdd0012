//! Baler's paths of the organisation `scale`: reads by filter, history, the state of the service, rules and commissioning runs.
//!
//! As in Baler, a list of points or equipments grows with all of them, and history is folded where it is stored.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::{
    Api,
    commissioning::{Order, Report},
    jobs::Jobs,
};
use crate::reference::{
    http::{Ask, Reply},
    store::{Reader, Since, StoreError, Tagged},
};

/// Where rules are made and listed.
pub(super) const RULES: &str = "/api/scale/rules";
/// Where commissioning runs are begun; a run and its report lie below.
pub(super) const RUNS: &str = "/api/scale/cx/runs";
/// What is read from the stores.
pub(super) const READS: &[&str] = &["/api/scale/read", "/api/scale/eval", "/api/scale/hisRead", "/ops/status"];

/// The one expression that is understood.
const TODAY: &str = "readAll(equip).hisRead(today)";
/// The stretches of history that is shown.
const SHOWN_S: u32 = 300;
/// The stretches of history that is summed up for an equipment: a day.
const DAY_S: u32 = 86_400;

/// What the organisation has beside its readings, for as long as the service lives.
#[derive(Debug, Default)]
pub(super) struct Org {
    rules: Mutex<Vec<Value>>,
    runs: Mutex<Jobs<Report>>,
}

/// What a read found.
pub(super) enum Found {
    /// Rows of a list.
    Rows(Vec<Value>),
    /// One object.
    Status(Value),
}

/// Answers one of [`READS`]; the inner error is what is wrong with the request.
pub(super) fn read(reader: &mut dyn Reader, ask: &Ask) -> Result<Result<Found, &'static str>, StoreError> {
    let limit = match ask.get("limit").map(str::parse) {
        None => usize::MAX,
        Some(Ok(limit)) => limit,
        Some(Err(_)) if ask.get("limit") == Some("all") => usize::MAX,
        Some(Err(_)) => return Ok(Err("limit must be a whole number or `all`\n")),
    };
    let rows = match (ask.path.as_str(), ask.get("filter"), ask.get("expr"), ask.get("range")) {
        ("/ops/status", ..) => {
            reader.ready()?;
            return Ok(Ok(Found::Status(json!({ "ok": true, "history": true, "graph": true }))));
        }
        ("/api/scale/read", Some("point"), ..) => records(reader.points()?, limit),
        ("/api/scale/read", Some("equip"), ..) => records(reader.equips()?, limit),
        ("/api/scale/eval", _, Some(TODAY), _) => equips_today(reader)?,
        ("/api/scale/hisRead", Some("point"), _, Some("today")) => history_today(reader, limit)?,
        _ => {
            return Ok(Err(
                "known: read?filter=point|equip, eval?expr=readAll(equip).hisRead(today), hisRead?filter=point&range=today\n",
            ));
        }
    };
    Ok(Ok(Found::Rows(rows)))
}

/// Points or equipments with their tags in the row.
fn records(all: Vec<Tagged>, limit: usize) -> Vec<Value> {
    let row = |tagged: Tagged| {
        let mut row = Map::from_iter([("id".to_owned(), Value::from(tagged.topic))]);
        row.extend(serde_json::from_str::<Map<String, Value>>(&tagged.tags).unwrap_or_default());
        Value::Object(row)
    };
    all.into_iter().take(limit).map(row).collect()
}

/// The equipment that a point's topic lies below.
fn equip_of(topic: &str) -> &str {
    topic.rsplit_once('/').map_or(topic, |(equip, _)| equip)
}

/// Every equipment with today's readings of its points, summed up.
fn equips_today(reader: &mut dyn Reader) -> Result<Vec<Value>, StoreError> {
    let topics: Vec<String> = reader.points()?.into_iter().map(|point| point.topic).collect();
    let mut sums: BTreeMap<&str, (i64, f64)> = BTreeMap::new();
    let folds = reader.fold(&topics, Since::Today, DAY_S)?;
    for fold in &folds {
        let sum = sums.entry(equip_of(&fold.topic)).or_default();
        *sum = (sum.0 + fold.rows, sum.1 + fold.mean * count(fold.rows));
    }
    let row = |equip: Tagged| {
        let (rows, sum) = sums.get(equip.topic.as_str()).copied().unwrap_or_default();
        let mean = (rows > 0).then(|| sum / count(rows));
        json!({ "id": equip.topic, "points": equip.points, "rows": rows, "mean": mean })
    };
    Ok(reader.equips()?.into_iter().map(row).collect())
}

/// The first points by topic, each with today's readings in stretches.
fn history_today(reader: &mut dyn Reader, limit: usize) -> Result<Vec<Value>, StoreError> {
    let topics: Vec<String> = reader.points()?.into_iter().map(|point| point.topic).take(limit).collect();
    let mut histories: BTreeMap<&str, Vec<(i64, f64)>> = BTreeMap::new();
    let folds = reader.fold(&topics, Since::Today, SHOWN_S)?;
    for fold in &folds {
        histories.entry(&fold.topic).or_default().push((fold.ts, fold.mean));
    }
    let row = |topic: &String| json!({ "id": topic, "his": histories.get(topic.as_str()) });
    Ok(topics.iter().map(row).collect())
}

#[expect(clippy::cast_precision_loss, reason = "a table of 2^53 rows does not fit this host")]
fn count(rows: i64) -> f64 {
    rows as f64
}

/// Begins a commissioning run and tells its number at once.
pub(super) fn begin(api: &Arc<Api>, ask: &Ask) -> Reply {
    let order: Order = match ask.json().and_then(Order::read) {
        Ok(order) => order,
        Err(reason) => return Reply::text(StatusCode::BAD_REQUEST, reason),
    };
    let run = api.org.runs().begin();
    let (api, id) = (api.clone(), run.id);
    tokio::task::spawn_blocking(move || {
        let report = api.reader().and_then(|mut reader| Report::make(reader.as_mut(), &order));
        api.org.runs().end(id, report.map_err(|error| error.to_string()));
    });
    Reply::created(&json!({ "id": run.id, "state": run.state }))
}

impl Org {
    fn rules(&self) -> MutexGuard<'_, Vec<Value>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs(&self) -> MutexGuard<'_, Jobs<Report>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers what lies at and below [`RULES`] and below [`RUNS`].
    pub(super) fn answer(&self, ask: &Ask) -> Reply {
        match ask.path.strip_prefix(RUNS) {
            Some(below) => self.run(below.trim_start_matches('/')),
            None if ask.path != RULES => Reply::not_found(),
            None if ask.posted.is_some() => self.add_rule(ask),
            None => Reply::json(&json!({ "rows": *self.rules() })),
        }
    }

    /// Keeps a rule. It needs a name, and one of the same name takes its place.
    fn add_rule(&self, ask: &Ask) -> Reply {
        let rule = match ask.json() {
            Ok(rule) if rule["name"].is_string() => rule,
            Ok(_) => return Reply::text(StatusCode::BAD_REQUEST, "a rule needs a name\n"),
            Err(reason) => return Reply::text(StatusCode::BAD_REQUEST, reason),
        };
        let mut rules = self.rules();
        rules.retain(|old| old["name"] != rule["name"]);
        rules.push(rule.clone());
        Reply::created(&rule)
    }

    /// A run's state at `ID`, its report at `ID/report`.
    fn run(&self, below: &str) -> Reply {
        let (id, what) = below.split_once('/').unwrap_or((below, ""));
        let runs = self.runs();
        let Some(run) = id.parse().ok().and_then(|id| runs.get(id)) else { return Reply::not_found() };
        match (what, &run.report) {
            ("", _) => Reply::json(&json!({ "id": run.id, "state": run.state, "error": run.error })),
            ("report", Some(report)) => Reply::json(report),
            _ => Reply::not_found(),
        }
    }
}
