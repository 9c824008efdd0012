//! What a judgement looks like: of one gate, of one cell, of the whole run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    measure::measured::in_words,
    plan::gate::{Comparison, Miss, Unit},
};

/// The word of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Every bar was met, and everything that was to be measured was measured.
    Pass,
    /// The system does not meet a bar.
    Fail,
    /// Nothing can be said of the system.
    Inconclusive,
}

impl Word {
    /// The word as it is printed.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// How a gate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The value satisfies the bound.
    Held,
    /// The value does not satisfy the bound.
    Broken,
    /// There is no value. Never as good as held.
    Unmeasured,
}

/// One gate and how it ended, with everything that is needed to derive it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateOutcome {
    /// The gate's name.
    pub name: String,
    /// Its metric's full name.
    pub metric: String,
    /// The window that the value was taken over, in words.
    pub window: String,
    /// How it ended.
    pub standing: Standing,
    /// The value that was compared; none when unmeasured.
    pub value: Option<f64>,
    /// The unit of `value`, `bound` and `margin`.
    pub unit: Unit,
    /// The comparison.
    pub comparison: Comparison,
    /// The bound.
    pub bound: f64,
    /// The bound as the plan wrote it.
    pub bound_text: String,
    /// How far the value is on the good side of the bound, in its unit; negative when broken, none when unmeasured.
    pub margin: Option<f64>,
    /// How many observations the value rests on.
    pub n: Option<u64>,
    /// What a miss means.
    pub miss: Miss,
    /// The cause that an inconclusive miss is reported with.
    pub cause: Option<String>,
    /// Whether a broken bound is a proof.
    pub proof: bool,
    /// The gate without which this one is a caveat at best.
    pub requires: Option<String>,
    /// Why the gate does not count in full: the gate that it requires does not hold.
    pub demoted: Option<String>,
    /// Why it is unmeasured, or what the reader of the value must know.
    pub why: Option<String>,
    /// Why the bar is where it is.
    pub because: Option<String>,
}

impl GateOutcome {
    /// The margin as a share of the bound, to find the gate that is closest to breaking; none when unmeasured or the bound is 0.
    #[must_use]
    pub fn margin_ratio(&self) -> Option<f64> {
        self.margin.filter(|_| self.bound != 0.0).map(|margin| margin / self.bound.abs())
    }

    /// The outcome in one line: `lag.p95_s = 7.31 s, must be < 5s (n = 30, soak)`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let bar = format!("must be {} {}", self.comparison.sign(), self.bound_text);
        if let (Some(value), Some(n)) = (self.value, self.n) {
            let note = self.why.as_ref().map(|why| format!(", {why}")).unwrap_or_default();
            return format!("{} = {}, {bar} (n = {n}, {}{note})", self.metric, in_words(value, self.unit), self.window);
        }
        let why = self.why.as_deref().unwrap_or("no reason was recorded");
        format!("{} is unmeasured: {why}; it {bar}", self.metric)
    }
}

/// The judgement of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellVerdict {
    /// The word.
    pub word: Word,
    /// Why it is not a pass: the first broken gate in words, the cause of an inconclusive gate, or what was not measured.
    pub cause: Option<String>,
    /// The names of the gates that made the word, in the plan's order; empty for a pass.
    pub decided_by: Vec<String>,
    /// All gates, in the plan's order.
    pub gates: Vec<GateOutcome>,
    /// What the reader should know although it decided nothing.
    pub caveats: Vec<String>,
    /// What stopped the system; absent for a pass.
    pub bottleneck: Option<Bottleneck>,
}

/// Which part was at its limit, from evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bottleneck {
    /// The part: a process of the target, a queue, a probe, the generator or the disk; none when no evidence was found.
    pub part: Option<String>,
    /// The evidence in one sentence without a full stop; when no part is named, what was looked at in vain.
    pub evidence: String,
    /// How sure that is.
    pub confidence: Confidence,
}

/// How sure a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One sign, or none.
    Low,
    /// The part was at its limit, or two signs agree.
    Medium,
    /// The part was at its limit, and another sign agrees.
    High,
}

impl Confidence {
    /// The word as it is printed.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The judgement of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunVerdict {
    /// Pass when every step of the plan ran and passed; fail when one failed; inconclusive otherwise.
    pub word: Word,
    /// The highest step that passed below every failure.
    pub highest_pass: Option<u64>,
    /// The lowest step that failed.
    pub lowest_fail: Option<u64>,
    /// Why the climb ended, with numbers; `not reached: …` when no step failed.
    pub stopped_by: String,
    /// What stopped the system at the lowest failing step.
    pub bottleneck: Option<Bottleneck>,
}
