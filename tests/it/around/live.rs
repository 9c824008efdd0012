//! A live service beside the target, which becomes slow while the load runs.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use super::{Going, assert_no_ceiling, cause, events};
use crate::end_to_end::Bench;

/// A small HTTP server that answers at once, or after a second and a half.
pub(super) struct Service {
    address: SocketAddr,
    slow: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl Service {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (slow, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (is_slow, is_over) = (Arc::clone(&slow), Arc::clone(&over));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let wait = if is_slow.load(Ordering::Relaxed) { 1500 } else { 0 };
                thread::spawn(move || answer(stream, Duration::from_millis(wait)));
            }
        });
        Self { address, slow, over }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn answer(mut stream: TcpStream, after: Duration) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request);
    thread::sleep(after);
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
}

#[test]
fn a_live_service_that_slows_down_stops_the_load_at_once_and_is_no_ceiling() {
    let bench = Bench::new();
    let service = Service::start();
    let live = format!("live_url={}", service.url());
    let mut run = Going::start(&bench, "tests/plans/live.toml", &[&live, "soak=60s"]);
    run.until_phase("soak");
    run.until("slice", "readings");
    service.slow.store(true, Ordering::Relaxed);
    let run = run.end();
    assert_no_ceiling(&run);
    assert!(cause(&run, 0).starts_with("live-safety: the live system took 1."), "{}", cause(&run, 0));
    assert!(cause(&run, 0).ends_with("2 samples in a row"), "{}", cause(&run, 0));
    assert_eq!(events(&run, 0, "live_safety").len(), 1);
    assert_eq!(run.broken(0), ["live-safety did not trip"]);
    // No reading was due after the load had been stopped: the soak of a minute ended early, and no phase came after it.
    let windows = run.cell(0)["windows"].as_array().expect("windows");
    let last = windows.last().expect("a window");
    assert_eq!(last["name"], "soak");
    let events = run.cell(0)["events"].as_array().expect("events");
    let tripped = events.iter().find(|event| event["kind"] == "live_safety").expect("the trip")["at"].as_f64();
    let slices = run.cell(0)["slices"].as_array().expect("slices");
    let late = slices.iter().filter(|slice| slice["from"].as_f64() > tripped.map(|at| at + 5.0));
    assert_eq!(late.count(), 0, "no slice of the load begins after it was stopped");
    let live = |when: &str, what: &str| run.result["live_latency"][when][what].clone();
    assert_eq!((live("before", "median_s")["n"].as_u64(), live("after", "median_s")["n"].as_u64()), (Some(5), Some(5)));
    let during = live("during", "max_s")["value"].as_f64();
    assert!(during > live("before", "max_s")["value"].as_f64() && during >= Some(1.0), "{during:?}");
    assert_eq!(run.result["live_check"], true);
}

#[test]
fn a_live_service_that_does_not_answer_before_the_run_refuses_it() {
    let bench = Bench::new();
    let run = bench.run("tests/plans/live.toml", &["live_url=http://127.0.0.1:9/"]);
    assert_eq!(run.output.status.code(), Some(4));
    let words = super::stderr(&run);
    assert!(words.contains("the live system did not answer before the run"), "{words}");
    assert_eq!(run.result["cells"].as_array().map(Vec::len), Some(0), "no load was started");
}
