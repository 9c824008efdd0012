//! Metrics of `fault` phases: how long a process was away, and how long it took to be what it was before.

use super::{
    asked::Asked,
    measured::{Exactness, Extent, Measured},
    phases::{longest_of, of_phase},
    stats::count,
};
use crate::{
    plan::gate::Unit,
    record::entry::{Outage, Timed},
};

/// A metric of a `fault` phase.
pub(super) fn fault(asked: &Asked) -> Measured {
    let outages = asked.cell.outages.iter().filter(|outage| outage.window == asked.subject);
    of_phase(asked, outages, |outages: &[&Outage], extent| {
        let n = outages.len() as u64;
        match asked.name {
            "outages" => Measured::value(count(outages.len()), asked.unit, n, extent),
            "unproven" => {
                let unproven = outages.iter().filter(|outage| !outage.proven).count();
                Measured::value(count(unproven), asked.unit, n, extent)
            }
            "outage_max_s" => longest(outages, extent, |outage| outage.down_at),
            "ready_max_s" => longest(outages, extent, |outage| outage.up_at),
            "first_query_s" => longest_timed(asked, outages, extent, |outage| &outage.first_query),
            "wal_replay_s" => longest_timed(asked, outages, extent, |outage| &outage.wal_replay),
            "retained_replay_s" => longest_timed(asked, outages, extent, |outage| &outage.retained_replay),
            "exit_code" => last_exit_code(asked, outages, extent),
            _ => asked.unknown(),
        }
    })
}

/// The longest time from a moment until a process was ready; one that never was took at least until the end of the phase.
fn longest(outages: &[&Outage], extent: &Extent, from: fn(&Outage) -> f64) -> Measured {
    let durations = outages.iter().map(|outage| outage.ready_at.unwrap_or(extent.to) - from(outage));
    let longest = longest_of(durations);
    let figure = Measured::value(longest, Unit::Seconds, outages.len() as u64, extent);
    match outages.iter().find(|outage| outage.ready_at.is_none()) {
        Some(outage) => {
            figure.bounding(Exactness::AtLeast).note(format!("at least: {} was not ready in time", outage.service))
        }
        None => figure,
    }
}

/// The longest of what was timed; one that was not seen leaves nothing to be said of the longest.
fn longest_timed(asked: &Asked, outages: &[&Outage], extent: &Extent, of: fn(&Outage) -> &Timed) -> Measured {
    let mut seconds = Vec::new();
    for outage in outages {
        match of(outage) {
            Timed::Seconds(timed) => seconds.push(*timed),
            Timed::Unseen(why) => return Measured::unmeasured(why.clone()),
        }
    }
    Measured::value(longest_of(seconds.into_iter()), asked.unit, outages.len() as u64, extent)
}

/// How the process of the last outage ended, as a shell tells it: 128 and the number of a signal.
fn last_exit_code(asked: &Asked, outages: &[&Outage], extent: &Extent) -> Measured {
    let Some(ended) = outages.last().and_then(|outage| outage.ended.as_ref()) else {
        return Measured::unmeasured("the process did not end");
    };
    let code = match ended.split_once(' ') {
        Some(("exit", code)) => code.parse().ok(),
        Some(("signal", signal)) => signal.parse().ok().map(|signal: f64| 128.0 + signal),
        _ => None,
    };
    let unknown = || Measured::unmeasured(format!("`{ended}` is no exit code"));
    code.map_or_else(unknown, |code| Measured::value(code, asked.unit, 1, extent))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            measured::Figure,
            metric,
            sample_cell::{cell, default_window, open_window_of, push, run, subject},
        },
        *,
    };
    use crate::record::entry::{Entry, Subject};

    /// A metric of a fault with these outages.
    fn asked(name: &str, outages: &[Outage]) -> Measured {
        let mut cell = cell();
        subject(&mut cell, "kill", Subject::Phase { kind: "fault".into() });
        open_window_of(&mut cell, "kill", "fault", false, 10.0, 70.0);
        for outage in outages {
            push(&mut cell, Entry::Outage(Outage { window: "kill".into(), ..outage.clone() }));
        }
        metric::measure(&run(), &cell, &format!("kill.{name}"), &default_window())
    }

    fn replayed(wal_replay: Timed) -> Outage {
        Outage { wal_replay, ..Outage::default() }
    }

    #[test]
    fn the_longest_is_told_only_when_each_was_seen() {
        let seen = |seconds| replayed(Timed::Seconds(seconds));
        let both = asked("wal_replay_s", &[seen(0.25), seen(0.75)]);
        assert_eq!(both.figure().map(|figure| (figure.value(), figure.n)), Some((0.75, 2)));
        let one = asked("wal_replay_s", &[seen(0.25), replayed(Timed::unseen("no redo"))]);
        assert_eq!(one, Measured::unmeasured("no redo"));
        assert_eq!(asked("first_query_s", &[seen(1.0)]), Measured::unmeasured("the record does not say"));
    }

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        let ended = |ended: &str| Outage { ended: Some(ended.to_owned()), ..Outage::default() };
        for (words, code) in [("exit 137", 137.0), ("signal 9", 137.0), ("exit 0", 0.0)] {
            assert_eq!(asked("exit_code", &[ended(words)]).figure().map(Figure::value), Some(code), "{words}");
        }
        assert_eq!(asked("exit_code", &[ended("gone")]), Measured::unmeasured("`gone` is no exit code"));
        assert_eq!(asked("exit_code", &[Outage::default()]), Measured::unmeasured("the process did not end"));
    }
}
