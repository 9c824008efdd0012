//! Reads something on a period, at absolute times.
//!
//! Readings are made on a thread of their own, because an end that hangs must neither delay the news that it hangs (a gap at each
//! due time) nor the end of the watch.

use std::{
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use indexmap::IndexMap;

use crate::{
    record::entry::{Entry, Sample},
    run::emit::Emit,
};

/// The key of a gap that stands for all series.
pub(super) const ALL: &str = "*";

/// What one reading gave: values, and reasons where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// Series to value.
    pub(super) values: IndexMap<String, f64>,
    /// Series to reason; `*` stands for all.
    pub(super) gaps: IndexMap<String, String>,
}

impl Reading {
    /// No series has a value.
    pub(super) fn gap(reason: impl Into<String>) -> Self {
        Self { values: IndexMap::new(), gaps: IndexMap::from([(ALL.to_owned(), reason.into())]) }
    }

    /// Adds a series: its value, if it is finite, or the reason why it has none.
    pub(super) fn put(&mut self, series: impl Into<String>, value: Result<f64, String>) {
        let series = series.into();
        match value {
            Ok(value) if value.is_finite() => drop(self.values.insert(series, value)),
            Ok(value) => drop(self.gaps.insert(series, format!("{value} is no finite number"))),
            Err(reason) => drop(self.gaps.insert(series, reason)),
        }
    }
}

/// Something that can be read again and again.
pub(super) trait Reader: Send {
    /// Makes one reading.
    fn read(&mut self) -> Reading;
}

enum Message {
    Read(Reading, Instant),
    Stop,
}

/// A running sampler.
pub struct Sampler {
    messages: Sender<Message>,
    thread: JoinHandle<()>,
}

impl Sampler {
    /// Samples `reader` now and after each period.
    pub(super) fn start(name: &str, every: Duration, reader: Box<dyn Reader>, emit: Emit) -> Self {
        let (messages, inbox) = mpsc::channel();
        let asks = readings(reader, messages.clone());
        let due = Due::now(every);
        let ticker = Ticker { name: name.to_owned(), emit, asks, inbox, due, asked: None };
        Self { messages, thread: thread::spawn(move || ticker.run()) }
    }

    /// Ends it; no sample comes after this returns. A reading that is under way is left to end by itself.
    pub(super) fn stop(self) {
        let _ = self.messages.send(Message::Stop);
        let _ = self.thread.join();
    }
}

/// The thread that reads when it is asked.
fn readings(mut reader: Box<dyn Reader>, answers: Sender<Message>) -> Sender<()> {
    let (asks, inbox) = mpsc::channel::<()>();
    thread::spawn(move || {
        for () in inbox {
            let reading = reader.read();
            if answers.send(Message::Read(reading, Instant::now())).is_err() {
                return;
            }
        }
    });
    asks
}

/// Absolute due times: a late one does not move those after it, and missed ones are skipped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    next: Instant,
    every: Duration,
}

impl Due {
    /// The first one is now.
    pub(super) fn now(every: Duration) -> Self {
        Self { next: Instant::now(), every: every.max(Duration::from_millis(1)) }
    }

    /// The time until the next one.
    pub(super) fn left(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Moves on to the first one after `now`.
    pub(super) fn advance(&mut self, now: Instant) {
        let missed = now.saturating_duration_since(self.next).as_nanos() / self.every.as_nanos();
        self.next += self.every * u32::try_from(missed + 1).unwrap_or(u32::MAX);
    }
}

struct Ticker {
    name: String,
    emit: Emit,
    asks: Sender<()>,
    inbox: Receiver<Message>,
    due: Due,
    /// When the reading that is not answered yet was asked for.
    asked: Option<Instant>,
}

impl Ticker {
    fn run(mut self) {
        loop {
            match self.inbox.recv_timeout(self.due.left()) {
                Ok(Message::Read(reading, at)) => {
                    self.asked = None;
                    self.sample(reading, at);
                }
                Err(RecvTimeoutError::Timeout) => self.tick(),
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn tick(&mut self) {
        let now = Instant::now();
        self.due.advance(now);
        if let Some(asked) = self.asked {
            let waited = (now - asked).as_secs_f64();
            self.sample(Reading::gap(format!("no answer for {waited:.1} s to the reading before")), now);
        } else if self.asks.send(()).is_ok() {
            self.asked = Some(now);
        } else {
            self.sample(Reading::gap("the watch broke down"), now);
        }
    }

    fn sample(&self, reading: Reading, at: Instant) {
        let Reading { values, gaps } = reading;
        self.emit.entry(Entry::Sample(Sample { at: self.emit.at(at), watch: self.name.clone(), values, gaps }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_do_not_drift_and_missed_ones_are_skipped() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut due = Due { next: start, every: second };
        due.advance(start + Duration::from_millis(300));
        assert_eq!(due.next, start + second);
        due.advance(start + Duration::from_millis(4_200));
        assert_eq!(due.next, start + 5 * second);
    }

    struct Stuck(mpsc::Receiver<()>);
    impl Reader for Stuck {
        fn read(&mut self) -> Reading {
            let _ = self.0.recv();
            Reading::default()
        }
    }

    #[test]
    fn a_reading_that_hangs_is_a_gap_and_does_not_delay_the_end() {
        let (let_go, held) = mpsc::channel();
        let (out, entries) = mpsc::channel();
        let emit = Emit::new(Instant::now(), move |entry| out.send(entry).unwrap());
        let sampler = Sampler::start("w", Duration::from_millis(5), Box::new(Stuck(held)), emit);
        let Ok(Entry::Sample(sample)) = entries.recv() else { panic!("no sample") };
        assert!(sample.gaps[ALL].starts_with("no answer for"), "{:?}", sample.gaps);
        assert!(sample.values.is_empty());
        sampler.stop();
        drop(let_go);
    }
}
