//! Metrics of a `reconcile` phase, from the comparison that [`super::custody`] made.
//!
//! Three things are never called a loss, and never called whole either: a store that was not at rest, a ledger in which nothing
//! was acknowledged, and a difference whose readings could not be identified.

use super::{
    asked::Asked,
    kills,
    measured::{Exactness, Extent, Measured},
    phases,
    stats::count_u64,
};
use crate::record::{
    cell::CellRecord,
    entry::{Custody, SecondOutcome},
};

/// A metric of a `reconcile` phase.
pub(super) fn measure(asked: &Asked) -> Measured {
    let extent = match phases::extent(asked) {
        Ok(extent) => extent,
        Err(why) => return Measured::unmeasured(why),
    };
    let ends: Vec<&Custody> = asked.cell.custody.iter().filter(|custody| custody.window == asked.subject).collect();
    match ends[..] {
        [] => Measured::unmeasured(format!("the phase `{}` did not end", asked.subject)),
        [Custody { wrong: Some(why), .. }] => Measured::unmeasured(format!("the store could not be read: {why}")),
        [custody] => match contradiction(asked.cell, custody) {
            Some(why) => Measured::unmeasured(format!("the record contradicts itself: {why}")),
            None => of(asked, custody, &extent),
        },
        _ => Measured::unmeasured(format!("the record has {} ends of the phase `{}`", ends.len(), asked.subject)),
    }
}

/// What in a comparison cannot be: a damaged or made-up record must not pass for one without losses.
fn contradiction(cell: &CellRecord, custody: &Custody) -> Option<String> {
    let ledger = cell
        .seconds
        .get(&custody.load)
        .map_or(0, |seconds| seconds.values().fold(0, |sum: u64, second| sum.saturating_add(second.acked)));
    if ledger != custody.acked {
        return Some(format!("the ledger has {ledger} acknowledged readings, {} were compared", custody.acked));
    }
    let of_seconds = |of: fn(&SecondOutcome) -> u64| custody.disagreeing.iter().map(of).fold(0, u64::saturating_add);
    let sums =
        [of_seconds(|second| second.missing), of_seconds(|second| second.surplus), of_seconds(|second| second.changed)];
    if sums != [custody.missing, custody.surplus, custody.changed] {
        return Some("its seconds do not add up to its sums".to_owned());
    }
    (custody.stored.saturating_add(custody.missing) < custody.acked)
        .then(|| format!("{} rows and {} missing make fewer than {}", custody.stored, custody.missing, custody.acked))
}

fn of(asked: &Asked, custody: &Custody, extent: &Extent) -> Measured {
    let count = |count: u64| Measured::value(count_u64(count), asked.unit, custody.acked, extent);
    let rate = |cpus: u64| {
        if custody.whole_seconds == 0 || cpus == 0 {
            return Measured::unmeasured("no whole payload second was compared");
        }
        let per_s = count_u64(custody.stored_in_whole) / count_u64(custody.whole_seconds) / count_u64(cpus);
        let figure = Measured::value(per_s, asked.unit, custody.stored_in_whole, extent);
        figure.note(format!("{} whole payload seconds", custody.whole_seconds))
    };
    match asked.name {
        "acked" => count(custody.acked),
        "stored" => count(custody.stored),
        "in_doubt" => count(custody.in_doubt),
        "stored_per_s" => rate(1),
        "stored_per_s_per_cpu" => rate(asked.run.host.cpus),
        "kills" => Measured::value(count_u64(kills_of(asked, custody)), asked.unit, 1, extent),
        "loss_chance_upper" => loss_chance_upper(asked, custody, extent),
        "surplus" => lower_bound_unless_identified(custody, count(custody.surplus)),
        "changed" | "missing" | "stored_ratio" if custody.acked == 0 => {
            Measured::unmeasured("nothing was acknowledged, so nothing could be lost")
        }
        "changed" => lower_bound_unless_identified(custody, count(custody.changed)),
        "missing" | "stored_ratio" if custody.missing > 0 && !at_rest(asked, extent) => Measured::unmeasured(format!(
            "{} acknowledged readings were not stored yet, and the store was not at rest",
            custody.missing
        )),
        "missing" => lower_bound_unless_identified(custody, count(custody.missing)),
        "stored_ratio" => {
            let ratio = 1.0 - count_u64(custody.missing) / count_u64(custody.acked);
            let figure = Measured::value(ratio, asked.unit, custody.acked, extent);
            if custody.identified { figure } else { figure.bounding(Exactness::AtMost).note(NOT_IDENTIFIED) }
        }
        _ => asked.unknown(),
    }
}

const NOT_IDENTIFIED: &str = "from counts and sums alone: the readings could not be identified";

fn lower_bound_unless_identified(custody: &Custody, figure: Measured) -> Measured {
    if custody.identified { figure } else { figure.bounding(Exactness::AtLeast).note(NOT_IDENTIFIED) }
}

fn kills_of(asked: &Asked, custody: &Custody) -> u64 {
    kills::kills(asked.cell, custody).len() as u64
}

/// How rare a loss may be after no loss in so many kills. A loss that was seen has no such bound, nor what is not known to be none.
fn loss_chance_upper(asked: &Asked, custody: &Custody, extent: &Extent) -> Measured {
    let kills = kills_of(asked, custody);
    let Some((upper, words)) = kills::loss_chance_upper(kills).zip(kills::in_words(kills)) else {
        return Measured::unmeasured(kills::NO_KILL);
    };
    match of(&Asked { name: "missing", ..*asked }, custody, extent) {
        Measured::Unmeasured { why } => Measured::unmeasured(why),
        Measured::Value(missing) if missing.value() > 0.0 => Measured::unmeasured(format!(
            "{} readings are missing: only no loss at all has such a bound",
            missing.value()
        )),
        Measured::Value(_) if !custody.identified => Measured::unmeasured(NOT_IDENTIFIED),
        Measured::Value(_) => Measured::value(upper, asked.unit, kills, extent).note(words),
    }
}

/// Whether the last drain before the comparison settled; without a drain the plan says that the store needs none.
fn at_rest(asked: &Asked, custody: &Extent) -> bool {
    let before = asked.cell.windows.iter().filter(|span| span.from < custody.from).rev();
    let mut drains = before.filter_map(|span| asked.cell.drained.iter().find(|drained| drained.window == span.name));
    drains.next().is_none_or(|drained| drained.settled)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            metric,
            sample_cell::{cell, default_window, open_window_of, push, run, slice, subject},
        },
        *,
    };
    use crate::record::{
        cell::CellRecord,
        entry::{Drained, Entry, Ledger, Outage, Second, Slice, Subject},
    };

    /// 1000 readings acknowledged over ten seconds, after a drain.
    fn reconciled(settled: bool, change: impl Fn(&mut Custody)) -> CellRecord {
        let mut cell = cell();
        subject(&mut cell, "custody", Subject::Phase { kind: "reconcile".into() });
        open_window_of(&mut cell, "drain", "drain", false, 10.0, 20.0);
        push(
            &mut cell,
            Entry::Drained(Drained {
                window: "drain".into(),
                settled,
                drain_s: 1.0,
                waiting_s: None,
                first: None,
                last: None,
                canaries_unseen: None,
                wrong: None,
            }),
        );
        open_window_of(&mut cell, "custody", "reconcile", false, 20.0, 21.0);
        let mut custody = Custody {
            window: "custody".into(),
            load: "readings".into(),
            acked: 1000,
            stored: 1000,
            seconds: 10,
            whole_seconds: 8,
            stored_in_whole: 800,
            identified: true,
            ..Custody::default()
        };
        change(&mut custody);
        let Custody { acked, missing, surplus, changed, .. } = custody;
        let outcome = SecondOutcome { second: 1, acked, in_doubt: 0, stored: 0, missing, surplus, changed };
        custody.disagreeing.push(outcome);
        let ledger = Second { second: 1, acked: custody.acked, ..Second::default() };
        push(&mut cell, Entry::Ledger(Ledger { load: "readings".into(), seconds: vec![ledger] }));
        push(&mut cell, Entry::Custody(custody));
        cell
    }

    fn asked(cell: &CellRecord, name: &str) -> Measured {
        metric::measure(&run(), cell, &format!("custody.{name}"), &default_window())
    }

    fn bound(cell: &CellRecord, name: &str) -> (f64, Exactness) {
        let measured = asked(cell, name);
        let figure = measured.figure().unwrap_or_else(|| panic!("{name}: {measured:?}"));
        (figure.value(), figure.exactness)
    }

    #[test]
    fn everything_is_stored() {
        let cell = reconciled(true, |_| {});
        let names = ["missing", "surplus", "changed", "stored_ratio", "stored_per_s", "stored_per_s_per_cpu"];
        assert_eq!(names.map(|name| bound(&cell, name).0), [0.0, 0.0, 0.0, 1.0, 100.0, 50.0]);
    }

    #[test]
    fn a_record_that_contradicts_itself_proves_nothing() {
        let mut twice = reconciled(true, |custody| (custody.missing, custody.stored) = (10, 990));
        let clean = Custody { missing: 0, stored: 1000, disagreeing: Vec::new(), ..twice.custody[0].clone() };
        twice.custody.insert(0, clean);
        let mut unledgered = reconciled(true, |_| {});
        unledgered.seconds.clear();
        let mut unsummed = reconciled(true, |custody| (custody.missing, custody.stored) = (10, 990));
        unsummed.custody[0].missing = 0;
        let gone = reconciled(true, |custody| custody.stored = 10);
        for (name, cell) in [("twice", twice), ("no ledger", unledgered), ("sums", unsummed), ("rows", gone)] {
            assert_eq!(asked(&cell, "missing").figure(), None, "{name}");
            assert_eq!(asked(&cell, "stored_ratio").figure(), None, "{name}");
        }
    }

    #[test]
    fn a_load_of_a_moment_has_no_rate() {
        let cell = reconciled(true, |custody| (custody.whole_seconds, custody.stored_in_whole) = (0, 0));
        assert_eq!(asked(&cell, "stored_per_s"), Measured::unmeasured("no whole payload second was compared"));
    }

    #[test]
    fn a_surplus_never_pays_for_a_shortage() {
        let cell = reconciled(true, |custody| (custody.missing, custody.surplus) = (10, 10));
        assert_eq!(bound(&cell, "missing"), (10.0, Exactness::Exact));
        assert_eq!(bound(&cell, "stored_ratio"), (0.99, Exactness::Exact));
    }

    #[test]
    fn a_store_that_was_not_at_rest_has_lost_nothing_yet() {
        let cell = reconciled(false, |custody| custody.missing = 10);
        assert_eq!(asked(&cell, "missing").figure(), None);
        assert_eq!(asked(&cell, "stored_ratio").figure(), None);
        assert_eq!(bound(&reconciled(false, |_| {}), "missing").0, 0.0, "all that was acknowledged is there");
    }

    #[test]
    fn nothing_lost_of_nothing_is_not_good() {
        let cell = reconciled(true, |custody| custody.acked = 0);
        for name in ["missing", "changed", "stored_ratio"] {
            assert_eq!(asked(&cell, name).figure(), None, "{name}");
        }
    }

    #[test]
    fn differences_that_were_not_identified_are_bounds() {
        let cell = reconciled(true, |custody| (custody.changed, custody.identified) = (1, false));
        assert_eq!(bound(&cell, "changed"), (1.0, Exactness::AtLeast));
        assert_eq!(bound(&cell, "missing"), (0.0, Exactness::AtLeast));
        assert_eq!(bound(&cell, "stored_ratio"), (1.0, Exactness::AtMost));
    }

    /// Kills by their moment and whether they are proven, while the load ran from 5 to 9 s.
    fn killed(cell: &mut CellRecord, kills: &[(f64, bool)]) {
        push(cell, Entry::Slice(Slice { from: 5.0, to: 9.0, ..slice(5.0, 1_000) }));
        for (down_at, proven) in kills {
            push(
                cell,
                Entry::Outage(Outage {
                    window: "kill".into(),
                    service: "listener".into(),
                    action: "kill SIGKILL".into(),
                    down_at: *down_at,
                    up_at: down_at + 1.0,
                    ready_at: Some(down_at + 2.0),
                    pid_before: Some(1),
                    pid_after: Some(2),
                    ended: Some("signal 9".into()),
                    proven: *proven,
                    ..Outage::default()
                }),
            );
        }
    }

    #[test]
    fn no_loss_in_k_kills_is_told_with_its_bound() {
        let mut cell = reconciled(true, |_| {});
        assert_eq!(asked(&cell, "loss_chance_upper"), Measured::unmeasured(kills::NO_KILL));
        killed(&mut cell, &[(6.0, true), (7.0, true), (8.0, false), (9.5, true)]);
        assert_eq!(bound(&cell, "kills").0, 2.0, "one is not proven, one came after the load");
        let measured = asked(&cell, "loss_chance_upper");
        let figure = measured.figure().unwrap();
        assert!((figure.value() - (1.0 - 0.05_f64.sqrt())).abs() < 1e-12 && figure.n == 2, "{figure:?}");
        assert!(figure.note.as_ref().unwrap().contains("so few say little"), "{figure:?}");
    }

    #[test]
    fn a_loss_or_what_is_not_known_has_no_bound() {
        let lost = |custody: &mut Custody| (custody.missing, custody.stored) = (10, 990);
        let cells =
            [reconciled(true, lost), reconciled(false, lost), reconciled(true, |custody| custody.identified = false)];
        for mut cell in cells {
            killed(&mut cell, &[(6.0, true)]);
            assert_eq!(bound(&cell, "kills").0, 1.0);
            assert!(asked(&cell, "loss_chance_upper").figure().is_none());
        }
    }

    #[test]
    fn a_store_that_could_not_be_read_is_unmeasured() {
        let cell = reconciled(true, |custody| custody.wrong = Some("refused".into()));
        for name in ["acked", "stored", "missing", "surplus", "changed", "stored_ratio", "stored_per_s"] {
            assert_eq!(asked(&cell, name), Measured::unmeasured("the store could not be read: refused"), "{name}");
        }
    }
}
