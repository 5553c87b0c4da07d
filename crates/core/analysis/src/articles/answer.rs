use serde::Serialize;

use super::Claim;
use crate::wording::list;

/// How a claim stands on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
#[schemars(rename = "ArticleOutcome")]
pub enum Outcome {
    /// It was seen here.
    Seen,
    /// What it says is too much for here, in one pair at least; which row is the faster may be open.
    Weaker,
    /// The opposite was seen here.
    Opposite,
    /// No difference over a twentieth.
    NoDifference {
        /// The largest difference that the interval leaves possible, as a ratio above 1.
        visible_ratio: f64,
    },
    /// A value is shown and decides nothing: memory beside a disk, a count of seconds.
    Shown { why: String },
    /// Nobody measured it: it is written down, and its sources bear the claim out, or do not.
    Written { holds: bool },
    /// There are rows, and they do not carry an answer yet.
    NotDecided { blocks: u32, why: String },
    /// A plan can answer it, or a table of features, and was not run.
    NotYetRun,
    /// No plan answers it, or the run of its plan lacks what it asks for.
    NotTestable { reason: String },
}

impl Outcome {
    pub fn not_testable(reason: impl Into<String>) -> Self {
        Outcome::NotTestable { reason: reason.into() }
    }

    pub fn words(&self) -> &'static str {
        match self {
            Outcome::Seen => "seen here",
            Outcome::Weaker => "less than it says here",
            Outcome::Opposite => "opposite here",
            Outcome::NoDifference { .. } => "no difference here",
            Outcome::Shown { .. } => "shown, not decided",
            Outcome::Written { holds: true } => "borne out by a source",
            Outcome::Written { holds: false } => "contradicted by a source",
            Outcome::NotDecided { .. } => "not decided",
            Outcome::NotYetRun => "not yet run",
            Outcome::NotTestable { .. } => "not testable here",
        }
    }

    /// A run decided it, or a table of features.
    pub fn is_answer(&self) -> bool {
        !self.is_open() && !matches!(self, Outcome::Shown { .. } | Outcome::Written { .. })
    }

    /// Something more would tell.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::NotDecided { .. } | Self::NotYetRun | Self::NotTestable { .. })
    }

    /// Without rows that the claim names: only what a single pair is enough for is said.
    pub(super) fn without(self, names: &[String], is_enough: &Outcome, whence: &str) -> Self {
        let is_told = self.is_answer() || matches!(self, Outcome::Written { .. });
        if names.is_empty() || !is_told || self == *is_enough {
            return self;
        }
        let verb = if names.len() == 1 { "is" } else { "are" };
        let why = format!("{} {verb} not in {whence}", list(names));
        Outcome::NotDecided { blocks: 0, why }
    }

    /// How much a pair weakens a claim that must hold in each: the largest wins.
    pub(super) fn weight(&self) -> u8 {
        match self {
            Outcome::NotYetRun | Outcome::NotTestable { .. } => 0,
            Outcome::Seen | Outcome::Written { holds: true } => 1,
            Outcome::Weaker => 2,
            Outcome::Shown { .. } => 3,
            Outcome::NoDifference { .. } => 4,
            Outcome::NotDecided { .. } => 5,
            Outcome::Opposite | Outcome::Written { holds: false } => 6,
        }
    }
}

/// Who is given no outcome is not answered.
impl Default for Outcome {
    fn default() -> Self {
        Outcome::not_testable("")
    }
}

/// What one pair of rows, or one row, says to a claim.
#[derive(Debug, Clone, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Evidence {
    /// What the two share and other rows of the run do not; empty where there is nothing of it.
    pub panel: String,
    /// What tells the subject's row from the object's: candidate, levels.
    pub subject: String,
    /// The same of the object; empty where one row is enough.
    pub object: String,
    /// How many times faster the subject is.
    pub ratio: Option<f64>,
    /// The interval of that ratio; absent under six blocks.
    pub interval: Option<(f64, f64)>,
    pub blocks: u32,
    /// It is one of the answers that the run's plan named.
    pub is_planned: bool,
    pub outcome: Outcome,
    pub text: String,
    /// What would decide it; empty where it is decided.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub takes: String,
}

/// What one run says to a claim.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RunAnswer {
    pub run: String,
    pub outcome: Outcome,
    pub evidence: Vec<Evidence>,
    /// Names that the claim lists and the run has no row of.
    pub without: Vec<String>,
    /// Where its scale is not the article's own: `scale tiny`, `16 processes`, `2048 files`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scale: Vec<String>,
    /// What it stood on, and how large its work was.
    pub conditions: Vec<String>,
}

/// What all runs say to a claim.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "ArticleAnswer")]
pub struct Answer {
    pub article: String,
    pub claim: Claim,
    /// Of the first run, see [`Answer::runs`].
    pub outcome: Outcome,
    /// Runs of its plan with rows for the claim, by what they stand on and how long they are, never by what they say.
    pub runs: Vec<RunAnswer>,
    /// What an answer would take; empty where there is one.
    pub takes: String,
}

impl Answer {
    pub fn first(&self) -> Option<&RunAnswer> {
        self.runs.first()
    }

    pub fn dissent(&self) -> impl Iterator<Item = &RunAnswer> {
        let other = |run: &&RunAnswer| {
            run.outcome.is_answer() && run.outcome.words() != self.outcome.words()
        };
        self.runs.iter().skip(1).filter(other)
    }
}
