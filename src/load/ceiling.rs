//! What the generator reaches on this host, against a sink that acknowledges and does nothing else: the head-room that a ladder's steps
//! are held against.

use std::{
    sync::mpsc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use base64::Engine;
use hdrhistogram::{Histogram, serialization::Deserializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{MqttLoad, RunClock, start};
use crate::{
    plan::{
        connection::Mqtt,
        fleet::Fleet,
        load::{MqttPublish, Reconnect, TimestampFormat},
        quantity::{Count, Length, Share},
    },
    record::entry::{Entry, Slice},
};

/// What a load is made to reach.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The number of points.
    pub points: u64,
    /// Readings per second.
    pub per_s: u64,
    /// The number of connections.
    pub connections: u32,
    /// The window of each connection.
    pub inflight: u32,
    /// How long it is measured, after half a second of warm-up.
    pub length: Duration,
}

impl Effort {
    /// A rate that no host reaches, so that the load runs as fast as it can.
    #[must_use]
    pub fn unbounded(length: Duration) -> Self {
        Self { points: 1_000_000, per_s: 50_000_000, connections: 1, inflight: 65_535, length }
    }

    /// Two hundred thousand readings a second: a million points, each every five seconds.
    #[must_use]
    pub fn paced(points: u64, length: Duration) -> Self {
        Self { points, per_s: 200_000, connections: 2, inflight: 20_000, length }
    }
}

/// What a load reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reached {
    /// Messages acknowledged per second.
    pub acked_per_s: f64,
    /// Readings written, as a share of those that were due.
    pub offered_ratio: f64,
    /// CPU seconds of the generator's thread per million acknowledged messages.
    pub cpu_s_per_million: f64,
    /// CPU of the generator's thread in percent of one core.
    pub cpu_pct: f64,
    /// The median of due to written, milliseconds.
    pub schedule_lag_p50_ms: f64,
    /// The 99th percentile of due to written, milliseconds.
    pub schedule_lag_p99_ms: f64,
}

/// What the generator reaches on this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// When it was measured, Unix milliseconds.
    pub measured_unix_ms: u64,
    /// As fast as possible; its `acked_per_s` is the ceiling.
    pub unbounded: Reached,
    /// At 200 000 readings a second of a million points.
    pub paced: Reached,
}

/// Measures the generator against the sink at this URL; takes `length` for each of the two parts.
///
/// # Errors
/// When the sink cannot be reached or acknowledges nothing.
pub fn calibrate(url: &str, length: Duration) -> Result<Calibration, String> {
    Ok(Calibration {
        measured_unix_ms: unix_ms(),
        unbounded: measure(url, Effort::unbounded(length))?,
        paced: measure(url, Effort::paced(1_000_000, length))?,
    })
}

/// Runs a load against the sink at this URL.
///
/// # Errors
/// When the sink cannot be reached or acknowledges nothing.
pub fn measure(url: &str, effort: Effort) -> Result<Reached, String> {
    let clock = RunClock { start: Instant::now(), wall_unix_ms_at_start: unix_ms() };
    let (out, entries) = mpsc::channel();
    let running = start(&load(url, effort), clock, out)?;
    std::thread::sleep(Duration::from_millis(500));
    running.cut();
    let warm_up = entries.try_iter().count();
    std::thread::sleep(effort.length);
    running.cut();
    let slices: Vec<Slice> = entries
        .try_iter()
        .filter_map(|event| if let Entry::Slice(slice) = event.0 { Some(slice) } else { None })
        .collect();
    drop(running);
    if warm_up == 0 || slices.iter().all(|slice| slice.acked == 0) {
        return Err(format!("{url} acknowledged nothing"));
    }
    Ok(reached(&slices))
}

#[expect(clippy::cast_precision_loss, reason = "counts of seconds of load, far below 2^53")]
fn reached(slices: &[Slice]) -> Reached {
    let sum = |part: fn(&Slice) -> u64| slices.iter().map(part).sum::<u64>() as f64;
    let seconds: f64 = slices.iter().map(|slice| slice.to - slice.from).sum();
    let cpu_s: f64 = slices.iter().map(|slice| slice.cpu_s).sum();
    let acked = sum(|slice| slice.acked);
    let mut lag: Histogram<u64> = Histogram::new(3).expect("three significant digits are supported");
    for slice in slices {
        // Both sides are this program's own, and the histogram grows as needed.
        let bytes = base64::engine::general_purpose::STANDARD.decode(&slice.schedule_lag).unwrap_or_default();
        if let Ok(part) = Deserializer::new().deserialize::<u64, _>(&mut bytes.as_slice()) {
            lag.add(part).expect("a histogram that resizes itself");
        }
    }
    Reached {
        acked_per_s: acked / seconds,
        offered_ratio: sum(|slice| slice.offered) / sum(|slice| slice.due).max(1.0),
        cpu_s_per_million: cpu_s / acked * 1e6,
        cpu_pct: cpu_s / seconds * 100.0,
        schedule_lag_p50_ms: lag.value_at_quantile(0.5) as f64 / 1e3,
        schedule_lag_p99_ms: lag.value_at_quantile(0.99) as f64 / 1e3,
    }
}

#[expect(clippy::cast_precision_loss, reason = "points and rates far below 2^53")]
fn load(url: &str, effort: Effort) -> MqttLoad {
    let interval = Duration::from_secs_f64(effort.points as f64 / effort.per_s as f64);
    let plan = MqttPublish {
        connection: "sink".to_owned(),
        interval: Length(interval),
        topic: "fbf/scale/s{{ site }}/e{{ equip }}/{{ label }}".to_owned(),
        payload: json!({"point": "{{ topic }}", "value": "{{ value }}", "ts": "{{ ts }}"}),
        ts: TimestampFormat::UnixMs,
        qos: 1,
        retain: true,
        connections: effort.connections,
        inflight: effort.inflight,
        ack_timeout: Length::seconds(10),
        catch_up: Share(2.0),
        reconnect: Reconnect::default(),
        preflight: None,
    };
    let labels = ["supply_temp", "return_temp", "flow", "pressure", "valve"].map(str::to_owned).to_vec();
    let mqtt = Mqtt {
        url: url.to_owned(),
        user: None,
        password: None,
        client_id: "scaler".to_owned(),
        clean_session: true,
        keep_alive: Length::seconds(30),
        ca_file: None,
    };
    let fleet = Fleet { points: Count(effort.points), points_per_equip: 10, equips_per_site: 50, labels };
    MqttLoad { name: "calibration".to_owned(), plan, fleet, mqtt, ca_pem: None }
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
