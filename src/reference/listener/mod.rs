//! The reference listener: takes readings from the broker and commits them to the store before it acknowledges them.
//!
//! Two threads: this one speaks MQTT and HTTP, the other one commits. A batch is what has come while the one before was committed, so that the
//! batch size follows the load; when the store is slower than the broker, the listener stops reading and the broker queues. The broker keeps
//! the session, so a listener that was killed loses nothing: what it had not acknowledged is delivered again, and the store absorbs the copies.

use std::{net::SocketAddr, sync::Arc, thread, time::Duration};

use clap::Args;
use tokio::sync::mpsc;

use self::{client::Client, counts::Counts};
use super::{
    fault::{Faults, ListenerFault},
    graph::{Graph, GraphWriter},
    http::{self, Reply},
    login::Login,
    service,
    spare::Spare,
    store::{Key, Location, StoreError, Writer},
};
use crate::problem::{Problem, Problems};

mod client;
mod committer;
mod counts;
mod tamper;

/// Options of `scaler reference listener`.
#[derive(Clone, Debug, Args)]
pub struct ListenerArgs {
    /// The broker's host and port
    #[arg(long, default_value = "127.0.0.1:21883", value_name = "HOST:PORT")]
    pub broker: String,
    /// The path of an SQLite file, or a postgres:// URL (better given by the environment, where `ps` does not show its password)
    #[arg(long, env = "SCALER_STORE_URL", hide_env_values = true)]
    pub store: Location,
    /// The URL of a SPARQL store that takes the tags, such as `http://127.0.0.1:7878`; without it the store takes them
    #[arg(long, env = "SCALER_GRAPH_URL")]
    pub graph: Option<String>,
    /// A topic filter; may be repeated
    #[arg(long, default_value = "fbf/#", value_name = "FILTER")]
    pub subscribe: Vec<String>,
    /// Where `/health`, `/truth` and `/metrics` are served
    #[arg(long, default_value = "127.0.0.1:21881")]
    pub http: SocketAddr,
    /// The client identifier, which names the session that the broker keeps
    #[arg(long, default_value = "listener")]
    pub client_id: String,
    /// Who it is to the broker
    #[command(flatten)]
    pub login: Login,
    /// A fault, or several joined by `+`: `none`, `ack_before_commit`, `duplicate=N`, `corrupt=N`, `drop_and_duplicate=N`, `late=N:DURATION`,
    /// `stall=DURATION:EVERY`, `leak=BYTES`, `crash=N`, `restart=N`, `clock_apart=DURATION`
    #[arg(long, default_value = "none")]
    pub fault: Faults<ListenerFault>,
    /// What faults spare
    #[command(flatten)]
    pub spare: Spare,
    /// How often this listener has replaced itself: from the environment only
    #[arg(skip = std::env::var(committer::RESTARTS).ok().and_then(|times| times.parse().ok()).unwrap_or(0_u64))]
    pub restarts: u64,
}

/// Runs the listener until SIGTERM.
pub(super) fn run(args: ListenerArgs) -> Result<(), Problems> {
    // A store without the key is how a copy comes to be stored at all.
    let doubles = |fault: &ListenerFault| {
        matches!(fault, ListenerFault::Duplicate { .. } | ListenerFault::DropAndDuplicate { .. })
    };
    let key = if args.fault.0.iter().any(doubles) { Key::None } else { Key::TopicAndTime };
    let writer = writer(&args, key).map_err(|error| Problem::error(format!("cannot open the store: {error}")))?;
    let counts = Arc::new(Counts::default());
    counts.restarted(args.restarts);
    // One batch is committed, one waits here, one gathers in the client: memory is bounded by three.
    let (jobs, waiting) = mpsc::channel(1);
    let (committed, done) = mpsc::unbounded_channel();
    let committing = {
        let (counts, faults) = (counts.clone(), args.fault.0.clone());
        thread::spawn(move || committer::run(writer, waiting, &committed, &counts, &faults))
    };
    let result = service::block_on(async {
        let http = service::listen(args.http).await?;
        let shared = counts.clone();
        tokio::task::spawn_local(http::serve(http, http::only_get, move |ask| {
            std::future::ready(match ask.path.as_str() {
                "/health" => Reply::health(shared.health()),
                "/truth" => Reply::json(&shared.truth()),
                "/metrics" => Reply::metrics(shared.metrics()),
                _ => Reply::not_found(),
            })
        }));
        for fault in &args.fault.0 {
            if let ListenerFault::Leak { per_s } = fault {
                tokio::task::spawn_local(leak(per_s.get(), counts.clone()));
            }
        }
        let mut client = Client::new(args, counts.clone(), jobs, done);
        let ended = tokio::select! {
            refused = client.run() => Err(refused),
            ended = service::told_to_end() => ended,
        };
        counts.end();
        client.finish().await;
        ended
    });
    // The client is gone and with it the sender, so the committer ends after the batch that it has.
    if committing.join().is_err() {
        return Err(Problem::error("the committing thread panicked").into());
    }
    result
}

/// Where batches go.
fn writer(args: &ListenerArgs, key: Key) -> Result<Box<dyn Writer>, StoreError> {
    let history = args.store.writer(key)?;
    Ok(match args.graph.as_deref().map(Graph::new) {
        Some(graph) => Box::new(GraphWriter::new(graph, history)),
        None => history,
    })
}

/// Keeps so many bytes each second for as long as it is polled.
async fn leak(per_s: u64, counts: Arc<Counts>) {
    const PARTS: u64 = 10;
    let mut tick = tokio::time::interval(Duration::from_secs(1) / 10);
    let mut kept = Vec::new();
    loop {
        tick.tick().await;
        // Written to, so that it is memory and not only the promise of it.
        kept.push(vec![1_u8; usize::try_from(per_s / PARTS).unwrap_or(usize::MAX)]);
        counts.leaked(per_s / PARTS);
    }
}
