//! What a container uses, from the engine's raw statistics. Pure: own differences between two samples over the time between
//! *their* moments, for both versions of cgroups.
//!
//! The field names are the kernel's (`memory.stat` of cgroup v1: `total_rss`, `total_cache`, `total_inactive_file`; of v2: `anon`, `file`,
//! `inactive_file`, `kernel`, `kernel_stack`, `slab`).

use bollard::models::{ContainerBlkioStats, ContainerStatsResponse};
use jiff::Timestamp;

/// One sample of a container. Counters run since its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// When the engine took it, in seconds of the engine's clock.
    pub at_s: f64,
    /// CPU seconds.
    pub cpu_s: f64,
    /// Scheduling periods in which it ran under its cap.
    pub periods: u64,
    /// Of these, periods in which the cap held it back.
    pub throttled_periods: u64,
    /// Memory without the page cache that can be given back.
    pub memory_bytes: f64,
    /// Memory of its processes.
    pub anon_bytes: Option<f64>,
    /// Page cache.
    pub file_bytes: Option<f64>,
    /// Memory of the kernel for it; cgroup v1 does not tell.
    pub kernel_bytes: Option<f64>,
    /// Its cap.
    pub limit_bytes: Option<f64>,
    /// Bytes read from block devices.
    pub read_bytes: Option<f64>,
    /// Bytes written to block devices.
    pub write_bytes: Option<f64>,
    /// Processes and threads.
    pub processes: f64,
}

/// What follows from two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// CPU in percent of one core.
    pub cpu_pct: f64,
    /// Periods in which the cap held it back, in percent of those in which it ran; none when it has no cap or did not run.
    pub throttled_pct: Option<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds of a container stay below 2^53")]
fn float(value: u64) -> f64 {
    value as f64
}

impl Usage {
    /// Reads a sample.
    ///
    /// # Errors
    /// When the container did not run at the time.
    pub fn of(stats: &ContainerStatsResponse) -> Result<Self, String> {
        let silent = || "the container did not run".to_owned();
        let read: Timestamp = stats.read.as_ref().and_then(|read| read.parse().ok()).ok_or_else(silent)?;
        let cpu = stats.cpu_stats.as_ref().ok_or_else(silent)?;
        let cpu_ns =
            cpu.cpu_usage.as_ref().and_then(|usage| usage.total_usage).filter(|total| *total > 0).ok_or_else(silent)?;
        let throttling = cpu.throttling_data.clone().unwrap_or_default();
        let memory = stats.memory_stats.as_ref().ok_or_else(silent)?;
        let details = memory.stats.clone().unwrap_or_default();
        let field = |names: &[&str]| names.iter().find_map(|name| details.get(*name)).copied().map(float);
        let inactive = field(&["total_inactive_file", "inactive_file"]).unwrap_or(0.0);
        let kernel = field(&["kernel"]).or_else(|| Some(field(&["kernel_stack"])? + field(&["slab"])?));
        let blocks = stats.blkio_stats.as_ref();
        Ok(Self {
            at_s: read.as_duration().as_secs_f64(),
            cpu_s: float(cpu_ns) / 1e9,
            periods: throttling.periods.unwrap_or(0),
            throttled_periods: throttling.throttled_periods.unwrap_or(0),
            memory_bytes: (float(memory.usage.unwrap_or(0)) - inactive).max(0.0),
            anon_bytes: field(&["total_rss", "anon"]),
            file_bytes: field(&["total_cache", "file"]),
            kernel_bytes: kernel,
            limit_bytes: memory.limit.map(float),
            read_bytes: blocks.and_then(|blocks| moved(blocks, "read")),
            write_bytes: blocks.and_then(|blocks| moved(blocks, "write")),
            processes: float(stats.pids_stats.as_ref().and_then(|pids| pids.current).unwrap_or(0)),
        })
    }

    /// What happened between an earlier sample and this one.
    ///
    /// # Errors
    /// When a counter ran backwards, as the container was started again, or no time passed.
    pub fn since(&self, before: &Self) -> Result<Rates, String> {
        let seconds = self.at_s - before.at_s;
        if seconds <= 0.0 {
            return Err("the engine has no newer sample".to_owned());
        }
        if self.cpu_s < before.cpu_s || self.periods < before.periods {
            return Err("the container was started again since the reading before".to_owned());
        }
        let periods = self.periods - before.periods;
        let throttled = self.throttled_periods.saturating_sub(before.throttled_periods);
        Ok(Rates {
            cpu_pct: 100.0 * (self.cpu_s - before.cpu_s) / seconds,
            throttled_pct: (periods > 0).then(|| 100.0 * float(throttled) / float(periods)),
        })
    }
}

/// Bytes that moved between block devices and the container; none when the kernel does not count them.
fn moved(blocks: &ContainerBlkioStats, direction: &str) -> Option<f64> {
    let entries = blocks.io_service_bytes_recursive.as_ref()?;
    let of = |op: &Option<String>| op.as_ref().is_some_and(|op| op.eq_ignore_ascii_case(direction));
    Some(
        entries
            .iter()
            .filter(|entry| of(&entry.op))
            .filter_map(|entry| entry.value)
            .map(float)
            .fold(0.0, |sum, bytes| sum + bytes),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn usage(read: &str, cpu_ns: u64, periods: (u64, u64), memory: &Value) -> Usage {
        let stats = json!({
            "read": read,
            "cpu_stats": {
                "cpu_usage": { "total_usage": cpu_ns },
                "throttling_data": { "periods": periods.0, "throttled_periods": periods.1, "throttled_time": 0 }
            },
            "memory_stats": memory,
            "pids_stats": { "current": 3 },
            "blkio_stats": { "io_service_bytes_recursive": [
                { "major": 8, "minor": 0, "op": "Read", "value": 10 }, { "major": 8, "minor": 0, "op": "write", "value": 20 },
                { "major": 8, "minor": 16, "op": "Write", "value": 5 }, { "major": 8, "minor": 0, "op": "Total", "value": 99 }
            ] }
        });
        Usage::of(&serde_json::from_value(stats).expect("statistics")).expect("it ran")
    }

    fn v1() -> Value {
        json!({ "usage": 1000, "limit": 4000, "stats": { "total_rss": 300, "total_cache": 600, "total_inactive_file": 400, "rss": 1 } })
    }

    #[test]
    fn both_versions_of_cgroups_are_read() {
        let one = usage("2026-01-01T00:00:00Z", 1, (0, 0), &v1());
        assert_eq!((one.memory_bytes, one.anon_bytes, one.file_bytes), (600.0, Some(300.0), Some(600.0)));
        assert_eq!((one.kernel_bytes, one.limit_bytes), (None, Some(4000.0)));
        assert_eq!((one.read_bytes, one.write_bytes, one.processes), (Some(10.0), Some(25.0), 3.0));
        let v2 = json!({ "usage": 1000, "limit": 4000, "stats": { "anon": 300, "file": 500, "inactive_file": 400, "kernel_stack": 16, "slab": 32 } });
        let two = usage("2026-01-01T00:00:00Z", 1, (0, 0), &v2);
        assert_eq!((two.memory_bytes, two.anon_bytes, two.kernel_bytes), (600.0, Some(300.0), Some(48.0)));
    }

    /// The form of Docker's answer on cgroup v2: no `max_usage`, other names in `stats`, operations in small letters, the rest null.
    #[test]
    fn a_whole_sample_of_cgroup_v2_is_read() {
        let stats = json!({
            "read": "2026-01-01T00:00:01.5Z", "preread": "0001-01-01T00:00:00Z", "num_procs": 0, "storage_stats": {},
            "pids_stats": { "current": 7, "limit": 28000 },
            "blkio_stats": {
                "io_service_bytes_recursive": [
                    { "major": 259, "minor": 0, "op": "read", "value": 4096 }, { "major": 259, "minor": 0, "op": "write", "value": 8192 }
                ],
                "io_serviced_recursive": null, "io_queue_recursive": null, "sectors_recursive": null
            },
            "cpu_stats": {
                "cpu_usage": { "total_usage": 2_500_000_000_u64, "usage_in_kernelmode": 500_000_000, "usage_in_usermode": 2_000_000_000 },
                "system_cpu_usage": 90_000_000_000_u64, "online_cpus": 2,
                "throttling_data": { "periods": 40, "throttled_periods": 30, "throttled_time": 1_200_000_000 }
            },
            "memory_stats": {
                "usage": 50_000_000, "limit": 134_217_728,
                "stats": {
                    "active_anon": 4096, "active_file": 2_000_000, "anon": 30_000_000, "anon_thp": 0, "file": 12_000_000, "file_mapped": 6_000_000,
                    "inactive_anon": 29_000_000, "inactive_file": 10_000_000, "kernel_stack": 100_000, "slab": 900_000, "sock": 4096
                }
            }
        });
        let usage = Usage::of(&serde_json::from_value(stats).expect("statistics")).expect("it ran");
        assert_eq!((usage.cpu_s, usage.periods, usage.throttled_periods), (2.5, 40, 30));
        assert_eq!((usage.memory_bytes, usage.limit_bytes), (4e7, Some(134_217_728.0)));
        assert_eq!((usage.anon_bytes, usage.file_bytes, usage.kernel_bytes), (Some(3e7), Some(1.2e7), Some(1e6)));
        assert_eq!((usage.read_bytes, usage.write_bytes, usage.processes), (Some(4096.0), Some(8192.0), 7.0));
    }

    #[test]
    fn rates_are_taken_over_the_time_between_the_samples() {
        let before = usage("2026-01-01T00:00:00.5Z", 1_000_000_000, (10, 2), &v1());
        let after = usage("2026-01-01T00:00:02.5Z", 2_500_000_000, (30, 12), &v1());
        assert_eq!(after.since(&before), Ok(Rates { cpu_pct: 75.0, throttled_pct: Some(50.0) }));
        assert!(before.since(&before).is_err_and(|why| why.contains("no newer sample")));
        assert!(usage("2026-01-01T00:00:09Z", 1, (1, 0), &v1()).since(&before).is_err_and(|why| why.contains("again")));
        let idle = usage("2026-01-01T00:00:02.5Z", 1_000_000_000, (10, 2), &v1());
        assert_eq!(idle.since(&before), Ok(Rates { cpu_pct: 0.0, throttled_pct: None }));
    }

    #[test]
    fn a_container_that_does_not_run_is_no_zero() {
        let stats = json!({ "read": "0001-01-01T00:00:00Z", "cpu_stats": { "cpu_usage": { "total_usage": 0 } }, "memory_stats": {} });
        assert!(Usage::of(&serde_json::from_value(stats).expect("statistics")).is_err());
    }
}
