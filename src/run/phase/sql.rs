//! `sql`: run a statement for its effect.

use super::super::{
    interpreter::{Halt, Interpreter},
    world::Call,
};
use crate::{plan::phase::SqlPhase, record::entry::Ran};

impl Interpreter<'_> {
    pub(super) fn sql(&mut self, name: &str, sql: &SqlPhase) -> Result<(), Halt> {
        let begun = self.now();
        let call = Call::Execute { connection: sql.connection.clone(), statement: sql.statement.clone() };
        let wrong = self.try_ask(call)?.err().map(|failure| failure.reason().to_owned());
        let seconds = self.now() - begun;
        self.ran(Ran { window: name.to_owned(), seconds, wrong, output: String::new() })
    }
}
