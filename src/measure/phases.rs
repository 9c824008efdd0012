//! Metrics of phases that end with one entry: publish, workflow, drain, exec and sql; [`super::outages`] has those of faults.
//!
//! A duration whose end was never seen is at least the time that was waited: enough to break a bar, never to meet one.

use super::{
    asked::Asked,
    measured::{Exactness, Extent, Figure, Measured},
    stats::{count, count_u64},
};
use crate::{
    plan::gate::Unit,
    record::entry::{Drained, Published, WorkflowRun},
};

/// The phase that the subject names.
///
/// # Errors
/// When it was not run.
pub(super) fn extent(asked: &Asked) -> Result<Extent, String> {
    let span = asked.cell.windows.iter().find(|span| span.name == asked.subject);
    span.map(|span| Extent { window: span.name.clone(), from: span.from, to: span.to })
        .ok_or_else(|| format!("the phase `{}` was not run", asked.subject))
}

/// The entries of the phase with a metric made of them; unmeasured when the phase left none.
pub(super) fn of_phase<'a, T: 'a>(
    asked: &Asked,
    entries: impl Iterator<Item = &'a T>,
    make: impl Fn(&[&T], &Extent) -> Measured,
) -> Measured {
    let measured = made(asked, entries, make);
    match measured.figure().map(Figure::value) {
        Some(value) if value < 0.0 => Measured::unmeasured(format!("the arithmetic gave {value}: the clock went back")),
        _ => measured,
    }
}

fn made<'a, T: 'a>(
    asked: &Asked,
    entries: impl Iterator<Item = &'a T>,
    make: impl Fn(&[&T], &Extent) -> Measured,
) -> Measured {
    let entries: Vec<&T> = entries.collect();
    match extent(asked) {
        Err(why) => Measured::unmeasured(why),
        Ok(_) if entries.is_empty() => Measured::unmeasured(format!("the phase `{}` did not end", asked.subject)),
        Ok(extent) => make(&entries, &extent),
    }
}

/// The one end that a phase has; a record with two of them is damaged, and neither is to be believed.
fn only<'a, T>(asked: &Asked, ends: &[&'a T]) -> Result<&'a T, String> {
    match ends {
        [end] => Ok(end),
        _ => Err(format!("the record has {} ends of the phase `{}`", ends.len(), asked.subject)),
    }
}

/// At least the whole phase, because what was waited for was not seen in it.
fn at_least_the_phase(extent: &Extent, n: u64, why: &str) -> Measured {
    let waited = Measured::value(extent.to - extent.from, Unit::Seconds, n, extent);
    waited.bounding(Exactness::AtLeast).note(format!("at least: {why}"))
}

/// A metric of a `publish` phase.
pub(super) fn publish(asked: &Asked) -> Measured {
    let entries = asked.cell.published.iter().filter(|published| published.window == asked.subject);
    of_phase(asked, entries, |entries, extent| {
        only(asked, entries).map_or_else(Measured::unmeasured, |one| published(asked, one, extent))
    })
}

fn published(asked: &Asked, published: &Published, extent: &Extent) -> Measured {
    let n = published.messages;
    let value = |value| Measured::value(value, asked.unit, n, extent);
    let wrong = || published.wrong.clone().unwrap_or_else(|| "not every message was acknowledged".to_owned());
    let complete = published.acked >= published.messages;
    match asked.name {
        "messages" => value(count_u64(published.messages)),
        "acked" => value(count_u64(published.acked)),
        "publish_s" if complete => value(published.publish_s),
        "publish_s" => at_least_the_phase(extent, n, &wrong()),
        "visible_s" => match (published.visible_s, published.wanted) {
            (Some(seconds), _) => value(seconds),
            (None, None) => Measured::unmeasured("the phase has no `until`, so nothing says when they were visible"),
            (None, Some(wanted)) => {
                let seen = published.seen.map_or_else(|| "nothing".to_owned(), |seen| seen.to_string());
                at_least_the_phase(extent, n, &format!("{seen} of {wanted} were seen"))
            }
        },
        "messages_per_s" => {
            let seconds = if published.wanted.is_some() { published.visible_s } else { Some(published.publish_s) };
            match seconds.filter(|seconds| *seconds > 0.0 && complete) {
                Some(seconds) => value(count_u64(published.messages) / seconds),
                None => Measured::unmeasured(wrong()),
            }
        }
        _ => asked.unknown(),
    }
}

/// A metric of a `workflow` phase.
pub(super) fn workflow(asked: &Asked) -> Measured {
    let runs = asked.cell.workflow_runs.iter().filter(|run| run.window == asked.subject);
    of_phase(asked, runs, |runs: &[&WorkflowRun], extent| {
        let n = runs.len() as u64;
        let wrong: Vec<&str> = runs.iter().filter_map(|run| run.wrong.as_deref()).collect();
        match (asked.name, wrong.first()) {
            ("failures", _) => Measured::value(count(wrong.len()), asked.unit, n, extent),
            ("seconds", Some(why)) => Measured::unmeasured(format!("the workflow did not end well: {why}")),
            ("seconds", None) => {
                let longest = longest_of(runs.iter().map(|run| run.seconds));
                Measured::value(longest, asked.unit, n, extent)
            }
            _ => asked.unknown(),
        }
    })
}

/// The longest, or the first that is negative: that one says that the clock went back.
pub(super) fn longest_of(durations: impl Iterator<Item = f64>) -> f64 {
    durations.fold(
        0.0,
        |longest, duration| if longest < 0.0 || duration < 0.0 { longest.min(duration) } else { longest.max(duration) },
    )
}

/// A metric of a `drain` phase.
pub(super) fn drain(asked: &Asked) -> Measured {
    let drains = asked.cell.drained.iter().filter(|drained| drained.window == asked.subject);
    of_phase(asked, drains, |drains, extent| {
        only(asked, drains).map_or_else(Measured::unmeasured, |one| drained(asked, one, extent))
    })
}

fn drained(asked: &Asked, drained: &Drained, extent: &Extent) -> Measured {
    let value = |value| Measured::value(value, asked.unit, 1, extent);
    match asked.name {
        "settled" => {
            let settled = value(if drained.settled { 1.0 } else { 0.0 });
            drained.wrong.as_ref().map_or(settled.clone(), |why| settled.note(why.clone()))
        }
        "drain_s" if drained.settled => value(drained.drain_s),
        "drain_s" => at_least_the_phase(extent, 1, "the store did not come to rest"),
        "waiting_s" => drained.waiting_s.map_or_else(|| Measured::unmeasured("the store did not move"), value),
        "drained_per_s" => match (drained.first, drained.last, drained.waiting_s) {
            (Some(first), Some(last), Some(waiting)) if drained.drain_s > waiting => {
                value((last - first) / (drained.drain_s - waiting))
            }
            _ => Measured::unmeasured("the store did not move long enough to give a rate"),
        },
        _ => asked.unknown(),
    }
}

/// A metric of an `exec` or `sql` phase.
pub(super) fn ran(asked: &Asked) -> Measured {
    let all = asked.cell.ran.iter().filter(|ran| ran.window == asked.subject);
    of_phase(asked, all, |all, extent| {
        let ran = match only(asked, all) {
            Ok(ran) => ran,
            Err(why) => return Measured::unmeasured(why),
        };
        match (asked.name, &ran.wrong) {
            ("failures", wrong) => Measured::value(if wrong.is_some() { 1.0 } else { 0.0 }, asked.unit, 1, extent),
            ("seconds", Some(why)) => Measured::unmeasured(format!("it failed: {why}")),
            ("seconds", None) => Measured::value(ran.seconds, asked.unit, 1, extent),
            _ => asked.unknown(),
        }
    })
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::{
        super::{
            metric,
            sample_cell::{cell, default_window, open_window_of, push, run, subject},
        },
        *,
    };
    use crate::record::{
        cell::CellRecord,
        entry::{Entry, Outage, Ran, Subject},
    };

    /// A phase from 10 to 70 s with its closing entry.
    fn phase(kind: &str, entry: Option<Entry>) -> CellRecord {
        let mut cell = cell();
        subject(&mut cell, "it", Subject::Phase { kind: kind.into() });
        open_window_of(&mut cell, "it", kind, false, 10.0, 70.0);
        if let Some(entry) = entry {
            push(&mut cell, entry);
        }
        cell
    }

    fn asked(cell: &CellRecord, name: &str) -> Measured {
        metric::measure(&run(), cell, &format!("it.{name}"), &default_window())
    }

    fn bound(cell: &CellRecord, name: &str) -> (f64, Exactness) {
        let measured = asked(cell, name);
        let figure = measured.figure().unwrap_or_else(|| panic!("{name}: {measured:?}"));
        (figure.value(), figure.exactness)
    }

    fn tags(visible_s: Option<f64>) -> Entry {
        Entry::Published(Published {
            window: "it".into(),
            messages: 1000,
            acked: 1000,
            publish_s: 2.0,
            visible_s,
            seen: Some(if visible_s.is_some() { 1000.0 } else { 400.0 }),
            wanted: Some(1000),
            wrong: visible_s.is_none().then(|| "400 of 1000 after 60 s".into()),
        })
    }

    fn outage(ready_at: Option<f64>) -> Entry {
        Entry::Outage(Outage {
            window: "it".into(),
            service: "listener".into(),
            action: "kill SIGKILL".into(),
            down_at: 20.0,
            up_at: 25.0,
            ready_at,
            pid_before: Some(1),
            pid_after: Some(2),
            ended: Some("signal 9".into()),
            proven: ready_at.is_some(),
            ..Outage::default()
        })
    }

    fn drain(settled: bool, waiting_s: Option<f64>) -> Entry {
        Entry::Drained(Drained {
            window: "it".into(),
            settled,
            drain_s: 12.0,
            waiting_s,
            first: Some(1000.0),
            last: Some(3000.0),
            canaries_unseen: Some(0),
            wrong: (!settled).then(|| "still growing after 60 s".into()),
        })
    }

    #[test]
    fn what_was_published_and_seen() {
        let cell = phase("publish", Some(tags(Some(4.0))));
        assert_eq!(bound(&cell, "visible_s"), (4.0, Exactness::Exact));
        assert_eq!(bound(&cell, "messages_per_s"), (250.0, Exactness::Exact));
    }

    #[test]
    fn what_never_became_visible_took_at_least_the_whole_phase() {
        let cell = phase("publish", Some(tags(None)));
        assert_eq!(bound(&cell, "visible_s"), (60.0, Exactness::AtLeast));
        assert_eq!(asked(&cell, "messages_per_s").figure(), None);
    }

    #[test]
    fn a_process_that_never_came_back_was_out_until_the_end() {
        assert_eq!(bound(&phase("fault", Some(outage(Some(27.0)))), "outage_max_s"), (7.0, Exactness::Exact));
        let gone = phase("fault", Some(outage(None)));
        assert_eq!(bound(&gone, "outage_max_s"), (50.0, Exactness::AtLeast));
        assert_eq!(bound(&gone, "ready_max_s"), (45.0, Exactness::AtLeast));
        assert_eq!(bound(&gone, "unproven").0, 1.0);
    }

    #[test]
    fn waiting_and_rate_of_a_drain_are_apart() {
        let cell = phase("drain", Some(drain(true, Some(2.0))));
        assert_eq!(
            ["settled", "drain_s", "waiting_s", "drained_per_s"].map(|name| bound(&cell, name).0),
            [1.0, 12.0, 2.0, 200.0]
        );
    }

    #[test]
    fn a_store_that_did_not_come_to_rest_has_no_drain_time() {
        let cell = phase("drain", Some(drain(false, None)));
        assert_eq!(bound(&cell, "settled").0, 0.0);
        assert_eq!(bound(&cell, "drain_s"), (60.0, Exactness::AtLeast));
        assert_eq!(asked(&cell, "waiting_s").figure(), None);
        assert_eq!(asked(&cell, "drained_per_s").figure(), None);
    }

    #[test]
    fn a_workflow_or_command_that_failed_has_no_duration() {
        let run = |wrong: Option<&str>| {
            let (window, workflow) = ("it".into(), "cx".into());
            let wrong = wrong.map(str::to_owned);
            Entry::WorkflowRun(WorkflowRun { workflow, window, at: 11.0, seconds: 3.0, steps: IndexMap::new(), wrong })
        };
        assert_eq!(bound(&phase("workflow", Some(run(None))), "seconds").0, 3.0);
        let failed = phase("workflow", Some(run(Some("login: status 500"))));
        assert_eq!((asked(&failed, "seconds").figure(), bound(&failed, "failures").0), (None, 1.0));

        let ran = |wrong: Option<&str>| {
            Entry::Ran(Ran {
                window: "it".into(),
                seconds: 1.5,
                wrong: wrong.map(str::to_owned),
                output: String::new(),
            })
        };
        assert_eq!(bound(&phase("exec", Some(ran(None))), "seconds").0, 1.5);
        let failed = phase("sql", Some(ran(Some("syntax"))));
        assert_eq!((asked(&failed, "seconds").figure(), bound(&failed, "failures").0), (None, 1.0));
    }

    #[test]
    fn a_phase_that_did_not_end_or_was_not_run_is_unmeasured() {
        for (kind, name) in [("publish", "visible_s"), ("fault", "outages"), ("drain", "settled"), ("exec", "failures")]
        {
            let mut cell = phase(kind, None);
            assert_eq!(asked(&cell, name), Measured::unmeasured("the phase `it` did not end"));
            cell.windows.clear();
            assert_eq!(asked(&cell, name), Measured::unmeasured("the phase `it` was not run"));
        }
    }
}
