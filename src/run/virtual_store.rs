//! What the virtual world's store and API answer.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    reason = "virtual seconds and counts are small"
)]

use std::fmt::Write as _;

use rand::RngExt;

use super::{
    virtual_world::VirtualWorld,
    world::{Answer, Datum, Failure, Request, World},
};
use crate::plan::probe::Probe;

impl VirtualWorld {
    pub(super) fn number(&self, query: &str) -> f64 {
        match query {
            "preflight_rows" => 1.0,
            "points_tagged" => self.points() as f64,
            "rows_stored" => self.stored() as f64,
            "statements_run" => self.calls.iter().filter(|call| *call == "Execute").count() as f64,
            other => panic!("the virtual world knows no query {other}"),
        }
    }

    /// What the store gives for the quickstart's two statements: the rows of a second, or the sums of all.
    pub(super) fn stored_rows(&mut self, statement: &str) -> Vec<Vec<Datum>> {
        let Some(load) = &self.load else { return Vec::new() };
        let from_s = number_after(statement, "ts >= ");
        let late_came =
            self.model.late_s.is_some_and(|late_s| load.ended.is_some_and(|ended| self.now() >= ended + late_s));
        let lost_one_in = if late_came { 0 } else { self.model.lost_one_in };
        let (mut left, mut lost) = (self.stored(), 0);
        let mut rows = Vec::new();
        for (second, known) in &load.seconds {
            let reached = left.min(known.acked) as usize;
            left -= reached as u64;
            if !statement.contains("GROUP BY") {
                if *second == from_s {
                    let kept = load.readings(*second).into_iter().take(reached).enumerate();
                    let kept = kept.filter(|(index, _)| lost_one_in == 0 || index % lost_one_in != 0);
                    rows.extend(kept.map(|(_, (topic, value))| vec![Datum::Text(topic), real(value)]));
                }
            } else if reached as u64 == known.acked && lost_one_in == 0 {
                rows.push(vec![Datum::Integer(*second), Datum::Integer(reached as i64), real(known.acked_sum)]);
            } else {
                let readings = load.readings(*second).into_iter().take(reached).enumerate();
                let (gone, kept): (Vec<_>, Vec<_>) =
                    readings.partition(|(index, _)| lost_one_in > 0 && index % lost_one_in == 0);
                lost += gone.len() as u64;
                let sum = kept.iter().map(|(_, (_, value))| value).sum();
                rows.push(vec![Datum::Integer(*second), Datum::Integer(kept.len() as i64), real(sum)]);
            }
        }
        if statement.contains("GROUP BY") {
            self.lost = lost;
        }
        rows
    }

    pub(super) fn response(&mut self, request: &Request) -> (f64, Result<Answer, Failure>) {
        let jitter = 0.95 + self.chance.random::<f64>() * 0.1;
        let list = self.plan().probes.values().any(|probe| match &probe.probe {
            Probe::Http(http) => http.path == request.path && http.expect.rows.is_some(),
            _ => false,
        });
        let (seconds, body) = if list {
            let mut body = "[0".to_owned();
            (1..self.points()).for_each(|_| write!(body, ",0").expect("a text takes all"));
            (0.002 + self.points() as f64 * self.model.list_s_per_point * jitter, body + "]")
        } else {
            (0.002 * jitter, r#"{"ok":true}"#.to_owned())
        };
        (seconds, Ok(Answer::Response { status: 200, body: body.into_bytes(), seconds }))
    }
}

/// A value in 1/1024 as the store gives it.
fn real(units: i64) -> Datum {
    Datum::Real(units as f64 / 1024.0)
}

/// The whole number that follows a text.
fn number_after(text: &str, before: &str) -> i64 {
    let rest = text.split(before).nth(1).unwrap_or_default();
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("a second in the statement")
}
