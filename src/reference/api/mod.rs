//! The reference read API: points, equipments, last values and history as JSON, read from the store at each request; and jobs, which report later.
//!
//! The paths under `/api/scale` and `/ops` are Baler's for the organisation `scale`, in `org.rs`; a gateway with a login stands before them.
//! Nothing is cached: the work of an answer grows with its size, as in a real server. Reads run on a few threads with a connection each.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use clap::Args;
use hyper::{Method, StatusCode};
use serde::Serialize;
use serde_json::json;
use tokio::sync::Semaphore;

use self::{jobs::Jobs, org::Org, survey::Survey};
use super::{
    fault::{ApiFault, Faults},
    graph::{Graph, GraphReader},
    http::{self, Ask, Reply},
    metrics::Metrics,
    service,
    store::{Location, Reader, StoreError, Whose},
};
use crate::problem::Problems;

mod commissioning;
mod jobs;
mod org;
mod survey;

/// The most readings of one point in an answer.
const LIMIT: u32 = 100_000;

/// Options of `scaler reference api`.
#[derive(Clone, Debug, Args)]
pub struct ApiArgs {
    /// The path of an SQLite file, or a postgres:// URL (better given by the environment, where `ps` does not show its password)
    #[arg(long, env = "SCALER_STORE_URL", hide_env_values = true)]
    pub store: Location,
    /// The URL of a SPARQL store that holds the tags, such as `http://127.0.0.1:7878`; without it the store holds them
    #[arg(long, env = "SCALER_GRAPH_URL")]
    pub graph: Option<String>,
    /// Where requests are answered
    #[arg(long, default_value = "127.0.0.1:21882")]
    pub listen: SocketAddr,
    /// How many reads run at a time; further ones wait
    #[arg(long, default_value_t = 4)]
    pub readers: u8,
    /// How long a job takes beside its work, in milliseconds
    #[arg(long, default_value_t = 200, value_name = "MS")]
    pub job_ms: u64,
    /// A fault, or several joined by `+`: `none`, `slow_reads=DURATION`, `wrong_rows=N`
    #[arg(long, default_value = "none")]
    pub fault: Faults<ApiFault>,
}

struct Api {
    args: ApiArgs,
    turns: Semaphore,
    idle: Mutex<Vec<Box<dyn Reader>>>,
    requests: AtomicU64,
    failures: AtomicU64,
    rows: AtomicU64,
    rows_slowed: AtomicU64,
    delay_us: AtomicU64,
    lists: AtomicU64,
    wrong_answers: AtomicU64,
    jobs: Mutex<Jobs<Survey>>,
    org: Org,
}

/// Which methods a path takes.
fn takes(method: &Method, path: &str) -> bool {
    match path {
        "/jobs" | org::RUNS => method == Method::POST,
        org::RULES => method == Method::POST || method == Method::GET,
        _ => method == Method::GET,
    }
}

/// Runs the API until SIGTERM.
pub(super) fn run(args: ApiArgs) -> Result<(), Problems> {
    service::block_on(async {
        let listener = service::listen(args.listen).await?;
        let api = Arc::new(Api {
            turns: Semaphore::new(usize::from(args.readers.max(1))),
            args,
            idle: Mutex::default(),
            requests: AtomicU64::default(),
            failures: AtomicU64::default(),
            rows: AtomicU64::default(),
            rows_slowed: AtomicU64::default(),
            delay_us: AtomicU64::default(),
            lists: AtomicU64::default(),
            wrong_answers: AtomicU64::default(),
            jobs: Mutex::default(),
            org: Org::default(),
        });
        tokio::task::spawn_local(http::serve(listener, takes, move |ask| answer(api.clone(), ask)));
        service::told_to_end().await
    })
}

async fn answer(api: Arc<Api>, ask: Ask) -> Reply {
    match ask.path.as_str() {
        "/truth" => return Reply::json(&api.truth()),
        "/metrics" => return Reply::metrics(api.metrics()),
        "/jobs" => return begin_job(&api),
        path if path.starts_with("/jobs/") => return api.job(path),
        org::RUNS => return org::begin(&api, &ask),
        path if path.starts_with(org::RULES) || path.starts_with(org::RUNS) => return api.org.answer(&ask),
        path if org::READS.contains(&path) => {}
        "/health" | "/status" | "/points" | "/equips" | "/values" | "/history" => {}
        _ => return Reply::not_found(),
    }
    let failed = |reason: String| Reply::text(StatusCode::SERVICE_UNAVAILABLE, reason);
    let Ok(_turn) = api.turns.acquire().await else { return failed("ending\n".to_owned()) };
    let reading = {
        let api = api.clone();
        tokio::task::spawn_blocking(move || api.read(&ask))
    };
    match reading.await {
        Ok(Ok(reply)) => reply,
        Ok(Err(error)) => {
            api.failures.fetch_add(1, Ordering::Relaxed);
            failed(format!("the store cannot be read: {error}\n"))
        }
        Err(error) => failed(error.to_string()),
    }
}

/// Begins a job and tells its number at once.
fn begin_job(api: &Arc<Api>) -> Reply {
    let job = api.jobs().begin();
    let (api, id) = (api.clone(), job.id);
    tokio::task::spawn_blocking(move || {
        thread::sleep(Duration::from_millis(api.args.job_ms));
        let report = api.reader().and_then(|mut reader| Survey::make(reader.as_mut()));
        api.jobs().end(id, report.map_err(|error| error.to_string()));
    });
    Reply::json(&job)
}

impl Api {
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let history = self.args.store.reader()?;
        let graph = self.args.graph.as_deref().map(Graph::new);
        Ok(match graph {
            Some(graph) => Box::new(GraphReader::new(graph, history)),
            None => history,
        })
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs<Survey>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn job(&self, path: &str) -> Reply {
        let id = path.trim_start_matches("/jobs/").parse().ok();
        let jobs = self.jobs();
        id.and_then(|id| jobs.get(id)).map_or_else(Reply::not_found, Reply::json)
    }

    /// Reads with an idle connection; when that one fails, once more with a new one, because the store may have been restarted.
    fn read(&self, ask: &Ask) -> Result<Reply, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let first = idle.and_then(|mut reader| {
            let reply = self.reply(reader.as_mut(), ask).ok()?;
            Some((reader, reply))
        });
        let (reader, reply) = if let Some(done) = first {
            done
        } else {
            let mut reader = self.reader()?;
            let reply = self.reply(reader.as_mut(), ask)?;
            (reader, reply)
        };
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        Ok(reply)
    }

    fn reply(&self, reader: &mut dyn Reader, ask: &Ask) -> Result<Reply, StoreError> {
        let (reply, rows) = match ask.path.as_str() {
            "/points" => whole(&self.list(reader.points()?)),
            "/equips" => whole(&self.list(reader.equips()?)),
            "/values" => {
                let values = reader.history(&Whose::All, 1)?;
                let last = values.into_iter().filter_map(|point| {
                    let (ts, value) = *point.readings.first()?;
                    Some(json!({ "topic": point.topic, "ts": ts, "value": value }))
                });
                whole(&self.list(last.collect()))
            }
            "/history" => match whose(ask) {
                Err(reason) => return Ok(Reply::text(StatusCode::BAD_REQUEST, reason)),
                Ok((whose, limit)) => {
                    let histories = reader.history(&whose, limit)?;
                    let rows = histories.iter().map(|history| history.readings.len()).sum();
                    (Reply::json(&self.list(histories)), rows)
                }
            },
            "/health" => return reader.ready().map(|()| Reply::health(Ok(()))),
            path if org::READS.contains(&path) => match org::read(reader, ask)? {
                Err(reason) => return Ok(Reply::text(StatusCode::BAD_REQUEST, reason)),
                Ok(org::Found::Status(status)) => (Reply::json(&status), 1),
                Ok(org::Found::Rows(rows)) => {
                    let rows = self.list(rows);
                    (Reply::json(&json!({ "rows": rows })), rows.len())
                }
            },
            _ => {
                let totals = reader.totals()?;
                (
                    Reply::json(
                        &json!({ "ok": true, "rows": totals.rows, "points": totals.points, "equips": totals.equips }),
                    ),
                    1,
                )
            }
        };
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.misbehave(rows);
        Ok(reply)
    }

    /// The rows of an answer; under the fault `wrong_rows`, without the last one now and then.
    fn list<T>(&self, mut rows: Vec<T>) -> Vec<T> {
        let number = self.lists.fetch_add(1, Ordering::Relaxed) + 1;
        let is_wrong =
            |fault: &ApiFault| matches!(fault, ApiFault::WrongRows { one_in } if number.is_multiple_of(one_in.get()));
        if self.args.fault.0.iter().any(is_wrong) && rows.pop().is_some() {
            self.wrong_answers.fetch_add(1, Ordering::Relaxed);
        }
        rows
    }

    fn misbehave(&self, rows: usize) {
        for fault in &self.args.fault.0 {
            match fault {
                ApiFault::SlowReads { per_row } => {
                    let delay =
                        per_row.saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX)).min(Duration::from_hours(1));
                    self.rows_slowed.fetch_add(rows as u64, Ordering::Relaxed);
                    self.delay_us.fetch_add(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
                    thread::sleep(delay);
                }
                ApiFault::WrongRows { .. } => {}
            }
        }
    }

    fn truth(&self) -> serde_json::Value {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let delay = Duration::from_micros(get(&self.delay_us));
        let (begun, done) = self.jobs().counts();
        json!({
            "requests": get(&self.requests),
            "failures": get(&self.failures),
            "rows": get(&self.rows),
            "rows_slowed": get(&self.rows_slowed),
            "delay_total_s": delay.as_secs_f64(),
            "wrong_answers": get(&self.wrong_answers),
            "jobs_begun": begun,
            "jobs_done": done,
        })
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::default();
        metrics.counter("scaler_api_requests_total", "Reads answered.", &[], self.requests.load(Ordering::Relaxed));
        metrics.counter("scaler_api_failures_total", "Reads that failed.", &[], self.failures.load(Ordering::Relaxed));
        metrics.counter("scaler_api_rows_total", "Rows answered.", &[], self.rows.load(Ordering::Relaxed));
        metrics
    }
}

/// A list as an answer, and its length.
fn whole<T: Serialize>(rows: &[T]) -> (Reply, usize) {
    (Reply::json(&rows), rows.len())
}

/// Whose history a request wants, and how many readings of each.
fn whose(ask: &Ask) -> Result<(Whose, u32), &'static str> {
    let limit = match ask.get("limit").map(str::parse) {
        None => 100,
        Some(Ok(limit @ 1..=LIMIT)) => limit,
        Some(_) => return Err("limit must be a whole number between 1 and 100000\n"),
    };
    match (ask.get("points").map(str::parse), ask.get("topic")) {
        (Some(Ok(points)), None) => Ok((Whose::First(points), limit)),
        (None, Some(topic)) => Ok((Whose::Topics(vec![topic.to_owned()]), limit)),
        _ => Err("ask for ?points=N or ?topic=TOPIC\n"),
    }
}
