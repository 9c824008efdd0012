//! Numbers in a JSON answer.

use crate::{
    ends::{Ends, number_at},
    plan::watch::HttpJsonWatch,
    watch::sampler::{Reader, Reading},
    web::Web,
};

/// Reads pointers in the answer to a path.
pub(super) struct HttpJsonReader {
    web: Web,
    watch: HttpJsonWatch,
}

impl HttpJsonReader {
    pub(super) fn new(watch: &HttpJsonWatch, ends: &Ends) -> Result<Self, String> {
        Ok(Self { web: ends.web(&watch.connection)?, watch: watch.clone() })
    }
}

impl Reader for HttpJsonReader {
    fn read(&mut self) -> Reading {
        let (answer, seconds) = match self.web.timed_json(&self.watch.path) {
            Ok(timed) => timed,
            Err(why) => return Reading::gap(why),
        };
        let mut reading = Reading::default();
        for (series, pointer) in &self.watch.series {
            reading.put(series, number_at(&answer, pointer));
        }
        if let Some(series) = &self.watch.seconds {
            reading.put(series, Ok(seconds));
        }
        reading
    }
}
