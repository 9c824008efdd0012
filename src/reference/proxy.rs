//! A bad path: passes TCP connections on, and delays, stalls, cuts or refuses them as it was told.
//!
//! It knows nothing of what it carries. Bytes that wait in it when a connection is cut are gone, as on a real path.

use std::{cell::Cell, future::pending, net::SocketAddr, num::NonZeroU64, rc::Rc, time::Duration};

use bytes::Bytes;
use clap::Args;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    task::spawn_local,
    time::{Instant, sleep, sleep_until},
};

use super::{
    fault::{self, Fault, Faults},
    http::{self, Reply},
    metrics::Metrics,
    service,
};
use crate::problem::Problems;

/// Bytes of one read.
const READ: usize = 64 * 1024;
/// Reads that may be under way in one direction; then the sender has to wait.
const UNDER_WAY: usize = 1024;

/// Options of `scaler reference proxy`.
#[derive(Clone, Debug, Args)]
pub struct ProxyArgs {
    /// Where clients connect
    #[arg(long)]
    pub listen: SocketAddr,
    /// Where their connections lead
    #[arg(long)]
    pub to: SocketAddr,
    /// Where `/health`, `/truth` and `/metrics` are served
    #[arg(long)]
    pub http: SocketAddr,
    /// What is wrong with the path: `none`, or `delay=20ms`, `stall=2s`, `cut=1s`, `refuse=500ms`, joined by `+`
    #[arg(long, default_value = "none")]
    pub fault: Faults<ProxyFault>,
    /// How many connections are cut, and how many stalls are made, at most
    #[arg(long, default_value_t = NonZeroU64::MAX)]
    pub times: NonZeroU64,
}

/// What can be wrong with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyFault {
    /// Each byte takes so much longer, in both directions.
    Delay(Duration),
    /// From the first connection on nothing passes for so long, after it has passed for as long. Truth: `stalls`.
    Stall(Duration),
    /// Each connection is cut so long after it was made, with all that was under way. Truth: `cut`.
    Cut(Duration),
    /// For so long after a cut, connections are closed as soon as they are made. Truth: `refused`.
    Refuse(Duration),
}

impl Fault for ProxyFault {
    const KNOWN: &'static str = "delay=DURATION, stall=DURATION, cut=DURATION, refuse=DURATION";

    fn parse(name: &str, value: Option<&str>) -> Option<Result<Self, String>> {
        let make = match name {
            "delay" => Self::Delay,
            "stall" => Self::Stall,
            "cut" => Self::Cut,
            "refuse" => Self::Refuse,
            _ => return None,
        };
        Some(fault::duration(name, value).map(make))
    }
}

/// The faults, and what came of them.
#[derive(Debug)]
struct Path {
    to: SocketAddr,
    delay: Duration,
    stall: Option<Duration>,
    cut: Option<Duration>,
    refuse: Duration,
    times: u64,
    /// The first connection: the beginning of the alternation.
    first: Cell<Option<Instant>>,
    refuse_until: Cell<Option<Instant>>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    connections: Cell<u64>,
    cut: Cell<u64>,
    refused: Cell<u64>,
    /// The number of the last stall that held something up.
    stalls: Cell<u64>,
    bytes: Cell<u64>,
    /// Bytes that were under way when their connection was cut.
    bytes_lost: Cell<u64>,
}

fn add(count: &Cell<u64>, more: u64) {
    count.set(count.get() + more);
}

impl Path {
    fn new(args: &ProxyArgs) -> Self {
        let mut path = Self {
            to: args.to,
            delay: Duration::ZERO,
            stall: None,
            cut: None,
            refuse: Duration::ZERO,
            times: args.times.get(),
            first: Cell::default(),
            refuse_until: Cell::default(),
            counts: Counts::default(),
        };
        for fault in &args.fault.0 {
            match *fault {
                ProxyFault::Delay(time) => path.delay = time,
                ProxyFault::Stall(time) => path.stall = Some(time),
                ProxyFault::Cut(time) => path.cut = Some(time),
                ProxyFault::Refuse(time) => path.refuse = time,
            }
        }
        path
    }

    /// Whether a connection that is made now is closed at once.
    fn refuses(&self, now: Instant) -> bool {
        self.refuse_until.get().is_some_and(|until| now < until)
    }

    /// The end of the stall that `now` lies in, and the stall's number from 1. Times run from the first connection: open, stalled, open, ….
    fn stalled_until(&self, now: Instant) -> Option<(Instant, u64)> {
        let (length, first) = (self.stall.filter(|length| !length.is_zero())?, self.first.get()?);
        let turn = now.saturating_duration_since(first).as_nanos() / length.as_nanos();
        let turn = u32::try_from(turn).unwrap_or(u32::MAX - 1);
        let number = u64::from(turn).div_ceil(2);
        (turn % 2 == 1 && number <= self.times).then(|| (first + length * (turn + 1), number))
    }

    /// Ends when the connection is to be cut, and counts it.
    async fn cut_when_due(&self) {
        let Some(after) = self.cut else { return pending().await };
        sleep(after).await;
        if self.counts.cut.get() >= self.times {
            return pending().await;
        }
        add(&self.counts.cut, 1);
        self.refuse_until.set(Some(Instant::now() + self.refuse));
    }
}

/// Runs the proxy until SIGTERM.
pub(super) fn run(args: ProxyArgs) -> Result<(), Problems> {
    service::block_on(async move {
        let path = Rc::new(Path::new(&args));
        let clients = service::listen(args.listen).await?;
        let http = service::listen(args.http).await?;
        let facts = path.clone();
        spawn_local(http::serve(http, http::only_get, move |ask| std::future::ready(answer(&facts.counts, &ask.path))));
        spawn_local(accept(clients, path));
        service::told_to_end().await
    })
}

fn answer(counts: &Counts, path: &str) -> Reply {
    let all = [
        ("connections", "Connections passed on.", counts.connections.get()),
        ("cut", "Connections cut.", counts.cut.get()),
        ("refused", "Connections closed as soon as they were made.", counts.refused.get()),
        ("stalls", "Stalls that held something up.", counts.stalls.get()),
        ("bytes", "Bytes passed on.", counts.bytes.get()),
        ("bytes_lost", "Bytes that were under way when their connection was cut.", counts.bytes_lost.get()),
    ];
    match path {
        "/health" => Reply::health(Ok(())),
        "/truth" => Reply::json(
            &all.iter().map(|(name, _, count)| ((*name).to_owned(), json!(count))).collect::<serde_json::Map<_, _>>(),
        ),
        "/metrics" => {
            let mut metrics = Metrics::default();
            for (name, help, count) in all {
                metrics.counter(&format!("scaler_proxy_{name}_total"), help, &[], count);
            }
            Reply::metrics(metrics)
        }
        _ => Reply::not_found(),
    }
}

async fn accept(clients: TcpListener, path: Rc<Path>) {
    loop {
        let Ok((client, _)) = clients.accept().await else {
            // Out of file descriptors: wait for some to come back.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let now = Instant::now();
        if path.refuses(now) {
            add(&path.counts.refused, 1);
            continue; // dropping the socket closes it
        }
        path.first.set(path.first.get().or(Some(now)));
        spawn_local(carry(client, path.clone()));
    }
}

/// Carries one connection to its end.
async fn carry(client: TcpStream, path: Rc<Path>) {
    // A server that is not there closes the client's connection, and that is all it can be told.
    let Ok(server) = TcpStream::connect(path.to).await else { return };
    add(&path.counts.connections, 1);
    // Small packets must not wait for each other; a failure costs only time.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let under_way = Rc::new(Cell::new(0));
    tokio::select! {
        () = pass(from_client, to_server, &path, &under_way) => {}
        () = pass(from_server, to_client, &path, &under_way) => {}
        () = path.cut_when_due() => add(&path.counts.bytes_lost, under_way.get()),
    }
}

/// One direction, until its end was passed on.
async fn pass(source: impl AsyncReadExt + Unpin, sink: impl AsyncWriteExt + Unpin, path: &Path, under_way: &Cell<u64>) {
    let (out, waiting) = channel(UNDER_WAY);
    tokio::join!(take_in(source, out, path.delay, under_way), give_out(sink, waiting, path, under_way));
}

async fn take_in(
    mut source: impl AsyncReadExt + Unpin,
    out: Sender<(Instant, Bytes)>,
    delay: Duration,
    under_way: &Cell<u64>,
) {
    let mut buffer = vec![0; READ];
    while let Ok(count @ 1..) = source.read(&mut buffer).await {
        add(under_way, count as u64);
        let due = Instant::now() + delay;
        if out.send((due, Bytes::copy_from_slice(&buffer[..count]))).await.is_err() {
            return;
        }
    }
}

async fn give_out(
    mut sink: impl AsyncWriteExt + Unpin,
    mut waiting: Receiver<(Instant, Bytes)>,
    path: &Path,
    under_way: &Cell<u64>,
) {
    while let Some((due, bytes)) = waiting.recv().await {
        sleep_until(due).await;
        while let Some((end, number)) = path.stalled_until(Instant::now()) {
            path.counts.stalls.set(path.counts.stalls.get().max(number));
            sleep_until(end).await;
        }
        if sink.write_all(&bytes).await.is_err() {
            return;
        }
        under_way.set(under_way.get() - bytes.len() as u64);
        add(&path.counts.bytes, bytes.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(fault: &str, times: u64) -> Path {
        Path::new(&ProxyArgs {
            listen: ([127, 0, 0, 1], 0).into(),
            to: ([127, 0, 0, 1], 0).into(),
            http: ([127, 0, 0, 1], 0).into(),
            fault: fault.parse().unwrap(),
            times: NonZeroU64::new(times).unwrap(),
        })
    }

    #[test]
    fn faults_are_read() {
        let path = path("delay=20ms+cut=1s+refuse=500ms", 3);
        assert_eq!((path.delay, path.cut), (Duration::from_millis(20), Some(Duration::from_secs(1))));
        assert_eq!((path.refuse, path.stall, path.times), (Duration::from_millis(500), None, 3));
        assert!(
            "lose=1"
                .parse::<Faults<ProxyFault>>()
                .unwrap_err()
                .starts_with("unknown fault `lose`; known: none, delay=")
        );
    }

    #[test]
    fn stalls_alternate_with_open_times_and_come_to_an_end() {
        let path = path("stall=2s", 2);
        let start = Instant::now();
        let at = |seconds: u64| path.stalled_until(start + Duration::from_secs(seconds));
        assert_eq!(at(3), None, "before the first connection");
        path.first.set(Some(start));
        let end = |seconds, number| Some((start + Duration::from_secs(seconds), number));
        let rows = [(0, None), (1, None), (2, end(4, 1)), (3, end(4, 1)), (4, None), (6, end(8, 2)), (10, None)];
        for (seconds, want) in rows {
            assert_eq!(at(seconds), want, "at {seconds} s");
        }
    }
}
