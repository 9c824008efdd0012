//! The truth table: a fault of the reference target, what the target knows that it did, and what scaler says.
//!
//! Each row is one run of a short plan through the real binary. A row demands the exact truth in both directions: the counts that the target
//! kept of its fault, the gates that are broken and unmeasured and no others, the word and its cause, and what the row says beyond that. Each
//! run also holds its line in `tests/golden/truth-table.md` against what was said, figures aside; `SCALER_UPDATE=1` writes it.

mod golden;
mod rows;

use serde_json::Value;

use crate::end_to_end::{Bench, Run};

/// One row.
pub(crate) struct Row {
    /// The fault in words.
    fault: &'static str,
    /// The plan, without its folder and ending.
    plan: &'static str,
    /// The variables that switch it on.
    sets: &'static [&'static str],
    /// `WATCH.SERIES`: the target's own count of what it did; empty for none.
    truth: &'static str,
    /// The metrics of scaler that must equal that count.
    equal: &'static [&'static str],
    /// The gates that must be broken, in the plan's order; no others.
    broken: &'static [&'static str],
    /// The gates that must be unmeasured; no others.
    unmeasured: &'static [&'static str],
    /// The verdict.
    word: &'static str,
    /// What its cause begins with; empty for a pass.
    cause: &'static str,
    /// What else must be so.
    more: fn(&Run),
}

/// A row in which nothing is wrong; rows are written as what differs from it.
const HEALTHY: Row = Row {
    fault: "none",
    plan: "truth",
    sets: &[],
    truth: "",
    equal: &[],
    broken: &[],
    unmeasured: &[],
    word: "pass",
    cause: "",
    more: |_| {},
};

impl Row {
    /// Runs the plan and holds what scaler says against the truth.
    fn holds(&self) {
        let bench = Bench::new();
        let run = bench.run(&format!("tests/plans/{}.toml", self.plan), self.sets);
        let verdict = &run.cell(0)["verdict"];
        let context = format!("{verdict:#}\n{}", String::from_utf8_lossy(&run.output.stderr));
        assert_eq!(standing(&run, "broken"), self.broken, "broken: {context}");
        assert_eq!(standing(&run, "unmeasured"), self.unmeasured, "unmeasured: {context}");
        assert_eq!(run.line["verdict"], self.word, "{context}");
        let code = ["pass", "fail", "inconclusive"].iter().position(|word| *word == self.word);
        assert_eq!(run.output.status.code().and_then(|code| usize::try_from(code).ok()), code, "{context}");
        let cause = verdict["cause"].as_str().unwrap_or_default();
        assert!(cause.starts_with(self.cause) && cause.is_empty() == self.cause.is_empty(), "{context}");
        for gate in self.broken {
            let margin = gate_of(&run, gate)["margin"].as_f64().expect("a broken gate has a margin");
            assert!(margin < 0.0, "{gate} is broken by {margin}");
        }
        self.counts_are_equal(&run);
        (self.more)(&run);
        golden::holds(self.fault, &self.line(&run));
    }

    fn counts_are_equal(&self, run: &Run) {
        if let Some(truth) = self.counted(run) {
            assert!(truth > 0.0, "the fault was at work: {}", self.truth);
            for metric in self.equal {
                assert!((run.metric(0, metric) - truth).abs() < 0.5, "{metric} is not {} = {truth}", self.truth);
            }
        }
    }

    fn counted(&self, run: &Run) -> Option<f64> {
        let (watch, series) = self.truth.split_once('.')?;
        Some(run.truth(0, watch, series))
    }

    /// The row as the table shows it.
    fn line(&self, run: &Run) -> String {
        let switch = if self.sets.is_empty() { String::new() } else { format!("`{}`", self.sets.join("`, `")) };
        let truth = self.counted(run).map(|count| format!("{} = {count}", self.truth)).unwrap_or_default();
        let cause = run.cell(0)["verdict"]["cause"].as_str().map(|cause| format!(": {cause}")).unwrap_or_default();
        let others = self.broken.iter().chain(self.unmeasured).skip(1).copied().collect::<Vec<_>>().join("; ");
        let others = if others.is_empty() { others } else { format!(" (also: {others})") };
        format!("| {} | {switch} | {truth} | **{}**{cause}{others} |", self.fault, self.word)
    }
}

/// The gates that ended so, in the plan's order.
fn standing<'a>(run: &'a Run, standing: &str) -> Vec<&'a str> {
    let gates = run.cell(0)["gates"].as_array().expect("gates");
    gates.iter().filter(|gate| gate["standing"] == standing).filter_map(|gate| gate["name"].as_str()).collect()
}

fn gate_of<'a>(run: &'a Run, name: &str) -> &'a Value {
    let gates = run.cell(0)["gates"].as_array().expect("gates");
    gates.iter().find(|gate| gate["name"] == name).unwrap_or_else(|| panic!("no gate `{name}`"))
}
