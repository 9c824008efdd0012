//! What the store grows by at the measured rate: rows of a day, bytes of a day, and the same for a million points.

use super::{
    asked::Asked,
    measured::{Extent, Figure, Measured},
    metric,
    stats::count_u64,
};
use crate::{
    plan::{
        checked::{Part, Window},
        gate::Unit,
    },
    record::entry::Subject,
};

const SECONDS_A_DAY: f64 = 86_400.0;
const MANY_POINTS: f64 = 1e6;

/// A metric of growth, from the rows that `custody` counted and the series `WATCH.SERIES` of bytes.
pub(super) fn measure(asked: &Asked, custody: &str, bytes_per_row: &str, total_bytes: Option<&str>) -> Measured {
    let of = |name: String| figure(asked, &name);
    let row = || of(format!("{bytes_per_row}.last"));
    let rate = || of(format!("{custody}.stored_per_s"));
    let computed = match asked.name {
        "rows_per_day" => rate().map(|rate| scaled(&rate, SECONDS_A_DAY, asked.unit)),
        "bytes_per_row" => row().map(|row| scaled(&row, 1.0, asked.unit)),
        "bytes_per_day" => row().and_then(|row| Ok(times(&row, &rate()?))),
        "bytes_per_day_at_1m_points" => row().and_then(|row| Ok(at_many_points(&row, per_point(asked, custody)?))),
        "total_bytes" => match total_bytes {
            None => Err("the plan's [growth] names no `total_bytes`".to_owned()),
            Some(series) => of(format!("{series}.last")).map(|total| scaled(&total, 1.0, asked.unit)),
        },
        _ => return asked.unknown(),
    };
    computed.unwrap_or_else(Measured::unmeasured)
}

/// A metric that another is made of.
fn figure(asked: &Asked, metric: &str) -> Result<Figure, String> {
    let whole = Window { phase: None, part: Part::Whole };
    match metric::measure(asked.run, asked.cell, metric, &whole) {
        Measured::Value(figure) => Ok(figure),
        Measured::Unmeasured { why } => Err(format!("{metric} is unmeasured: {why}")),
    }
}

/// A figure times a factor, in another unit, over the same window.
fn scaled(figure: &Figure, factor: f64, unit: Unit) -> Measured {
    let extent = Extent { window: figure.window.clone(), from: figure.from, to: figure.to };
    Measured::value(figure.value() * factor, unit, figure.n, &extent).bounding(figure.exactness)
}

fn times(row: &Figure, rate: &Figure) -> Measured {
    let measured = scaled(row, rate.value() * SECONDS_A_DAY, Unit::Bytes);
    measured.note(format!("{:.0} bytes a row, {:.1} rows/s", row.value(), rate.value()))
}

fn at_many_points(row: &Figure, per_point: f64) -> Measured {
    let rate = MANY_POINTS * per_point;
    scaled(row, rate * SECONDS_A_DAY, Unit::Bytes).note(format!("{:.0} bytes a row, {rate:.0} rows/s", row.value()))
}

/// Readings per second of one point of the load that was reconciled.
fn per_point(asked: &Asked, custody: &str) -> Result<f64, String> {
    let load = asked.cell.custody.iter().find(|end| end.window == custody).map(|end| end.load.as_str());
    let load = load.ok_or_else(|| format!("the phase `{custody}` did not end"))?;
    match asked.cell.started.subjects.get(load) {
        Some(Subject::MqttPublish { nominal_per_s, points, .. }) if *points > 0 => {
            Ok(count_u64(*nominal_per_s) / count_u64(*points))
        }
        _ => Err(format!("`{load}` is no load with points")),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample_cell::{cell, default_window, open_window, open_window_of, push, run, sample, subject},
        *,
    };
    use crate::record::{
        cell::CellRecord,
        entry::{Custody, Entry, Ledger, Second},
    };

    /// 1000 points, of which 200 rows a second were stored at 240 bytes each.
    fn grown(total: Option<&str>) -> CellRecord {
        let mut cell = cell();
        subject(
            &mut cell,
            "db",
            Subject::Series { names: vec!["bytes_per_row".into()], every_ms: 1000, kind: "sql".into() },
        );
        subject(&mut cell, "custody", Subject::Phase { kind: "reconcile".into() });
        let (custody, bytes_per_row) = ("custody".into(), "db.bytes_per_row".into());
        let growth = Subject::Growth { custody, bytes_per_row, total_bytes: total.map(str::to_owned) };
        subject(&mut cell, "growth", growth);
        open_window(&mut cell, "soak", true, 10.0, 14.0);
        for second in 0..4_u32 {
            let at = 10.5 + f64::from(second);
            push(&mut cell, Entry::Sample(sample("db", at, "bytes_per_row", 237.0 + f64::from(second))));
        }
        open_window_of(&mut cell, "custody", "reconcile", false, 20.0, 21.0);
        let ledger = Second { second: 1, acked: 2000, ..Second::default() };
        push(&mut cell, Entry::Ledger(Ledger { load: "readings".into(), seconds: vec![ledger] }));
        push(
            &mut cell,
            Entry::Custody(Custody {
                window: "custody".into(),
                load: "readings".into(),
                acked: 2000,
                stored: 2000,
                seconds: 10,
                whole_seconds: 8,
                stored_in_whole: 1600,
                identified: true,
                ..Custody::default()
            }),
        );
        cell
    }

    fn asked(cell: &CellRecord, name: &str) -> Measured {
        metric::measure(&run(), cell, &format!("growth.{name}"), &default_window())
    }

    #[test]
    fn a_day_at_the_measured_rate_and_a_million_points() {
        let cell = grown(Some("db.bytes_per_row"));
        let value = |name: &str| asked(&cell, name).figure().map(|figure| (figure.value(), figure.unit));
        assert_eq!(value("rows_per_day"), Some((200.0 * 86_400.0, Unit::Count)));
        assert_eq!(value("bytes_per_row"), Some((240.0, Unit::Bytes)));
        assert_eq!(value("bytes_per_day"), Some((200.0 * 240.0 * 86_400.0, Unit::Bytes)));
        assert_eq!(value("bytes_per_day_at_1m_points"), Some((200_000.0 * 240.0 * 86_400.0, Unit::Bytes)));
        assert_eq!(value("total_bytes"), Some((240.0, Unit::Bytes)));
        let rows = asked(&cell, "rows_per_day");
        assert_eq!(rows.figure().map(|figure| (figure.n, figure.window.as_str())), Some((1600, "custody")));
        let bytes = asked(&cell, "bytes_per_day");
        assert_eq!(bytes.figure().map(|figure| (figure.n, figure.window.as_str())), Some((4, "soak")));
    }

    #[test]
    fn what_a_figure_is_made_of_is_missing() {
        let mut cell = grown(None);
        assert!(asked(&cell, "total_bytes").figure().is_none());
        cell.samples.clear();
        let why = "db.bytes_per_row.last is unmeasured: the watch gave no sample in the window";
        assert_eq!(asked(&cell, "bytes_per_day"), Measured::unmeasured(why));
        assert!(asked(&cell, "rows_per_day").figure().is_some(), "rows need no bytes");
        cell.custody.clear();
        assert!(asked(&cell, "rows_per_day").figure().is_none());
    }
}
