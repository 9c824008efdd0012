//! A store-and-forward stage between publishers and the broker: it acknowledges what it has in its buffer, and forwards it in order. While its
//! upstream is away the buffer grows; it tries again at a stated interval, so that a drain is a wait and then a rate.
//!
//! The buffer is in memory and bounded: when it is full, nothing more is read and nothing more acknowledged.

use std::{
    cell::RefCell,
    collections::VecDeque,
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use clap::Args;
use serde_json::json;
use tokio::sync::Notify;

use super::{
    fault::{Faults, ForwardFault},
    http::{self, Ask, Reply},
    login::Login,
    metrics::Metrics,
    service,
};
use crate::problem::Problems;

mod downstream;
mod upstream;

/// Options of `scaler reference forward`.
#[derive(Clone, Debug, Args)]
pub struct ForwardArgs {
    /// Where publishers connect
    #[arg(long, default_value = "127.0.0.1:21884")]
    pub listen: SocketAddr,
    /// The broker's address
    #[arg(long, default_value = "127.0.0.1:21883")]
    pub upstream: SocketAddr,
    /// Where `/health`, `/truth` and `/metrics` are served
    #[arg(long, default_value = "127.0.0.1:21886")]
    pub http: SocketAddr,
    /// How many messages the buffer holds
    #[arg(long, default_value_t = 100_000, value_name = "MESSAGES", value_parser = clap::value_parser!(u32).range(1..))]
    pub buffer: u32,
    /// The time between two tries to reach the upstream, in milliseconds
    #[arg(long, default_value_t = 1_000, value_name = "MS")]
    pub retry_ms: u64,
    /// A fault: `none`, `away=N:DURATION`
    #[arg(long, default_value = "none")]
    pub fault: Faults<ForwardFault>,
    /// Who it is to the broker
    #[command(flatten)]
    pub login: Login,
}

/// A message in the buffer.
#[derive(Debug)]
struct Kept {
    /// The topic with its two length bytes, as it stands on the wire.
    topic: Box<[u8]>,
    payload: Box<[u8]>,
    retain: bool,
    /// Whether it was written upstream before.
    was_sent: bool,
}

/// The buffer and what has happened.
#[derive(Debug, Default)]
struct Stage {
    buffer: VecDeque<Kept>,
    /// How many of the oldest are on their way upstream.
    in_flight: usize,
    taken: u64,
    forwarded: u64,
    resent: u64,
    connects: u64,
    tries_failed: u64,
    buffered_max: usize,
    away_until: Option<Instant>,
    away: Duration,
}

/// The stage as its connections share it.
struct Shared {
    args: ForwardArgs,
    stage: RefCell<Stage>,
    /// Something is to be forwarded, or the upstream has gone away.
    work: Notify,
    /// There is room in the buffer again.
    room: Notify,
}

impl Shared {
    /// Takes a message in; the caller has seen that there is room.
    fn take(&self, kept: Kept) {
        let mut stage = self.stage.borrow_mut();
        stage.buffer.push_back(kept);
        stage.taken += 1;
        stage.buffered_max = stage.buffered_max.max(stage.buffer.len());
        for fault in &self.args.fault.0 {
            let ForwardFault::Away { after, length } = fault;
            if stage.taken == after.get() {
                stage.away_until = Some(Instant::now() + *length);
                stage.away += *length;
            }
        }
        self.work.notify_one();
    }

    fn is_full(&self) -> bool {
        self.stage.borrow().buffer.len() >= self.args.buffer as usize
    }

    /// Whether the fault keeps the upstream away now.
    fn is_away(&self) -> bool {
        self.stage.borrow().away_until.is_some_and(|until| Instant::now() < until)
    }
}

/// Runs the stage until SIGTERM.
pub(super) fn run(args: ForwardArgs) -> Result<(), Problems> {
    service::block_on(async {
        let http = service::listen(args.http).await?;
        let mqtt = service::listen(args.listen).await?;
        let shared =
            Rc::new(Shared { args, stage: RefCell::default(), work: Notify::default(), room: Notify::default() });
        let told = shared.clone();
        tokio::task::spawn_local(http::serve(http, http::only_get, move |ask| std::future::ready(answer(&told, &ask))));
        tokio::task::spawn_local(downstream::accept(mqtt, shared.clone()));
        tokio::task::spawn_local(upstream::forward(shared));
        service::told_to_end().await
    })
}

fn answer(shared: &Shared, ask: &Ask) -> Reply {
    let stage = shared.stage.borrow();
    match ask.path.as_str() {
        "/health" => Reply::health(Ok(())),
        "/truth" => Reply::json(&json!({
            "taken": stage.taken,
            "forwarded": stage.forwarded,
            "resent": stage.resent,
            "buffered": stage.buffer.len(),
            "buffered_max": stage.buffered_max,
            "connects": stage.connects,
            "tries_failed": stage.tries_failed,
            "away_total_s": stage.away.as_secs_f64(),
        })),
        "/metrics" => {
            let mut metrics = Metrics::default();
            metrics.counter("scaler_forward_taken_total", "Messages taken.", &[], stage.taken);
            metrics.counter("scaler_forward_forwarded_total", "Messages forwarded.", &[], stage.forwarded);
            metrics.gauge("scaler_forward_buffer_messages", "Messages in the buffer.", &[], stage.buffer.len());
            Reply::metrics(metrics)
        }
        _ => Reply::not_found(),
    }
}
