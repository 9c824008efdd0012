//! The target's processes, from `/proc`: each service is its process and all descendants, added up.

use std::{sync::Arc, time::Instant};

use indexmap::IndexMap;

use super::{
    host::FIRST,
    sampler::{Reader, Reading},
    usage::{Switches, Usage, float},
};
use crate::{
    plan::{metric::PROCESS_SERIES, watch::ProcessWatch},
    target::services::{Seen, Services},
};

/// Reads the usage of services.
pub(super) struct ProcessReader {
    only: Vec<String>,
    services: Arc<Services>,
    known: IndexMap<String, Known>,
}

/// What is remembered of a service between two readings.
#[derive(Default)]
struct Known {
    /// Starts before this watch began.
    starts_before: Option<u64>,
    /// The process that the rest belongs to.
    pid: Option<u32>,
    /// CPU seconds, and when they were read.
    cpu: Option<(f64, Instant)>,
    switches: Switches,
}

impl ProcessReader {
    pub(super) fn new(watch: &ProcessWatch, services: Arc<Services>) -> Self {
        Self { only: watch.services.clone(), services, known: IndexMap::new() }
    }
}

impl Reader for ProcessReader {
    fn read(&mut self) -> Reading {
        let mut reading = Reading::default();
        let seen = self.services.seen();
        for service in &self.only {
            if !seen.iter().any(|seen| seen.name == *service) {
                reading.put(service, Err("the target has no such process".to_owned()));
            }
        }
        for service in seen.iter().filter(|seen| self.only.is_empty() || self.only.contains(&seen.name)) {
            self.known.entry(service.name.clone()).or_default().read(service, &mut reading);
        }
        reading
    }
}

impl Known {
    fn read(&mut self, service: &Seen, reading: &mut Reading) {
        let before = *self.starts_before.get_or_insert(service.starts.max(1));
        let restarts = service.starts.saturating_sub(before);
        let mut put = |series: &str, value| reading.put(format!("{}.{series}", service.name), value);
        put("restarts", Ok(float(restarts)));
        let usage = service.pid.ok_or_else(|| "the process does not run".to_owned()).and_then(Usage::of_tree);
        let usage = match usage {
            Ok(usage) => usage,
            Err(why) => {
                for (series, _) in PROCESS_SERIES.iter().filter(|(series, _)| *series != "restarts") {
                    put(series, Err(why.clone()));
                }
                return;
            }
        };
        if self.pid != service.pid {
            (self.pid, self.cpu, self.switches) = (service.pid, None, Switches::default());
        }
        put("cpu_pct", self.cpu_pct(usage.cpu_s));
        put("rss_bytes", usage.rss_bytes);
        put("anon_bytes", usage.anon_bytes);
        put("file_bytes", usage.file_bytes);
        put("swap_bytes", usage.swap_bytes);
        put("peak_rss_bytes", usage.peak_rss_bytes);
        put("threads", Ok(usage.threads));
        put("read_bytes", usage.read_bytes);
        put("write_bytes", usage.write_bytes);
        put("switches", Ok(self.switches.add(&usage.switches_by_thread)));
    }

    /// CPU seconds over the measured seconds since the reading before, in percent of one core.
    fn cpu_pct(&mut self, cpu_s: f64) -> Result<f64, String> {
        let now = Instant::now();
        let (before, at) = self.cpu.replace((cpu_s, now)).ok_or_else(|| FIRST.to_owned())?;
        let seconds = (now - at).as_secs_f64();
        if cpu_s < before || seconds <= 0.0 {
            return Err("a process of the service was replaced since the reading before".to_owned());
        }
        Ok(100.0 * (cpu_s - before) / seconds)
    }
}
