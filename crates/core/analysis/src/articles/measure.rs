//! What a claim is about: a number of a trial, rows of a table, a count, a feature, a fact.
//!
//! | text | meaning |
//! |---|---|
//! | `append.p99.9 service`, `write float large.rate` | a [`Metric`] |
//! | `table high impact`, `table cold`, `table suite write` | geometric mean over the rows of a table |
//! | `phases cold: sequential read` | each phase of that heat whose name holds the words |
//! | `count reads_mixed` | a counted fact of the row |
//! | `cause jbd2 of append` | the part of the slow time of an operation that causes or holders with this word have, in an explained run |
//! | `time write float large over sync float large`, `time cpu of seeks over seeks` | what a phase takes, or its processes of the processors, beside a phase |
//! | `feature reflink` | an answer of the table of features |
//! | `fact snapshots: none` | what is written of the file system, with its source: whether a part of it begins with these words, `|` between several |
//! | `unkept standard deviation` | something that findings do not compare |
//! | `advice` | a recommendation that no measurement answers |

use std::{fmt, str::FromStr};

use pickfs_record::{
    Heat,
    metric::{Metric, MetricError},
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a claim is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Measure {
    /// A number of a trial.
    Number(Metric),
    /// Geometric mean over the rows of a table.
    Table(Rows),
    /// Each of several phases.
    Phases(Rows),
    /// A counted fact.
    Count(String),
    /// A part of the ledger of an explained run.
    Cause {
        /// Within the name of a cause or of its holder.
        word: String,
        op: String,
    },
    /// What one phase takes beside another, or its processor time beside its time: `cpu of seeks`.
    Time { one: String, other: String },
    /// An answer of the table of features.
    Feature(String),
    /// What is written of the file system, and the words of which one begins a part of it.
    Fact { name: String, words: Vec<String> },
    /// Something that findings do not compare.
    Unkept(String),
    /// No measurement answers it.
    Advice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    HighImpact,
    /// A suite without those that are looked at first.
    Suite(String),
    /// Those of this heat (any when absent) whose name holds the words.
    Named {
        heat: Option<Heat>,
        /// Words of the name; every name when empty.
        words: String,
    },
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum MeasureError {
    #[error(transparent)]
    Number(#[from] MetricError),
    #[error(
        "measure `{text}` not understood; write `table high impact`, `table cold`, `phases cold: WORDS`"
    )]
    Rows { text: String },
    #[error(
        "measure `{text}` not understood; write `cause WORD of OPERATION`, `time PHASE over PHASE`"
    )]
    Cause { text: String },
    #[error("measure `{text}` not understood; write `fact NAME: WORDS`")]
    Fact { text: String },
}

impl FromStr for Measure {
    type Err = MeasureError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (head, rest) = text.split_once(' ').unwrap_or((text, ""));
        let named = || rest.trim().to_string();
        Ok(match head {
            "advice" if rest.is_empty() => Measure::Advice,
            "table" => {
                Measure::Table(table_rows(rest).ok_or(MeasureError::Rows { text: text.into() })?)
            }
            "phases" | "phases:" => {
                let asked = text.strip_prefix("phases").unwrap_or_default();
                Measure::Phases(phase_rows(asked).ok_or(MeasureError::Rows { text: text.into() })?)
            }
            "count" => Measure::Count(named()),
            "cause" => {
                let parts = rest.split_once(" of ").filter(|(word, _)| !word.trim().is_empty());
                let wrong = || MeasureError::Cause { text: text.into() };
                let (word, op) = parts.ok_or_else(wrong)?;
                Measure::Cause { word: word.trim().into(), op: op.trim().into() }
            }
            "time" => {
                let wrong = || MeasureError::Cause { text: text.into() };
                let (one, other) = rest.split_once(" over ").ok_or_else(wrong)?;
                Measure::Time { one: one.into(), other: other.into() }
            }
            "feature" => Measure::Feature(named()),
            "fact" => {
                let wrong = || MeasureError::Fact { text: text.into() };
                let (name, words) = rest.split_once(": ").ok_or_else(wrong)?;
                let words = words.split('|').map(String::from).collect();
                Measure::Fact { name: name.into(), words }
            }
            "unkept" => Measure::Unkept(named()),
            _ => Measure::Number(text.parse()?),
        })
    }
}

fn table_rows(text: &str) -> Option<Rows> {
    match text {
        "high impact" => Some(Rows::HighImpact),
        "cold" | "hot" => Some(Rows::Named { heat: heat(text), words: String::new() }),
        _ => text.strip_prefix("suite ").map(|suite| Rows::Suite(suite.into())),
    }
}

fn phase_rows(text: &str) -> Option<Rows> {
    if text == " high impact" {
        return Some(Rows::HighImpact);
    }
    let (before, words) = text.split_once(':')?;
    let word = before.trim();
    let heat = heat(word);
    let is_legal = word.is_empty() || heat.is_some();
    is_legal.then(|| Rows::Named { heat, words: words.trim().into() })
}

fn heat(word: &str) -> Option<Heat> {
    match word {
        "cold" => Some(Heat::Cold),
        "hot" => Some(Heat::Hot),
        _ => None,
    }
}

fn heat_word(heat: Option<Heat>) -> &'static str {
    match heat {
        Some(Heat::Cold) => "cold",
        Some(Heat::Hot) => "hot",
        None => "",
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measure::Number(number) => write!(f, "{number}"),
            Measure::Table(rows) => write!(f, "table {}", rows.in_table()),
            Measure::Phases(Rows::HighImpact) => f.write_str("phases high impact"),
            Measure::Phases(rows) => write!(f, "phases {rows}"),
            Measure::Count(name) => write!(f, "count {name}"),
            Measure::Cause { word, op } => write!(f, "cause {word} of {op}"),
            Measure::Time { one, other } => write!(f, "time {one} over {other}"),
            Measure::Feature(key) => write!(f, "feature {key}"),
            Measure::Fact { name, words } => write!(f, "fact {name}: {}", words.join("|")),
            Measure::Unkept(what) => write!(f, "unkept {what}"),
            Measure::Advice => f.write_str("advice"),
        }
    }
}

impl Rows {
    fn in_table(&self) -> String {
        match self {
            Rows::HighImpact => "high impact".into(),
            Rows::Suite(suite) => format!("suite {suite}"),
            Rows::Named { heat, .. } => heat_word(*heat).into(),
        }
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rows::Named { heat, words } => write!(f, "{}: {words}", heat_word(*heat)),
            other => f.write_str(&other.in_table()),
        }
    }
}

impl TryFrom<String> for Measure {
    type Error = MeasureError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Measure> for String {
    fn from(measure: Measure) -> String {
        measure.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_reads_and_prints_back() {
        for text in [
            "append.p99.9",
            "write float large.rate",
            "append.max service",
            "table high impact",
            "table cold",
            "table suite write",
            "phases high impact",
            "phases cold: sequential read",
            "phases : replace random",
            "count reads_mixed",
            "cause jbd2 of append",
            "time cpu of seeks over seeks",
            "feature reflink",
            "fact several devices: several|two",
            "unkept standard deviation of append",
            "advice",
        ] {
            let measure: Measure = text.parse().expect(text);
            assert_eq!(measure.to_string(), text);
        }
        let plain: Measure = "phases: replace random".parse().expect("legal");
        assert_eq!(plain.to_string(), "phases : replace random");
    }

    #[test]
    fn what_is_not_understood_says_what_to_write() {
        let error = |text: &str| text.parse::<Measure>().expect_err("not legal").to_string();
        assert!(error("table warm").contains("table cold"));
        assert!(error("phases warm: x").contains("phases cold: WORDS"));
        assert!(error("append").contains("ends in no statistic"));
        assert!(error("cause jbd2").contains("cause WORD of OPERATION"));
        assert!(error("time seeks").contains("time PHASE over PHASE"));
        assert!(error("fact snapshots").contains("fact NAME: WORDS"));
    }
}
