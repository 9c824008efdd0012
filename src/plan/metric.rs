//! The vocabulary of metrics: one entry each, with its unit, its good direction and its meaning.
//!
//! Checking resolves a gate's metric here; measuring computes every entry (a test holds the two together); help and documents are
//! printed from it. A metric's full name is `SUBJECT.NAME`; for a watch it is `WATCH.SERIES.AGGREGATE`.

use serde::Serialize;

use super::gate::Unit;

/// What a metric can be taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// An `mqtt_publish` load.
    MqttPublish,
    /// An `exec` load.
    ExecLoad,
    /// Any watch but the canary, through its series.
    Series,
    /// A canary.
    Canary,
    /// A probe.
    Probe,
    /// A `publish` phase.
    Publish,
    /// A `workflow` phase.
    Workflow,
    /// A `fault` phase.
    Fault,
    /// A `drain` phase.
    Drain,
    /// A `reconcile` phase.
    Reconcile,
    /// An `exec` or `sql` phase.
    Ran,
    /// The target: the subject `target`.
    Target,
    /// The container engine of a `compose` target: the subject `engine`.
    Engine,
    /// Live-safety: the subject `live_safety`.
    LiveSafety,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither.
    Neither,
}

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MetricSpec {
    /// What it is taken of.
    pub subject: SubjectKind,
    /// Its name behind the subject's.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its good direction.
    pub better: Better,
    /// Whether it can be taken over a window; otherwise it belongs to its phase.
    pub windowed: bool,
    /// What it means and where it comes from.
    pub meaning: &'static str,
}

macro_rules! metrics {
    ($($subject:ident { $($name:literal $unit:ident $better:ident $windowed:literal $meaning:literal;)+ })+) => {
        &[$($(MetricSpec { subject: SubjectKind::$subject, name: $name, unit: Unit::$unit, better: Better::$better, windowed: $windowed, meaning: $meaning }),+),+]
    };
}

/// All metrics but the aggregates of series.
pub const METRICS: &[MetricSpec] = metrics! {
    MqttPublish {
        "offered_ratio" Ratio Higher true "readings written over readings due in the window; below the bar the generator was short, not the system";
        "offered_per_s" PerSecond Higher true "readings written to the sockets per second of the window";
        "acked_per_s" PerSecond Higher true "readings acknowledged (PUBACK seen) per second of the window";
        "due" Count Neither true "readings whose due time lies in the window";
        "offered" Count Neither true "readings written to a socket for the first time";
        "acked" Count Neither true "readings whose PUBACK was seen";
        "resent" Count Lower true "readings written again with DUP";
        "timed_out" Count Lower true "readings whose PUBACK did not come within `ack_timeout`";
        "in_doubt" Count Lower false "readings written and never acknowledged when the load had stopped: neither stored nor lost";
        "backlog_max" Count Lower true "the most readings that were due and not yet written";
        "in_flight_max" Count Lower true "the most publishes that waited for their PUBACK";
        "disconnects" Count Lower true "connections lost";
        "reconnects" Count Lower true "connections made again";
        "schedule_lag_p50_s" Seconds Lower true "due to written, median";
        "schedule_lag_p99_s" Seconds Lower true "due to written, 99th percentile";
        "schedule_lag_max_s" Seconds Lower true "due to written, longest";
        "ack_service_p50_s" Seconds Lower true "written to PUBACK, median (service time)";
        "ack_service_p95_s" Seconds Lower true "written to PUBACK, 95th percentile (service time)";
        "ack_service_p99_s" Seconds Lower true "written to PUBACK, 99th percentile (service time)";
        "ack_service_max_s" Seconds Lower true "written to PUBACK, longest (service time)";
        "ack_response_p50_s" Seconds Lower true "due to PUBACK, median (response time)";
        "ack_response_p95_s" Seconds Lower true "due to PUBACK, 95th percentile (response time)";
        "ack_response_p99_s" Seconds Lower true "due to PUBACK, 99th percentile (response time)";
        "ack_response_max_s" Seconds Lower true "due to PUBACK, longest (response time)";
        "generator_cpu_pct" Percent Lower true "CPU of the generator's threads, percent of one core";
        "stall_max_s" Seconds Lower true "longest time in which the generator did not run at all: it was stopped or had no CPU, whatever the system did";
        "window_full_ratio" Ratio Lower true "share of the time in which a due reading waited because its connection's `inflight` publishes were all unacknowledged: the broker held the load up, not the generator";
        "generator_ceiling_ratio" Ratio Lower true "nominal rate over what `scaler calibrate` reached on this host; unmeasured without a calibration";
        "halves_ratio" Ratio Neither true "acknowledged per second in the last half over the first half; away from 1 the window was a transition";
    }
    ExecLoad {
        "unexpected_exits" Count Lower false "times that the command ended before it was stopped";
    }
    Canary {
        "n" Count Higher true "canary readings published in the window whose fate is known";
        "lost" Count Lower true "canary readings never seen within `lost_after`, or still unseen when the canary stopped";
        "p50_s" Seconds Lower true "publish to visible in the store, median";
        "p95_s" Seconds Lower true "publish to visible in the store, 95th percentile";
        "max_s" Seconds Lower true "publish to visible in the store, longest";
        "first_third_median_s" Seconds Lower true "median lag in the first third of the window";
        "last_third_median_s" Seconds Lower true "median lag in the last third of the window";
        "growth_s" Seconds Lower true "last third's median less the first third's: backlog growth";
    }
    Probe {
        "runs" Count Neither true "runs";
        "failures" Count Lower true "runs without the right answer";
        "cold_s" Seconds Lower true "median of the cold runs that gave the right answer";
        "warm_median_s" Seconds Lower true "median of the warm runs that gave the right answer; unmeasured when one did not";
        "warm_max_s" Seconds Lower true "longest warm run with the right answer";
        "bytes" Bytes Lower true "bytes of the largest answer";
    }
    Publish {
        "messages" Count Neither false "messages written";
        "acked" Count Neither false "messages acknowledged";
        "publish_s" Seconds Lower false "until the last PUBACK";
        "visible_s" Seconds Lower false "until the query showed them";
        "messages_per_s" PerSecond Higher false "messages over the time until they were visible, or acknowledged without `until`";
    }
    Workflow {
        "seconds" Seconds Lower false "from the first request to the last answer";
        "failures" Count Lower false "workflows that did not end well";
    }
    Fault {
        "outages" Count Neither false "times that the process was taken down";
        "unproven" Count Lower false "outages without proof that the process ended and another took its place";
        "outage_max_s" Seconds Lower false "taken down to ready again, longest";
        "ready_max_s" Seconds Lower false "brought back to ready again, longest";
    }
    Drain {
        "settled" Count Higher false "1 when the store came to rest within the limit, else 0";
        "drain_s" Seconds Lower false "stop of the load until the store last changed";
        "waiting_s" Seconds Lower false "stop of the load until the store first moved";
        "drained_per_s" PerSecond Higher false "what was drained over the time in which it moved";
    }
    Reconcile {
        "acked" Count Neither false "readings that the broker acknowledged";
        "stored" Count Neither false "rows over the same payload seconds";
        "missing" Count Lower false "acknowledged readings that are not stored, summed over the seconds; a surplus never pays for a shortage";
        "surplus" Count Lower false "rows that no reading explains";
        "changed" Count Lower false "rows whose value is not the one that was acknowledged";
        "in_doubt" Count Lower false "readings written and never acknowledged";
        "stored_ratio" Ratio Higher false "1 less missing over acknowledged";
        "stored_per_s" PerSecond Higher false "rows per second between the load's first and last payload second";
        "stored_per_s_per_cpu" PerSecond Higher false "the same over the CPUs of the host";
    }
    Ran {
        "seconds" Seconds Lower false "from the start to the end of the command or statement";
        "failures" Count Lower false "1 when it failed, else 0";
    }
    Target {
        "unexpected_exits" Count Lower true "processes of the target that ended although nobody took them down";
    }
    Engine {
        "oom_kills" Count Lower true "times that the kernel killed a process of a container for want of memory, from the engine's events";
        "restarts" Count Lower true "containers that the engine's restart policy started again, from the engine's events";
        "foreign_changes" Count Lower false "containers, networks, volumes and images of others that were not the same after the cell as before the target was started";
    }
    LiveSafety {
        "trips" Count Lower true "times that live-safety tripped";
    }
};

/// A way to make one number of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Aggregate {
    /// Its name behind the series'.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// The aggregates of a series.
pub const AGGREGATES: &[Aggregate] = &[
    Aggregate { name: "mean", meaning: "mean of the samples" },
    Aggregate { name: "stdev", meaning: "standard deviation of the samples (n ≥ 3)" },
    Aggregate { name: "median", meaning: "median of the samples" },
    Aggregate { name: "min", meaning: "least sample" },
    Aggregate { name: "max", meaning: "greatest sample" },
    Aggregate { name: "first", meaning: "first sample" },
    Aggregate { name: "last", meaning: "last sample" },
    Aggregate {
        name: "delta",
        meaning: "last less first; unmeasured when a sample is below the one before it (the counter was reset)",
    },
    Aggregate { name: "per_s", meaning: "delta over the measured seconds between the two samples" },
    Aggregate { name: "slope_per_min", meaning: "least-squares slope per minute" },
    Aggregate { name: "peak_over_first", meaning: "greatest less first: a transient's height" },
];

/// The series of a `process` watch behind the service's name, with their units.
pub const PROCESS_SERIES: &[(&str, Unit)] = &[
    ("cpu_pct", Unit::Percent),
    ("rss_bytes", Unit::Bytes),
    ("anon_bytes", Unit::Bytes),
    ("file_bytes", Unit::Bytes),
    ("swap_bytes", Unit::Bytes),
    ("peak_rss_bytes", Unit::Bytes),
    ("threads", Unit::Count),
    ("read_bytes", Unit::Bytes),
    ("write_bytes", Unit::Bytes),
    ("switches", Unit::Count),
    ("restarts", Unit::Count),
];

/// The series of a `containers` watch behind the service's name, with their units.
pub const CONTAINER_SERIES: &[(&str, Unit)] = &[
    ("cpu_pct", Unit::Percent),
    ("throttled_pct", Unit::Percent),
    ("memory_bytes", Unit::Bytes),
    ("anon_bytes", Unit::Bytes),
    ("file_bytes", Unit::Bytes),
    ("kernel_bytes", Unit::Bytes),
    ("memory_cap_pct", Unit::Percent),
    ("read_bytes", Unit::Bytes),
    ("write_bytes", Unit::Bytes),
    ("processes", Unit::Count),
    ("restarts", Unit::Count),
];

/// The series of a `host` watch, with their units.
pub const HOST_SERIES: &[(&str, Unit)] = &[
    ("load1", Unit::Number),
    ("load1_per_cpu", Unit::Number),
    ("cpu_pct", Unit::Percent),
    ("steal_pct", Unit::Percent),
    ("memory_available_bytes", Unit::Bytes),
    ("disk_free_bytes", Unit::Bytes),
    ("cpu_pressure_pct", Unit::Percent),
    ("io_pressure_pct", Unit::Percent),
    ("memory_pressure_pct", Unit::Percent),
];
