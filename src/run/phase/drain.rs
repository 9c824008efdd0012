//! `drain`: stop the loads and wait until the store is at rest.

use super::super::{
    interpreter::{Halt, Interpreter},
    world::{Answer, Call},
};
use crate::{
    plan::phase::Drain,
    record::entry::{Drained, Entry},
};

/// Seconds between two looks at the store.
const LOOK_S: f64 = 0.1;

/// What is known of a number that should come to rest. Pure.
#[derive(Debug, Default)]
struct Rest {
    first: Option<f64>,
    last: Option<f64>,
    first_moved_at: Option<f64>,
    changed_at: f64,
}

impl Rest {
    /// Takes a reading; a number that differs from the last one has moved.
    fn see(&mut self, at: f64, number: f64) {
        match self.last {
            None => (self.first, self.changed_at) = (Some(number), at),
            Some(last) if last.total_cmp(&number).is_ne() => {
                self.first_moved_at.get_or_insert(at);
                self.changed_at = at;
            }
            Some(_) => {}
        }
        self.last = Some(number);
    }

    /// Whether the number was seen, and has stood still for `still_s`.
    fn is_still(&self, at: f64, still_s: f64) -> bool {
        self.last.is_some() && at - self.changed_at >= still_s
    }
}

impl Interpreter<'_> {
    pub(super) fn drain(&mut self, name: &str, drain: &Drain) -> Result<(), Halt> {
        let begun = self.now();
        let limit = begun + drain.within.as_secs_f64();
        for load in &drain.stop {
            self.stop(load)?;
        }
        if let Some(canary) = &drain.canary {
            self.ask(Call::QuietCanary(canary.clone()))?;
        }
        let stopped = self.now();
        let mut rest = Rest { changed_at: stopped, ..Rest::default() };
        let wrong = self.wait_for_rest(drain, limit, &mut rest)?;
        let canaries_unseen = self.finish_canary(drain)?;
        self.record(Entry::Drained(Drained {
            window: name.to_owned(),
            settled: wrong.is_none(),
            drain_s: (rest.changed_at - stopped).max(0.0),
            waiting_s: rest.first_moved_at.map(|at| at - stopped),
            first: rest.first,
            last: rest.last,
            canaries_unseen,
            wrong,
        }))
    }

    /// Looks until everything is at rest (none) or the limit has passed (what was not).
    fn wait_for_rest(&mut self, drain: &Drain, limit: f64, rest: &mut Rest) -> Result<Option<String>, Halt> {
        loop {
            let unseen = match &drain.canary {
                Some(canary) => self.unseen(canary)?,
                None => 0.0,
            };
            let mut trouble = None;
            if let Some(query) = &drain.query {
                match self.try_ask(Call::Query(query.clone()))? {
                    Ok(Answer::Number(number)) => rest.see(self.now(), number),
                    Ok(_) => {}
                    Err(failure) => trouble = Some(failure.reason().to_owned()),
                }
            }
            let still = drain.query.is_none() || rest.is_still(self.now(), drain.still.as_secs_f64());
            if unseen <= 0.0 && still && trouble.is_none() {
                return Ok(None);
            }
            if self.now() >= limit {
                return Ok(Some(not_at_rest(drain, unseen, still, trouble)));
            }
            let next = self.now() + LOOK_S;
            self.pause_until(next)?;
        }
    }

    fn unseen(&mut self, canary: &str) -> Result<f64, Halt> {
        match self.ask(Call::CanaryUnseen(canary.to_owned()))? {
            Answer::Number(number) => Ok(number),
            _ => Err(Halt::PhaseFailed("the world gave an answer of another kind".to_owned())),
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of canaries")]
    fn finish_canary(&mut self, drain: &Drain) -> Result<Option<u64>, Halt> {
        let Some(canary) = &drain.canary else { return Ok(None) };
        let unseen = self.unseen(canary)?;
        self.stop(canary)?;
        Ok(Some(unseen as u64))
    }
}

fn not_at_rest(drain: &Drain, unseen: f64, still: bool, trouble: Option<String>) -> String {
    let mut reasons = Vec::new();
    if unseen > 0.0 {
        reasons.push(format!("{unseen} canary readings were not seen"));
    }
    match (trouble, still, &drain.query) {
        (Some(trouble), _, _) => reasons.push(format!("the store could not be read: {trouble}")),
        (None, false, Some(query)) => reasons.push(format!("query `{query}` did not stand still for {}", drain.still)),
        _ => {}
    }
    format!("not settled within {}: {}", drain.within, reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_keeps_moving_is_never_at_rest() {
        let mut rest = Rest::default();
        for step in 0..50 {
            let at = f64::from(step) * 0.1;
            rest.see(at, f64::from(step));
            assert!(!rest.is_still(at, 0.2));
        }
    }

    #[test]
    fn waiting_and_draining_are_told_apart() {
        let mut rest = Rest::default();
        for (at, number) in [(0.0, 5.0), (1.0, 5.0), (2.0, 9.0), (3.0, 12.0), (4.0, 12.0), (5.0, 12.0)] {
            rest.see(at, number);
        }
        assert_eq!((rest.first, rest.last), (Some(5.0), Some(12.0)));
        assert_eq!((rest.first_moved_at, rest.changed_at), (Some(2.0), 3.0));
        assert!(rest.is_still(5.0, 2.0) && !rest.is_still(4.9, 2.0));
    }

    #[test]
    fn what_was_never_read_is_not_still() {
        assert!(!Rest::default().is_still(100.0, 1.0));
    }
}
