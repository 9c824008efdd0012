//! `reconcile`: the ledger of what was acknowledged against what the store holds, second by second.

use serde_json::json;

use super::super::{
    interpreter::{Halt, Interpreter},
    world::{Answer, Call, Datum},
};
use crate::{
    load::expected::Expected,
    measure::custody::{self, Books, Row, StoredSecond},
    plan::phase::Reconcile,
    record::{
        cell::CellRecord,
        entry::{Custody, Entry, Reading},
    },
};

impl Interpreter<'_> {
    pub(super) fn reconcile(&mut self, name: &str, reconcile: &Reconcile) -> Result<(), Halt> {
        let Some(cell) = self.fold.cell().cloned() else {
            return Err(Halt::PhaseFailed("there is nothing to reconcile outside a cell".to_owned()));
        };
        let compared = match self.compare(name, reconcile, &cell)? {
            Ok(found) if found.missing > 0 => self.ask_again(name, reconcile, &cell, &found)?,
            compared => compared,
        };
        let custody = match compared {
            Ok(custody) => custody,
            Err(wrong) => Custody {
                window: name.to_owned(),
                load: reconcile.load.clone(),
                wrong: Some(wrong),
                ..Custody::default()
            },
        };
        self.record(Entry::Custody(custody))
    }

    /// Compares once more after a while: readings are lost only where the store has not changed in between. A pause of the path into the store
    /// may last longer than the stillness that the drain took for rest.
    fn ask_again(
        &mut self,
        name: &str,
        reconcile: &Reconcile,
        cell: &CellRecord,
        found: &Custody,
    ) -> Result<Result<Custody, String>, Halt> {
        let after = reconcile.ask_again_after;
        self.pause_until(self.now() + after.as_secs_f64())?;
        let again = self.compare(name, reconcile, cell)?;
        Ok(again.and_then(|again| {
            if (again.stored, again.missing) == (found.stored, found.missing) {
                return Ok(again);
            }
            Err(format!(
                "the store was not at rest: {} rows, {} readings missing; after {after} it was {} rows, {} missing; late is not lost",
                found.stored, found.missing, again.stored, again.missing
            ))
        }))
    }

    /// The comparison, or why the store could not be read.
    fn compare(
        &mut self,
        name: &str,
        reconcile: &Reconcile,
        cell: &CellRecord,
    ) -> Result<Result<Custody, String>, Halt> {
        let Some(seconds) = cell.seconds.get(&reconcile.load) else {
            return Ok(Err(format!("load `{}` has no ledger: it never ran in this cell", reconcile.load)));
        };
        let (Some(first), Some(last)) = (seconds.keys().next(), seconds.keys().last()) else {
            return Ok(Err(format!("the ledger of load `{}` is empty", reconcile.load)));
        };
        let stored = match self.rows_between(reconcile, &reconcile.rows_per_second, *first, *last + 1)? {
            Ok(rows) => rows.iter().map(|row| stored_second(row)).collect::<Result<Vec<_>, _>>(),
            Err(wrong) => Err(wrong),
        };
        let stored = match stored {
            Ok(stored) => stored,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let schedules = cell.schedules.iter().filter(|schedule| schedule.load == reconcile.load);
        let known: Result<Vec<Expected>, String> = schedules.cloned().map(Expected::new).collect();
        let known = match known {
            Ok(known) => known,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let doubts = cell.in_doubt.iter().filter(|doubt| doubt.load == reconcile.load);
        let in_doubt: Vec<Reading> = doubts.flat_map(|doubt| doubt.readings.iter().cloned()).collect();
        let books = Books {
            window: name,
            load: &reconcile.load,
            seconds,
            in_doubt: &in_doubt,
            stored: &stored,
            name_at_most: reconcile.name_at_most as usize,
        };
        let expected = |second| known.iter().flat_map(|known| known.readings(second)).collect();
        let mut halt = None;
        let mut rows_of = |second| match self.rows_of(reconcile, second) {
            Ok(rows) => rows,
            Err(reason) => {
                halt = Some(reason);
                Err("the comparison was broken off".to_owned())
            }
        };
        let custody = custody::compare(&books, &expected, &mut rows_of);
        halt.map_or(Ok(Ok(custody)), Err)
    }

    /// Every row of one payload second.
    fn rows_of(&mut self, reconcile: &Reconcile, second: i64) -> Result<Result<Vec<Row>, String>, Halt> {
        let Some(statement) = &reconcile.rows_of_second else {
            return Ok(Err("the plan has no `rows_of_second`".to_owned()));
        };
        let rows = self.rows_between(reconcile, statement, second, second + 1)?;
        Ok(rows.and_then(|rows| rows.iter().map(|row| stored_row(row)).collect()))
    }

    fn rows_between(
        &mut self,
        reconcile: &Reconcile,
        statement: &str,
        from_s: i64,
        to_s: i64,
    ) -> Result<Result<Vec<Vec<Datum>>, String>, Halt> {
        self.late = json!({ "from_s": from_s, "to_s": to_s });
        let statement = self.fill_late(statement)?;
        let call = Call::Rows { connection: reconcile.connection.clone(), statement };
        Ok(match self.try_ask(call)? {
            Ok(Answer::Rows { rows, .. }) => Ok(rows),
            Ok(_) => Err("the world gave an answer of another kind".to_owned()),
            Err(failure) => Err(failure.reason().to_owned()),
        })
    }
}

/// A row of `rows_per_second`: second, rows, sum.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "seconds and counts are whole and below 2^53"
)]
fn stored_second(row: &[Datum]) -> Result<StoredSecond, String> {
    let number = |column: usize| row.get(column).and_then(Datum::number);
    match (number(0), number(1)) {
        (Some(second), Some(rows)) if rows >= 0.0 => Ok(StoredSecond::new(second as i64, rows as u64, number(2))),
        _ => Err(format!("`rows_per_second` gave {row:?}; it must give second, rows and sum of values")),
    }
}

/// A row of `rows_of_second`: topic and value.
fn stored_row(row: &[Datum]) -> Result<Row, String> {
    match (row.first(), row.get(1).and_then(Datum::number)) {
        (Some(Datum::Text(topic)), Some(value)) => Ok((topic.clone(), value)),
        _ => Err(format!("`rows_of_second` gave {row:?}; it must give topic and value")),
    }
}
