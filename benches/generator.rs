//! The generator beside rumqttc's own `AsyncClient`, against a null sink in a process of its own.
//!
//! `cargo bench --bench generator` prints CPU seconds per million acknowledged messages of both, interleaved in one run, the ratio, and what the
//! generator does at 200 000 readings a second of a thousand and of a million points.

use std::{
    error::Error,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rumqttc::{AsyncClient, Event, MqttOptions, Packet, QoS};
use scaler::{
    load::ceiling::{Effort, Reached, measure},
    reference::sink,
};

/// Makes this program the sink.
const SINK: &str = "SCALER_BENCH_SINK";

/// How often the two generators are measured, one after the other.
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::var_os(SINK).is_some() {
        return serve();
    }
    let sink = Sink::start()?;
    let url = format!("mqtt://127.0.0.1:{}", sink.port);
    // Paced loads first, because the peak of memory can only grow.
    for points in [1_000, 1_000_000] {
        let paced = measure(&url, Effort::paced(points, Duration::from_secs(8)))?;
        print_paced(points, &paced, peak_bytes()?);
    }
    let (mut own, mut other) = (Vec::new(), Vec::new());
    let mut fastest: f64 = 0.0;
    for _ in 0..ROUNDS {
        let reached = measure(&url, Effort::unbounded(Duration::from_secs(2)))?;
        fastest = fastest.max(reached.acked_per_s);
        own.push(reached.cpu_s_per_million);
        other.push(async_client(sink.port, Duration::from_secs(2))?);
    }
    let (own, other) = (median(own), median(other));
    println!("as fast as possible, median of {ROUNDS} rounds, QoS 1, retained");
    println!("  generator    {own:.3} CPU s per million acknowledged, {:.2} million/s at best", fastest / 1e6);
    println!("  AsyncClient  {other:.3} CPU s per million acknowledged");
    println!("  ratio        {:.1}", other / own);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a small process")]
fn print_paced(points: u64, paced: &Reached, peak_bytes: u64) {
    println!("paced at 200 000/s, {points} points");
    println!("  offered ratio  {:.3} %", paced.offered_ratio * 100.0);
    println!("  acknowledged   {:.0}/s", paced.acked_per_s);
    println!("  schedule lag   p50 {:.2} ms, p99 {:.2} ms", paced.schedule_lag_p50_ms, paced.schedule_lag_p99_ms);
    println!("  CPU            {:.1} % of a core", paced.cpu_pct);
    println!("  memory         {:.1} MB at its peak", peak_bytes as f64 / 1e6);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The most memory that this process ever held.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = procfs::process::Process::myself()?.status()?;
    Ok(status.vmhwm.ok_or("the kernel does not tell VmHWM")? * 1024)
}

/// CPU seconds of this process so far, all threads.
#[expect(clippy::cast_precision_loss, reason = "seconds of a short process")]
fn process_cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// rumqttc as it comes: an `AsyncClient` with a full request channel, its event loop, one thread. CPU seconds per million acknowledged.
fn async_client(port: u16, length: Duration) -> Result<f64, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let mut options = MqttOptions::new("bench-async-client", "127.0.0.1", port);
        options.set_inflight(10_000);
        let (client, mut events) = AsyncClient::new(options, 10_000);
        let publisher = tokio::spawn(async move {
            let mut point = 0_u64;
            loop {
                let topic = format!("fbf/scale/s{}/e{}/supply_temp", point / 500, point / 10);
                let payload = format!(r#"{{"point":"{topic}","value":{}.5,"ts":17000000{point:05}}}"#, point % 512);
                if client.publish(topic, QoS::AtLeastOnce, true, payload).await.is_err() {
                    return;
                }
                point = (point + 1) % 100_000;
            }
        });
        let warm_up = Instant::now();
        while warm_up.elapsed() < Duration::from_millis(300) {
            events.poll().await?;
        }
        let (began, cpu_s, mut acked) = (Instant::now(), process_cpu_s(), 0_u32);
        while began.elapsed() < length {
            if let Event::Incoming(Packet::PubAck(_)) = events.poll().await? {
                acked += 1;
            }
        }
        publisher.abort();
        Ok((process_cpu_s() - cpu_s) / f64::from(acked.max(1)) * 1e6)
    })
}

/// The sink in a process of its own, so that its CPU is not the generator's.
struct Sink {
    child: Child,
    port: u16,
}

impl Sink {
    fn start() -> Result<Self, Box<dyn Error>> {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program).env(SINK, "1").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no standard output")?).read_line(&mut line)?;
        Ok(Self { port: line.trim().parse()?, child })
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves until standard input ends, which it does when the bench ends in any way.
fn serve() -> Result<(), Box<dyn Error>> {
    let sink = sink::spawn()?;
    println!("{}", sink.addr().port());
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
