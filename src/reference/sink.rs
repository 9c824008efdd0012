//! The null sink: takes MQTT publishes as fast as it can, acknowledges and counts them, and does nothing else. The generator is measured
//! against it, so it must cost less than the generator: one plain thread per connection, PUBACKs written once per read.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use clap::Args;
use serde_json::json;

use super::{
    http::{self, Reply},
    metrics::Metrics,
    service,
    wire::{self, kind},
};
use crate::problem::{Problem, Problems};

/// Bytes of one read.
const READ: usize = 256 * 1024;
/// The largest packet, in bytes.
const PACKET_BYTES: usize = 1024 * 1024;

/// Options of `scaler reference sink`.
#[derive(Clone, Debug, Args)]
pub struct SinkArgs {
    /// Where MQTT clients connect
    #[arg(long, default_value = "127.0.0.1:21883")]
    pub listen: SocketAddr,
    /// Where `/health`, `/truth` and `/metrics` are served
    #[arg(long, default_value = "127.0.0.1:21880")]
    pub http: SocketAddr,
}

#[derive(Debug, Default)]
struct Counts {
    received: AtomicU64,
    acknowledged: AtomicU64,
    bytes: AtomicU64,
    connections: AtomicU64,
    ending: AtomicBool,
    /// The open connections, so that they can be shut.
    open: Mutex<Vec<(u64, TcpStream)>>,
}

/// A running sink; dropping it closes its connections.
#[derive(Debug)]
pub struct SinkHandle {
    address: SocketAddr,
    counts: Arc<Counts>,
}

impl SinkHandle {
    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// PUBLISH packets received.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.counts.received.load(Ordering::Relaxed)
    }

    /// PUBACK packets written.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.counts.acknowledged.load(Ordering::Relaxed)
    }
}

impl Drop for SinkHandle {
    fn drop(&mut self) {
        self.counts.ending.store(true, Ordering::Relaxed);
        // Wakes the accepting thread, which then sees that it is over.
        let _ = TcpStream::connect(self.address);
        for (_, stream) in self.counts.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Starts a sink within this process, on a free port of 127.0.0.1.
///
/// # Errors
/// When no port can be bound.
pub fn spawn() -> io::Result<SinkHandle> {
    start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
}

/// Runs the sink until SIGTERM.
pub(super) fn run(args: &SinkArgs) -> Result<(), Problems> {
    let sink =
        start(args.listen).map_err(|error| Problem::error(format!("cannot listen on {}: {error}", args.listen)))?;
    service::block_on(async {
        let http = service::listen(args.http).await?;
        let counts = sink.counts.clone();
        tokio::task::spawn_local(http::serve(http, http::only_get, move |ask| {
            std::future::ready(answer(&counts, &ask.path))
        }));
        service::told_to_end().await
    })
}

fn answer(counts: &Counts, path: &str) -> Reply {
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    match path {
        "/health" => Reply::health(Ok(())),
        "/truth" => Reply::json(&json!({
            "received": get(&counts.received),
            "acknowledged": get(&counts.acknowledged),
            "bytes": get(&counts.bytes),
            "connections": get(&counts.connections),
        })),
        "/metrics" => {
            let mut metrics = Metrics::default();
            metrics.counter(
                "scaler_sink_messages_received_total",
                "PUBLISH packets received.",
                &[],
                get(&counts.received),
            );
            metrics.counter(
                "scaler_sink_messages_acked_total",
                "PUBACK packets written.",
                &[],
                get(&counts.acknowledged),
            );
            Reply::metrics(metrics)
        }
        _ => Reply::not_found(),
    }
}

fn start(address: SocketAddr) -> io::Result<SinkHandle> {
    let listener = TcpListener::bind(address)?;
    let handle = SinkHandle { address: listener.local_addr()?, counts: Arc::default() };
    let counts = handle.counts.clone();
    thread::spawn(move || accept(&listener, &counts));
    Ok(handle)
}

fn accept(listener: &TcpListener, counts: &Arc<Counts>) {
    loop {
        let accepted = listener.accept();
        if counts.ending.load(Ordering::Relaxed) {
            return;
        }
        let Ok((stream, kept)) = accepted.and_then(|(stream, _)| stream.try_clone().map(|kept| (stream, kept))) else {
            // Out of file descriptors: wait for some to come back.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let number = counts.connections.fetch_add(1, Ordering::Relaxed);
        counts.open.lock().unwrap_or_else(PoisonError::into_inner).push((number, kept));
        let counts = counts.clone();
        thread::spawn(move || {
            // A client that goes away or sends nonsense ends its connection and nothing else.
            let _ = serve(stream, &counts);
            counts.open.lock().unwrap_or_else(PoisonError::into_inner).retain(|(other, _)| *other != number);
        });
    }
}

fn serve(mut stream: TcpStream, counts: &Counts) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; PACKET_BYTES + READ];
    let (mut held, mut out) = (0, Vec::new());
    loop {
        let count = stream.read(&mut buffer[held..held + READ])?;
        if count == 0 {
            return Ok(());
        }
        held += count;
        let taken = take(&buffer[..held], &mut out, counts);
        if !out.is_empty() {
            stream.write_all(&out)?;
            out.clear();
        }
        let Some(taken) = taken else { return Ok(()) };
        buffer.copy_within(taken..held, 0);
        held -= taken;
        counts.bytes.fetch_add(count as u64, Ordering::Relaxed);
    }
}

/// Takes the whole packets of a buffer: returns how many bytes they are, or nothing when the connection is over. Answers go to `out`.
fn take(buffer: &[u8], out: &mut Vec<u8>, counts: &Counts) -> Option<usize> {
    let (mut taken, mut received, mut acknowledged) = (0, 0, 0);
    let mut is_over = false;
    while let Ok(Some(frame)) = wire::split(&buffer[taken..], PACKET_BYTES - 5).inspect_err(|_| is_over = true) {
        taken += frame.bytes.len();
        match frame.kind() {
            kind::PUBLISH => {
                received += 1;
                match packet_id(frame) {
                    Some(0) => {}
                    Some(id) => {
                        wire::put_puback(out, id);
                        acknowledged += 1;
                    }
                    None => is_over = true,
                }
            }
            kind::CONNECT => wire::put_connack(out, false, 0),
            kind::PINGREQ => out.extend_from_slice(&wire::PINGRESP),
            _ => is_over = true,
        }
    }
    counts.received.fetch_add(received, Ordering::Relaxed);
    counts.acknowledged.fetch_add(acknowledged, Ordering::Relaxed);
    (!is_over).then_some(taken)
}

/// The packet identifier of a PUBLISH, 0 at QoS 0. Looks at nothing else: the topic's text is not the sink's business.
fn packet_id(frame: wire::Frame<'_>) -> Option<u16> {
    if frame.bytes[0] & 0b110 == 0 {
        return Some(0);
    }
    let body = frame.body();
    let [high, low, ..] = body else { return None };
    let at = 2 + usize::from(u16::from_be_bytes([*high, *low]));
    body.get(at..at + 2).map(|id| u16::from_be_bytes([id[0], id[1]])).filter(|id| *id != 0)
}
