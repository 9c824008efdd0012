//! What the reader of a result should know of the run as a whole.

use crate::{
    measure::stats::count_u64,
    record::{
        cell::{CellRecord, Record},
        entry::{Host, Resumed, Subject},
    },
};

/// The load for each CPU above which a host is not quiet before a run.
const BUSY_PER_CPU: f64 = 0.5;

/// What the run as a whole leaves open, as far as the record shows it.
pub(super) fn caveats(record: &Record) -> Vec<String> {
    let mut caveats = Vec::new();
    match &record.finished {
        None => caveats.push("scaler was killed; the result ends with what was journaled until then".to_owned()),
        Some(finished) if finished.interrupted => caveats.push("the run was interrupted by its user".to_owned()),
        Some(_) => {}
    }
    for Resumed { run_id, cells, stopped_at, at } in &record.resumed {
        let gap_s = (at - stopped_at).max(0.0);
        caveats.push(format!(
            "the first {cells} cells are those of run {run_id}, which was interrupted; this run went on {gap_s:.0} s later with the \
             target started anew"
        ));
    }
    let Host { cpus, load1_at_start: load, .. } = record.started.host;
    if load > BUSY_PER_CPU * count_u64(cpus) {
        caveats.push(format!("the host was busy before the run: load {load:.2} on {cpus} CPUs"));
    }
    let is_live = |cell: &CellRecord| cell.started.subjects.values().any(|subject| *subject == Subject::LiveSafety);
    if !record.started.live_check && record.cells.iter().any(is_live) {
        caveats.push("the live system was not looked at: --no-live-check".to_owned());
    }
    for (name, commit) in &record.started.commits {
        if commit.ends_with("-dirty") {
            caveats.push(format!("{name} has changes that its commit {commit:.12} does not have"));
        } else if commit.starts_with("unknown") {
            caveats.push(format!("the commit of {name} is {commit}"));
        }
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{fixture, fold::fold};

    #[test]
    fn commits_that_prove_nothing_a_busy_host_and_an_unwatched_live_system_are_caveats() {
        let mut record = fold(fixture::run()).unwrap();
        record.started.commits = [("a", "unknown: no git"), ("b", "0123456789abcdef-dirty"), ("c", "0123")]
            .map(|(name, commit)| (name.to_owned(), commit.to_owned()))
            .into();
        record.started.host.load1_at_start = 1.5;
        record.started.live_check = false;
        let caveats = caveats(&record);
        assert_eq!(
            caveats,
            [
                "the host was busy before the run: load 1.50 on 2 CPUs",
                "the live system was not looked at: --no-live-check",
                "the commit of a is unknown: no git",
                "b has changes that its commit 0123456789ab does not have",
            ]
        );
    }
}
