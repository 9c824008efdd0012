//! The host: load, CPU, memory, disk and pressure. Rates come from counter differences over the measured interval.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use procfs::{
    CpuPressure, CpuTime, Current, CurrentSI, IoPressure, KernelStats, LoadAverage, Meminfo, MemoryPressure, ProcResult,
};
use rustix::fs::statvfs;

use crate::{
    plan::watch::HostWatch,
    watch::{
        sampler::{Reader, Reading},
        usage::float,
    },
};

/// The reason of a rate's gap at the first reading.
pub(super) const FIRST: &str = "the first reading has none before it to compare with";

/// Reads `/proc`.
pub(super) struct HostReader {
    disk: PathBuf,
    before: Option<Counters>,
}

struct Counters {
    at: Instant,
    cpu: ProcResult<CpuTime>,
    /// Microseconds in which some task waited: CPU, I/O, memory.
    stalled_us: [(&'static str, ProcResult<u64>); 3],
}

impl HostReader {
    pub(super) fn new(watch: &HostWatch, folder: &Path, plan_folder: &Path) -> Self {
        let disk = watch.disk.as_ref().map_or_else(|| folder.to_owned(), |disk| plan_folder.join(disk));
        Self { disk, before: None }
    }
}

impl Reader for HostReader {
    fn read(&mut self) -> Reading {
        let mut reading = Reading::default();
        let load = load1();
        reading.put("load1", load.clone());
        reading.put("load1_per_cpu", load.map(|load| load / cpus()));
        let memory = Meminfo::current().map_err(|error| error.to_string());
        let available =
            memory.and_then(|memory| memory.mem_available.ok_or_else(|| "the kernel does not say".to_owned()));
        reading.put("memory_available_bytes", available.map(float));
        reading.put("disk_free_bytes", disk_free_bytes(&self.disk).map(float));
        let now = Counters::read();
        now.rates(self.before.as_ref(), &mut reading);
        self.before = Some(now);
        reading
    }
}

impl Counters {
    fn read() -> Self {
        Self {
            at: Instant::now(),
            cpu: KernelStats::current().map(|stats| stats.total),
            stalled_us: [
                ("cpu_pressure_pct", CpuPressure::current().map(|pressure| pressure.some.total)),
                ("io_pressure_pct", IoPressure::current().map(|pressure| pressure.some.total)),
                ("memory_pressure_pct", MemoryPressure::current().map(|pressure| pressure.some.total)),
            ],
        }
    }

    fn rates(&self, before: Option<&Self>, reading: &mut Reading) {
        let cpu = self.cpu.as_ref().map_err(ToString::to_string);
        let earlier = before.map(|before| before.cpu.as_ref().map_err(ToString::to_string));
        let shares = match (cpu, earlier.unwrap_or_else(|| Err(FIRST.to_owned()))) {
            (Ok(now), Ok(then)) => shares(then, now),
            (Err(why), _) | (_, Err(why)) => Err(why),
        };
        reading.put("cpu_pct", shares.clone().map(|(busy, _)| busy));
        reading.put("steal_pct", shares.map(|(_, steal)| steal));
        for (index, (series, now)) in self.stalled_us.iter().enumerate() {
            let value = match (now, before.map(|before| (&before.stalled_us[index].1, before.at))) {
                (Err(error), _) => Err(format!("no pressure figures: {error}")),
                (Ok(now), Some((Ok(then), at))) => {
                    Ok(float(now.saturating_sub(*then)) / 1e4 / (self.at - at).as_secs_f64())
                }
                _ => Err(FIRST.to_owned()),
            };
            reading.put(*series, value);
        }
    }
}

/// Percent of the whole machine's time that was used, and that was stolen by the machine's own host (`proc_stat(5)`).
fn shares(then: &CpuTime, now: &CpuTime) -> Result<(f64, f64), String> {
    let passed = |field: fn(&CpuTime) -> u64| field(now).saturating_sub(field(then));
    let steal = passed(|cpu| cpu.steal.unwrap_or(0));
    // Time of guests is part of `user` and `nice` already.
    let busy = passed(|cpu| cpu.user)
        + passed(|cpu| cpu.nice)
        + passed(|cpu| cpu.system)
        + passed(|cpu| cpu.irq.unwrap_or(0))
        + passed(|cpu| cpu.softirq.unwrap_or(0));
    let total = busy + steal + passed(|cpu| cpu.idle) + passed(|cpu| cpu.iowait.unwrap_or(0));
    if total == 0 {
        return Err("the kernel's clock has not moved since the reading before".to_owned());
    }
    Ok((100.0 * float(busy) / float(total), 100.0 * float(steal) / float(total)))
}

/// The load average over one minute.
///
/// # Errors
/// When the kernel does not tell.
pub fn load1() -> Result<f64, String> {
    LoadAverage::current().map(|load| f64::from(load.one)).map_err(|error| error.to_string())
}

/// The number of CPUs that are online.
#[must_use]
pub fn cpus() -> f64 {
    let online = KernelStats::current().map_or(0, |stats| stats.cpu_time.len());
    float(online.max(1) as u64)
}

/// Free bytes, for users without privileges, of the disk that holds a folder.
///
/// # Errors
/// When the folder cannot be asked about.
pub fn disk_free_bytes(folder: &Path) -> Result<u64, String> {
    let disk = statvfs(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::metric::HOST_SERIES;

    #[test]
    fn every_series_of_the_vocabulary_is_there_or_has_a_reason() {
        let watch = HostWatch { disk: None };
        let mut reader = HostReader::new(&watch, Path::new("/"), Path::new("/"));
        for _ in 0..2 {
            let reading = reader.read();
            for (series, _) in HOST_SERIES {
                let known = reading.values.contains_key(*series) != reading.gaps.contains_key(*series);
                assert!(known, "{series} in {reading:?}");
            }
            assert_eq!(reading.values.len() + reading.gaps.len(), HOST_SERIES.len());
            assert!(reading.values["memory_available_bytes"] > 0.0 && reading.values["disk_free_bytes"] > 0.0);
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_a_reason() {
        let mut reader =
            HostReader::new(&HostWatch { disk: Some("gone".into()) }, Path::new("/"), Path::new("/nowhere"));
        assert!(reader.read().gaps["disk_free_bytes"].starts_with("/nowhere/gone: "));
    }
}
