//! What may be said of a run: statements that the statistics support.
//!
//! `analysis` makes these, `report` prints them; neither adds a number of its own.
//!
//! It is over 500 lines because all that a report shows stands in one place.

use serde::{Deserialize, Serialize};

use crate::{
    BackingKind, CellId, Durability, Heat, Level, WorkUnit,
    plan::{Metric, View},
    record::Flag,
};

/// Everything that a report shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Findings {
    /// Groups of cells that differ only in what the plan compares.
    pub panels: Vec<Panel>,
    /// The raw device over the run: the noise row.
    pub noise: Vec<NoiseRow>,
    /// Cells that were skipped or failed as a whole: label and levels, reason, remedy.
    pub absent: Vec<Absent>,
    pub notices: Vec<Notice>,
    pub not_yet: Vec<NotYet>,
    /// How the run ended in words, the first that the plan asks for first: one for each answer, one alone where a
    /// comparison was asked for and no answer could be had, none where nothing was to be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endings: Vec<Ending>,
    /// What the blocks say: one per panel and primary metric with at least two rows to compare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// What each factor of the plan does, by primary metric; empty where fewer than two vary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<FactorFindings>,
}

/// Cells that differ only in what is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Panel {
    /// The shared levels in words: `sync=fdatasync`; empty when there is one panel.
    pub title: String,
    /// The shared levels.
    pub levels: Vec<Level>,
    /// What survives in this panel; the weakest of its rows.
    pub durability: Durability,
    pub reference: String,
    /// One row per cell, in plan order.
    pub rows: Vec<Row>,
    /// Phases over the rows, in the workload's order; empty where the workload is one loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseRow>,
    /// Comparisons with the reference, primary ones first; none where a row failed in more than half of the blocks.
    pub comparisons: Vec<Comparison>,
    /// The same loop at the same pace with nothing to do, where the workload tells it: what
    /// the clock and the machine add to every row. Over the trials of all rows.
    #[serde(default)]
    pub no_io: Option<NoIo>,
}

/// The row without I/O.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NoIo {
    /// Median operation per trial, over trials, in nanoseconds.
    pub p50_ns: Spread,
    /// 99th percentile per trial, over trials, in nanoseconds.
    pub p99_ns: Spread,
    /// Largest operation of all trials, in nanoseconds.
    pub ns_max: f64,
}

/// A cell over its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Row {
    pub cell: CellId,
    /// Label of the candidate, or the level that is compared.
    pub label: String,
    pub backing: BackingKind,
    pub durability: Durability,
    pub trials: u32,
    pub failed: u32,
    pub failure: Option<String>,
    /// Trials that could not be run as asked: nobody failed.
    #[serde(default)]
    pub skipped: u32,
    #[serde(default)]
    pub skip: Option<String>,
    /// One entry per operation.
    pub ops: Vec<OpSummary>,
    /// Arrivals per second over the trials.
    pub rate: Option<Spread>,
    /// Arrivals per second that were asked for.
    pub rate_asked: Option<f64>,
    /// Arrivals per second of the closed loop at the end of each trial, with the sync of what it put off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained: Option<Spread>,
    /// Counted facts, summed over the trials: `reads_mixed` and the like. Rates
    /// (`_per_s`) are the median over the trials.
    pub counts: Vec<(String, f64)>,
    /// Figures over the trials, by name: what a program told, bytes and calls of a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<(String, Spread)>,
    /// Kinds of doubt, each with the number of trials that it concerns.
    #[serde(default)]
    pub doubts: Vec<(String, u32)>,
    pub notes: Vec<String>,
}

/// One operation of a cell over its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OpSummary {
    pub op: String,
    pub view: View,
    /// Operations over all trials.
    pub count: u64,
    /// Measured seconds over all trials.
    pub measured_s: f64,
    /// Mean per trial, over trials.
    pub mean_ns: Spread,
    /// Standard deviation per trial, over trials.
    pub sd_ns: Spread,
    pub min_ns: u64,
    /// Largest operation of all trials: "largest of n", never ranked.
    pub max_ns: u64,
    /// Quantiles; see [`QuantileSummary::carried`].
    pub quantiles: Vec<QuantileSummary>,
}

/// A quantile of a cell: per trial, then over trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QuantileSummary {
    /// Share of the operations.
    pub q: f64,
    /// Over trials, in nanoseconds.
    pub value_ns: Spread,
    /// Episodes beyond it, over all trials.
    pub episodes: u64,
    /// At least ten episodes over at least three trials carry it (rule 7).
    pub carried: bool,
}

/// One phase over the rows of its panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseRow {
    /// Its name: unique in the panel.
    pub phase: String,
    pub label: String,
    pub suite: String,
    /// Hot or cold, where that makes a difference.
    pub heat: Option<Heat>,
    /// It belongs to the table that is looked at first.
    pub is_high_impact: bool,
    pub is_derived: bool,
    pub unit: WorkUnit,
    /// One entry per row of the panel, in the panel's order.
    pub cells: Vec<PhaseCell>,
}

/// One phase of one row over its trials.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseCell {
    pub trials: u32,
    pub failed: u32,
    pub failure: Option<String>,
    /// Work per second over the trials.
    pub rate: Option<Spread>,
    /// Seconds of the slowest lane, over the trials.
    pub elapsed_s: Option<Spread>,
    /// User and system CPU / elapsed time, over the trials: 1.0 is all of one CPU.
    pub cpu_share: Option<Spread>,
    /// Largest operation of all trials, in nanoseconds; absent where no operation repeats.
    pub latency_ns_max: Option<u64>,
    /// Start of the last lane after the first, in nanoseconds, over the trials.
    pub skew_ns: Option<Spread>,
    /// Counted facts: medians over the trials.
    pub values: Vec<(String, f64)>,
    /// Kinds of doubt, each with the number of trials that it concerns.
    pub flags: Vec<(String, u32)>,
}

/// A number over trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Spread {
    /// Median over trials.
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// Two rows of a panel compared within blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Comparison {
    pub metric: Metric,
    /// Label of the row that is divided by.
    pub reference: String,
    pub other: String,
    /// Fixed by the plan; otherwise exploratory.
    pub primary: bool,
    /// Blocks in which both rows have a trial.
    pub blocks: u32,
    /// Median over the blocks of reference divided by other (other divided by reference for rates): above 1, the
    /// other is faster.
    pub speedup: f64,
    /// Interval of that median at the level at which the answer tells the two apart; absent while it is open
    /// on a side.
    pub interval: Option<(f64, f64)>,
    pub claim: Claim,
}

/// What a comparison supports.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Claim {
    /// The other is faster than the reference.
    Faster,
    /// The other is slower than the reference.
    Slower,
    /// They differ by less than the margin.
    Equal {
        /// 0.05 is five per cent.
        margin: f64,
    },
    /// Not decided, or exploratory: values are shown, nothing is claimed.
    Open,
}

/// The raw device over the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NoiseRow {
    pub backing: BackingKind,
    pub probes: u32,
    /// Median write + flush over probes, in nanoseconds.
    pub p50_ns: Spread,
    /// 99th percentile over probes, in nanoseconds.
    pub p99_ns: Spread,
    /// Half the spread of the middle half of the medians, relative: 0.06 = +-6 %.
    pub half_width: f64,
}

/// A cell without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Absent {
    pub label: String,
    pub levels: String,
    /// `skipped` or `failed`.
    pub how: String,
    pub reason: String,
    pub remedy: String,
}

/// A doubt about the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Notice {
    /// As [`crate::record::Flag::kind`], and `drift`, `bimodal`, `clock-step`, `few-blocks`.
    pub kind: String,
    pub text: String,
    /// How many trials it concerns; 0 for the whole run.
    pub trials: u32,
}

/// Something that this run cannot tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NotYet {
    pub what: String,
    pub why: String,
}

/// How a question of the plan ended, in words; every writer prints these and no others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Ending {
    pub end: AnswerEnd,
    pub panel: String,
    pub sentence: String,
    /// The place of what it words among the answers; none where nothing was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<usize>,
    /// What all that it ranks survive, where others of its panel survive something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survives: Option<Durability>,
    /// Another quantile at which another row is ahead, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// What would answer it, where there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cure: Option<Cure>,
    /// Who is out by whom, and what a cold tier weighs, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// What makes and mounts the winner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// A command that would give an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cure {
    pub command: String,
    /// About how long it takes, in seconds, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
}

impl Ending {
    /// The word and the sentence: `WINNER xfs, 1.41x faster than ext4 ...`.
    pub fn line(&self) -> String {
        format!("{} {}", self.end, self.sentence)
    }
}

/// What the blocks of a run say to one question of its plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Answer {
    pub panel: String,
    pub metric: Metric,
    /// The raw response time ranked: the driver's own stalls are more than the margin of some row's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub raw: bool,
    pub end: AnswerEnd,
    /// Labels of those that may be the best, in plan order.
    pub left: Vec<String>,
    /// The best of those that are left beside the next one; absent where nothing is left.
    #[serde(default)]
    pub lead: Option<Lead>,
    pub out: Vec<OutOf>,
    /// Chance, at most, that this answer is wrong.
    pub alpha: f64,
    /// Rows that differ by less than this are equal: 0.05 is five per cent.
    pub margin: f64,
    /// About how many more blocks would decide it, if they went on as they did.
    pub more_blocks: Option<u32>,
    /// What withholds the verdict between some of those that are left, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Flag>,
    /// Doubts in which the rows differ, or without whose trials the end would be another, with that end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Flag>,
    /// Blocks that hold both the winner and its second; without a winner, the fewest that any two share that are left.
    pub blocks: u32,
    pub trials: u32,
    /// Trials that as many whole blocks as the run has would have taken.
    pub trials_of_whole_blocks: u32,
}

/// How a question ended.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerEnd {
    /// One row is the best.
    Winner,
    /// Those that are left are equal within the margin.
    Equal,
    /// It is not decided.
    #[default]
    NoAnswer,
}

impl std::fmt::Display for AnswerEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            AnswerEnd::Winner => "WINNER",
            AnswerEnd::Equal => "EQUAL",
            AnswerEnd::NoAnswer => "NO ANSWER",
        })
    }
}

/// The first of a ranking beside the second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Lead {
    /// Label of the second.
    pub over: String,
    /// Median over the blocks of its value divided by the first's; absent where it failed in most.
    pub ratio: Option<f64>,
    /// Interval of that median at the answer's level; absent while it is open on a side.
    pub interval: Option<(f64, f64)>,
    /// Blocks that held both; a row that is settled early is in few of the later ones.
    #[serde(default)]
    pub blocks: u32,
}

/// A row that is not the best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OutOf {
    pub label: String,
    pub by: String,
    /// The block that settled it, from 1.
    pub at_block: u32,
    /// Median over the blocks of its value divided by that one's; absent where it failed in more than half of them.
    pub slower_by: Option<f64>,
    /// Interval of that median at the answer's level; absent while it is open on a side.
    pub interval: Option<(f64, f64)>,
    /// Blocks in which it was slower, of those that hold both.
    pub slower_in: u32,
    pub blocks: u32,
    /// Of these, blocks after it was settled.
    pub blocks_since: u32,
    /// In how many of those it was faster.
    pub faster_since: u32,
}

/// What the factors of a plan do to one metric: which knob matters, by how much.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FactorFindings {
    pub metric: Metric,
    pub design: FactorDesign,
    pub cells: u32,
    pub blocks: u32,
    /// The factors, the one that moves the metric most first.
    pub factors: Vec<Factor>,
    /// Two-factor interactions whose interval leaves out "none", largest first; exploratory.
    pub interactions: Vec<Effect>,
    /// Interactions that were looked at.
    pub interactions_seen: u32,
    pub sentences: Vec<String>,
}

/// How the cells of a plan lie among the levels of its factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FactorDesign {
    /// Every combination of levels.
    FullFactorial,
    /// Each cell differs from the base in one factor at most.
    OneAtATime,
    /// Some combinations.
    Partial,
}

/// One factor: an axis of the plan, or `candidate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Factor {
    pub name: String,
    pub base: String,
    /// Its fastest level over its slowest, by the estimates: at least 1.
    pub spread: f64,
    /// Its cells do not all survive the same.
    pub is_mixed: bool,
    /// Main effect of every other level, largest first.
    pub effects: Vec<Effect>,
}

/// What a level does, or two levels together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Effect {
    /// The level; for an interaction the two.
    pub levels: Vec<Level>,
    /// Combinations of the other factors over which it is the mean.
    pub contexts: u32,
    pub blocks: u32,
    /// How much faster than the base: above 1, faster. For an interaction, how much faster than
    /// the two levels alone say.
    pub speedup: f64,
    /// Interval of the speedup; absent while it is open on a side.
    pub interval: Option<(f64, f64)>,
    pub claim: Claim,
}
