//! A statement whose first row gives the series.

use crate::{
    ends::Ends,
    plan::watch::SqlWatch,
    run::world::Datum,
    store::Store,
    watch::{
        STATEMENT_LIMIT,
        sampler::{Reader, Reading},
    },
};

/// Reads the first row of a statement.
pub(super) struct SqlReader {
    store: Store,
    watch: SqlWatch,
}

impl SqlReader {
    pub(super) fn new(watch: &SqlWatch, ends: &Ends) -> Result<Self, String> {
        Ok(Self { store: ends.store(&watch.connection, STATEMENT_LIMIT)?, watch: watch.clone() })
    }
}

impl Reader for SqlReader {
    fn read(&mut self) -> Reading {
        match self.store.rows(&self.watch.statement) {
            Ok(rows) => {
                let row = rows.rows.first();
                row.map_or_else(|| Reading::gap("the statement gave no row"), |row| self.name(row, rows.seconds))
            }
            Err(why) => Reading::gap(why),
        }
    }
}

impl SqlReader {
    fn name(&self, row: &[Datum], seconds: f64) -> Reading {
        let mut reading = Reading::default();
        for (column, series) in self.watch.series.iter().enumerate() {
            let value = match row.get(column) {
                Some(Datum::Null) => Err("NULL".to_owned()),
                Some(Datum::Text(text)) => {
                    Datum::Text(text.clone()).number().ok_or_else(|| format!("no number, but: {text}"))
                }
                Some(datum) => datum.number().ok_or_else(|| format!("{datum:?} is no number")),
                None => Err(format!("the row has only {} columns", row.len())),
            };
            reading.put(series, value);
        }
        if let Some(series) = &self.watch.seconds {
            reading.put(series, Ok(seconds));
        }
        reading
    }
}
