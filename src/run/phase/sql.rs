//! `sql`: run a statement for its effect, and see that a counter moves by it.

use super::super::{
    interpreter::{Halt, Interpreter},
    world::{Answer, Call},
};
use crate::{
    plan::phase::{Moves, SqlPhase},
    record::entry::Ran,
};

impl Interpreter<'_> {
    pub(super) fn sql(&mut self, name: &str, sql: &SqlPhase) -> Result<(), Halt> {
        let begun = self.now();
        let wrong = self.statement(sql)?.err();
        let seconds = self.now() - begun;
        self.ran(Ran { window: name.to_owned(), seconds, wrong, output: String::new() })
    }

    fn statement(&mut self, sql: &SqlPhase) -> Result<Result<(), String>, Halt> {
        let before = match &sql.moves {
            Some(moves) => match self.counter(moves)? {
                Ok(before) => before,
                Err(why) => return Ok(Err(why)),
            },
            None => 0.0,
        };
        let call = Call::Execute { connection: sql.connection.clone(), statement: sql.statement.clone() };
        if let Err(failure) = self.try_ask(call)? {
            return Ok(Err(failure.reason().to_owned()));
        }
        sql.moves.as_ref().map_or(Ok(Ok(())), |moves| self.wait_for_counter(moves, before))
    }

    /// The counter's value, or why there is none.
    fn counter(&mut self, moves: &Moves) -> Result<Result<f64, String>, Halt> {
        Ok(match self.try_ask(Call::Query(moves.query.clone()))? {
            Ok(Answer::Number(number)) => Ok(number),
            Ok(_) => Err("the world gave an answer of another kind".to_owned()),
            Err(failure) => Err(format!("query `{}`: {}", moves.query, failure.reason())),
        })
    }

    /// Until the counter has risen by what it should; too much is as wrong as too little.
    #[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
    fn wait_for_counter(&mut self, moves: &Moves, before: f64) -> Result<Result<(), String>, Halt> {
        let by = moves.by.0 as f64;
        let limit = self.now() + moves.within.as_secs_f64();
        loop {
            let risen = match self.counter(moves)? {
                Ok(now) => now - before,
                Err(why) => return Ok(Err(why)),
            };
            if (risen - by).abs() < 0.5 {
                return Ok(Ok(()));
            }
            if risen > by || self.now() >= limit {
                let query = &moves.query;
                return Ok(Err(format!("query `{query}` rose by {risen} instead of {by} within {}", moves.within)));
            }
            let next = self.now() + moves.poll.as_secs_f64();
            self.pause_until(next)?;
        }
    }
}
