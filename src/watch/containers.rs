//! The target's containers, from the engine's streams of statistics.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{
    host::FIRST,
    sampler::{Reader, Reading},
    usage::float,
};
use crate::{
    engine::{Container, Engine, Rates, Streams, Usage},
    plan::{metric::CONTAINER_SERIES, watch::ContainersWatch},
};

/// Reads the usage of containers.
pub(super) struct ContainersReader {
    engine: Arc<Engine>,
    project: String,
    services: Vec<String>,
    streams: Streams,
    /// The sample before, by container.
    before: IndexMap<String, Usage>,
    /// Restarts before this watch began, by container.
    restarts_before: IndexMap<String, u64>,
}

impl ContainersReader {
    /// `services` are those of the target; the watch may name some of them.
    pub(super) fn new(watch: &ContainersWatch, services: &[&str], project: &str, engine: Arc<Engine>) -> Self {
        let all = services.iter().map(|name| (*name).to_owned()).collect();
        Self {
            streams: Streams::new(Arc::clone(&engine)),
            engine,
            project: project.to_owned(),
            services: if watch.services.is_empty() { all } else { watch.services.clone() },
            before: IndexMap::new(),
            restarts_before: IndexMap::new(),
        }
    }

    fn read_service(&mut self, service: &str, container: Option<&Container>, reading: &mut Reading) {
        let Some(container) = container else {
            reading.gaps.extend(gaps(service, "the target has no container of this service", true));
            return;
        };
        let before = *self.restarts_before.entry(container.id.clone()).or_insert(container.restarts);
        reading.put(format!("{service}.restarts"), Ok(float(container.restarts.saturating_sub(before))));
        if !container.is_running() {
            reading.gaps.extend(gaps(service, &format!("the container is {}", container.status), false));
            return;
        }
        match self.streams.latest(&container.id) {
            Ok(usage) => {
                let rates = match self.before.insert(container.id.clone(), usage.clone()) {
                    Some(before) => usage.since(&before),
                    None => Err(FIRST.to_owned()),
                };
                put(service, &usage, &rates, reading);
            }
            Err(why) => reading.gaps.extend(gaps(service, &why, false)),
        }
    }
}

impl Reader for ContainersReader {
    fn read(&mut self) -> Reading {
        let containers = match self.engine.containers(Some(&self.project)) {
            Ok(containers) => containers,
            Err(why) => return Reading::gap(why),
        };
        let ids: Vec<&str> = containers.iter().map(|container| container.id.as_str()).collect();
        self.streams.keep_only(&ids);
        let mut reading = Reading::default();
        for service in self.services.clone() {
            let container = containers.iter().find(|container| container.service == service);
            self.read_service(&service, container, &mut reading);
        }
        reading
    }
}

fn put(service: &str, usage: &Usage, rates: &Result<Rates, String>, reading: &mut Reading) {
    let untold = || "the kernel does not tell".to_owned();
    let known = |value: Option<f64>| value.ok_or_else(untold);
    let mut put = |series: &str, value| reading.put(format!("{service}.{series}"), value);
    put("cpu_pct", rates.clone().map(|rates| rates.cpu_pct));
    let throttled =
        rates.clone().and_then(|rates| rates.throttled_pct.ok_or_else(|| "it did not run under a cap".to_owned()));
    put("throttled_pct", throttled);
    put("memory_bytes", Ok(usage.memory_bytes));
    put("anon_bytes", known(usage.anon_bytes));
    put("file_bytes", known(usage.file_bytes));
    put("kernel_bytes", known(usage.kernel_bytes));
    put("memory_cap_pct", known(usage.limit_bytes.map(|limit| 100.0 * usage.memory_bytes / limit)));
    put("read_bytes", known(usage.read_bytes));
    put("write_bytes", known(usage.write_bytes));
    put("processes", Ok(usage.processes));
}

/// Every series of a service without a value, and why.
fn gaps(service: &str, why: &str, restarts_too: bool) -> Vec<(String, String)> {
    let series =
        CONTAINER_SERIES.iter().map(|(series, _)| *series).filter(|series| restarts_too || *series != "restarts");
    series.map(|series| (format!("{service}.{series}"), why.to_owned())).collect()
}
