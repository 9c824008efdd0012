//! One stream of statistics for each container: a request for a single sample waits for the engine's next round, up to two
//! seconds, so the streams are kept open and the latest sample of each is remembered.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bollard::{models::ContainerStatsResponse, query_parameters::StatsOptionsBuilder};
use futures_util::StreamExt;
use tokio::task::JoinHandle;

use super::{Engine, Usage};

/// A sample that is older does not speak for the container any more; the engine gives one a second.
const STALE: Duration = Duration::from_secs(5);

type Latest = Arc<Mutex<Option<(Instant, ContainerStatsResponse)>>>;

struct Stream {
    latest: Latest,
    opened: Instant,
    task: JoinHandle<()>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The streams of some containers.
pub struct Streams {
    engine: Arc<Engine>,
    streams: HashMap<String, Stream>,
}

impl Streams {
    /// No stream is open yet.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, streams: HashMap::new() }
    }

    /// The latest sample of a container that runs; its stream is opened when it is not, or when it fell silent.
    ///
    /// # Errors
    /// When there is no sample that speaks for the present.
    pub fn latest(&mut self, id: &str) -> Result<Usage, String> {
        let fell_silent = |stream: &Stream| stream.opened.elapsed() > STALE && stream.age() > STALE;
        if self.streams.get(id).is_none_or(fell_silent) {
            let stream = self.open(id);
            self.streams.insert(id.to_owned(), stream);
        }
        let Some(stream) = self.streams.get(id) else { return Err("no stream".to_owned()) };
        let latest = stream.latest.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some((at, stats)) if at.elapsed() <= STALE => Usage::of(stats),
            Some(_) => Err("the engine gave no sample for some seconds".to_owned()),
            None => Err("the engine's first sample has not come yet".to_owned()),
        }
    }

    /// Closes the streams of all other containers.
    pub fn keep_only(&mut self, ids: &[&str]) {
        self.streams.retain(|id, _| ids.contains(&id.as_str()));
    }

    fn open(&self, id: &str) -> Stream {
        let latest = Latest::default();
        let options = StatsOptionsBuilder::new().stream(true).build();
        let mut samples = self.engine.docker.stats(id, Some(options));
        let into = Arc::clone(&latest);
        let task = self.engine.runtime.spawn(async move {
            while let Some(Ok(sample)) = samples.next().await {
                *into.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), sample));
            }
        });
        Stream { latest, opened: Instant::now(), task }
    }
}

impl Stream {
    /// How old its latest sample is.
    fn age(&self) -> Duration {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.as_ref().map_or(Duration::MAX, |(at, _)| at.elapsed())
    }
}
