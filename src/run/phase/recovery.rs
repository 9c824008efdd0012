//! What a process needs after an outage, beyond being ready, until everything is as it was: the first query that is answered, the
//! replay of PostgreSQL's log, the retained messages. None of it fails the phase: what was not seen is told with its reason.

use super::super::{
    interpreter::{Halt, Interpreter},
    wal,
    world::{Answer, Call, TakeDown},
};
use crate::{plan::phase::Fault, record::entry::Timed};

/// How often the query is asked while it fails.
const ASK_EVERY_S: f64 = 0.05;

/// The lengths of an outage's end.
pub(super) struct Recovery {
    pub(super) first_query: Timed,
    pub(super) wal_replay: Timed,
    pub(super) retained_replay: Timed,
}

impl Recovery {
    /// What was never ready again has not recovered.
    pub(super) fn of_none_that_was_ready() -> Self {
        let unseen = || Timed::unseen("the process was not ready again in time");
        Self { first_query: unseen(), wal_replay: unseen(), retained_replay: unseen() }
    }
}

impl Interpreter<'_> {
    /// How many messages a new subscriber gets before the outage, or why that is not known; none when the plan does not ask.
    pub(super) fn retained_before(&mut self, fault: &Fault) -> Result<Option<Result<u64, String>>, Halt> {
        if fault.retained.is_none() {
            return Ok(None);
        }
        let counted = self.retained(fault, None)?;
        Ok(Some(counted.map(|(messages, _)| messages)))
    }

    /// Waits for what the plan asks of a process that is ready again. `times` are those when it was taken down and brought back.
    pub(super) fn recovery(
        &mut self,
        fault: &Fault,
        how: TakeDown,
        times: (f64, f64),
        before: Option<&Result<u64, String>>,
    ) -> Result<Recovery, Halt> {
        let (down_at, up_at) = times;
        Ok(Recovery {
            first_query: self.first_query(fault, down_at)?,
            retained_replay: self.retained_replay(fault, up_at, before)?,
            wal_replay: self.wal_replay(fault, how)?,
        })
    }

    fn first_query(&mut self, fault: &Fault, down_at: f64) -> Result<Timed, Halt> {
        let Some(query) = &fault.query else { return Ok(Timed::unseen("the fault names no `query`")) };
        let deadline = self.now() + fault.ready_within.as_secs_f64();
        loop {
            let why = match self.try_ask(Call::Query(query.clone()))? {
                Ok(_) => return Ok(Timed::Seconds(self.now() - down_at)),
                Err(failure) => failure.reason().to_owned(),
            };
            if self.now() >= deadline {
                let within = fault.ready_within;
                return Ok(Timed::unseen(format!("the query `{query}` was not answered within {within}: {why}")));
            }
            let next = self.now() + ASK_EVERY_S;
            self.pause_until(next)?;
        }
    }

    fn wal_replay(&mut self, fault: &Fault, how: TakeDown) -> Result<Timed, Halt> {
        if how.keeps_process() {
            return Ok(Timed::unseen("the process went on, so that nothing was replayed"));
        }
        let service = fault.service.clone();
        Ok(match self.try_ask(Call::Log { service })? {
            Ok(Answer::Text(log)) => wal::replay(&log)
                .map_or_else(|why| Timed::unseen(format!("the log of {} tells {why}", fault.service)), Timed::Seconds),
            Ok(_) => Timed::unseen("the world gave an answer of another kind"),
            Err(failure) => Timed::unseen(failure.reason()),
        })
    }

    fn retained_replay(
        &mut self,
        fault: &Fault,
        up_at: f64,
        before: Option<&Result<u64, String>>,
    ) -> Result<Timed, Halt> {
        let wanted = match before {
            None => return Ok(Timed::unseen("the fault names no `retained`")),
            Some(Err(why)) => return Ok(Timed::unseen(format!("they were not counted before: {why}"))),
            Some(Ok(0)) => return Ok(Timed::unseen("nothing was retained before")),
            Some(Ok(wanted)) => *wanted,
        };
        Ok(match self.retained(fault, Some(wanted))? {
            Ok((messages, at)) if messages >= wanted => Timed::Seconds(at - up_at),
            Ok((messages, _)) => Timed::unseen(format!("only {messages} of {wanted} retained messages came again")),
            Err(why) => Timed::unseen(why),
        })
    }

    /// Counts retained messages: how many came, and when the last one did.
    fn retained(&mut self, fault: &Fault, wanted: Option<u64>) -> Result<Result<(u64, f64), String>, Halt> {
        let Some(retained) = fault.retained.clone() else { return Ok(Err("the fault names no `retained`".to_owned())) };
        let within = fault.ready_within.0;
        let call = Call::Retained { connection: retained.connection, topics: retained.topics, wanted, within };
        Ok(match self.try_ask(call)? {
            Ok(Answer::Retained { messages, at }) => Ok((messages, at)),
            Ok(_) => Err("the world gave an answer of another kind".to_owned()),
            Err(failure) => Err(failure.reason().to_owned()),
        })
    }
}
