//! A lazy daemon: subscribes at QoS 0, takes its time over each message, and beats its heart over HTTP, and in a table if it is given one, all the
//! same.
//!
//! At QoS 0 the broker keeps nothing for it beyond a bounded queue: what does not fit is lost to this subscriber, and to nobody else.
//! Its heart goes on beating then, which is why a heartbeat proves no delivery.

use std::{
    cell::Cell,
    io,
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use bytes::BytesMut;
use clap::Args;
use rumqttc::mqttbytes::{
    QoS,
    v4::{Subscribe, SubscribeFilter},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::sleep,
};

use super::{
    http::{self, Ask, Reply},
    login::{Login, Password},
    metrics::Metrics,
    service,
    store::Heartbeats,
    wire::{self, Input, kind},
};
use crate::problem::{Problem, Problems};

/// How long to wait before connecting again.
const PAUSE: Duration = Duration::from_millis(100);
/// What the kernel may hold for it: a slow reader behind megabytes of buffer would be slow only on paper.
const RECEIVE_BUFFER_BYTES: u32 = 4_096;
/// The largest packet that is taken, in bytes.
const PACKET_BYTES: usize = 16 * 1024 * 1024;

/// Options of `scaler reference daemon`.
#[derive(Clone, Debug, Args)]
pub struct DaemonArgs {
    /// The broker's host and port
    #[arg(long, default_value = "127.0.0.1:21883", value_name = "HOST:PORT")]
    pub broker: String,
    /// A topic filter; may be repeated
    #[arg(long, default_value = "fbf/#", value_name = "FILTER")]
    pub subscribe: Vec<String>,
    /// Where `/beats`, `/health`, `/truth` and `/metrics` are served
    #[arg(long, default_value = "127.0.0.1:21885")]
    pub http: SocketAddr,
    /// The client identifier
    #[arg(long, default_value = "daemon")]
    pub client_id: String,
    /// How long it thinks about each message, in milliseconds
    #[arg(long, default_value_t = 0, value_name = "MS")]
    pub think_ms: u64,
    /// The time between two beats, in milliseconds
    #[arg(long, default_value_t = 1_000, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub beat_ms: u64,
    /// The postgres:// URL of a database whose table `service_heartbeats` takes its beats under the client identifier: from the environment only,
    /// where `ps` does not show its password
    #[arg(skip = std::env::var("SCALER_HEARTBEATS_URL").ok().map(Password))]
    pub heartbeats: Option<Password>,
    /// Who it is to the broker
    #[command(flatten)]
    pub login: Login,
}

#[derive(Debug)]
struct Counts {
    received: Cell<u64>,
    beats: Cell<u64>,
    beats_failed: Cell<u64>,
    connects: Cell<u64>,
    subscribed: Cell<bool>,
    last_beat: Cell<Instant>,
}

/// Runs the daemon until SIGTERM.
pub(super) fn run(args: DaemonArgs) -> Result<(), Problems> {
    let table = args.heartbeats.as_ref().map(|url| Heartbeats::new(&url.0, &args.client_id)).transpose();
    let table = table.map_err(|error| Problem::error(format!("SCALER_HEARTBEATS_URL: {error}")))?;
    service::block_on(async {
        let http = service::listen(args.http).await?;
        let counts = Rc::new(Counts {
            received: Cell::new(0),
            beats: Cell::new(0),
            beats_failed: Cell::new(0),
            connects: Cell::new(0),
            subscribed: Cell::new(false),
            last_beat: Cell::new(Instant::now()),
        });
        let shared = counts.clone();
        tokio::task::spawn_local(http::serve(http, http::only_get, move |ask| {
            std::future::ready(answer(&shared, &ask))
        }));
        tokio::task::spawn_local(beat(Duration::from_millis(args.beat_ms), table, counts.clone()));
        tokio::task::spawn_local(async move {
            loop {
                // Whatever ended the connection, the next one is tried.
                let _ = connection(&args, &counts).await;
                counts.subscribed.set(false);
                sleep(PAUSE).await;
            }
        });
        service::told_to_end().await
    })
}

fn answer(counts: &Counts, ask: &Ask) -> Reply {
    let beats = counts.beats.get();
    match ask.path.as_str() {
        "/beats" => Reply::json(&json!({ "beats": beats, "age_s": counts.last_beat.get().elapsed().as_secs_f64() })),
        "/health" if counts.subscribed.get() => Reply::health(Ok(())),
        "/health" => Reply::health(Err("not subscribed\n".to_owned())),
        "/truth" => Reply::json(&json!({
            "received": counts.received.get(),
            "beats": beats,
            "beats_failed": counts.beats_failed.get(),
            "connects": counts.connects.get(),
        })),
        "/metrics" => {
            let mut metrics = Metrics::default();
            metrics.counter("scaler_daemon_messages_received_total", "Messages taken.", &[], counts.received.get());
            metrics.counter("scaler_daemon_beats_total", "Beats of its heart.", &[], beats);
            Reply::metrics(metrics)
        }
        _ => Reply::not_found(),
    }
}

/// Beats for as long as it is polled; a beat that the table does not take is lost, and counted.
async fn beat(every: Duration, mut table: Option<Heartbeats>, counts: Rc<Counts>) {
    let mut tick = tokio::time::interval(every);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if let Some(mut heart) = table.take() {
            let beating = tokio::task::spawn_blocking(move || (heart.beat(), heart)).await;
            let Ok((taken, heart)) = beating else { return };
            counts.beats_failed.set(counts.beats_failed.get() + u64::from(taken.is_err()));
            table = Some(heart);
        }
        counts.beats.set(counts.beats.get() + 1);
        counts.last_beat.set(Instant::now());
    }
}

/// One connection to its end.
async fn connection(args: &DaemonArgs, counts: &Counts) -> io::Result<()> {
    let broker = tokio::net::lookup_host(&args.broker).await?.next().ok_or(io::ErrorKind::NotFound)?;
    let socket = if broker.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
    let mut stream = socket.connect(broker).await?;
    // No keep-alive: while it thinks, it does not ping.
    stream.write_all(&args.login.connect(&args.client_id, false, 0).map_err(io::Error::other)?).await?;
    stream.write_all(&subscribe(&args.subscribe)?).await?;
    let mut input = Input::default();
    loop {
        let frame_kind = next(&mut stream, &mut input).await?;
        match frame_kind {
            kind::SUBACK => {
                counts.subscribed.set(true);
                counts.connects.set(counts.connects.get() + 1);
            }
            kind::PUBLISH => {
                counts.received.set(counts.received.get() + 1);
                if args.think_ms > 0 {
                    sleep(Duration::from_millis(args.think_ms)).await;
                }
            }
            _ => {}
        }
    }
}

fn subscribe(filters: &[String]) -> io::Result<BytesMut> {
    let filters = filters.iter().map(|filter| SubscribeFilter::new(filter.clone(), QoS::AtMostOnce));
    let mut subscribe = Subscribe::new_many(filters);
    subscribe.pkid = 1;
    let mut bytes = BytesMut::new();
    subscribe.write(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

/// The kind of the next packet, whose content is nobody's business here.
async fn next(stream: &mut TcpStream, input: &mut Input) -> io::Result<u8> {
    loop {
        let split = wire::split(input.unread(), PACKET_BYTES);
        if let Some(frame) = split.map_err(|error| io::Error::other(error.to_string()))? {
            let (kind, length) = (frame.kind(), frame.bytes.len());
            input.consume(length);
            return Ok(kind);
        }
        match stream.read(input.space()).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => input.filled(count),
        }
    }
}
