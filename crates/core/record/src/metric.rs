//! A number of a trial, as people write it and as it is shown:
//!
//! ```text
//! OPERATION.STATISTIC[@SCOPE] [service]
//! append.p99.9      durable|append.p50@sync=fdatasync,readers>=1      seq create.rate@workload=files
//! ```
//!
//! Of several operations the first one counts that a row has. Names of operations are a workload's own and may
//! hold blanks, commas and dots.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Condition, Scope, record::QUANTILES};

/// One number of a trial: an operation, a view of its operations and a statistic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Operation: `append`, `sync`, `durable`; `durable|append` is the first of the two that a row has.
    pub op: String,
    pub view: View,
    pub statistic: Statistic,
    /// Restricts the metric to the cells of which this holds.
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub at: Scope,
}

/// How an operation is counted.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// End minus start.
    Service,
    /// End minus due, without the driver's own stalls.
    Response,
    /// End minus due.
    RawResponse,
}

/// A statistic of one trial's operations.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The value below which this share of the operations lies, in (0, 1).
    Quantile(f64),
    /// Arithmetic mean.
    Mean,
    /// Standard deviation.
    Sd,
    Min,
    Max,
    /// Largest operation of each second, median over the seconds.
    Worst,
    /// Operations per second that were completed: higher is better.
    Rate,
    /// The figure of a trial that has the metric's name, in whatever unit it has.
    Figure(Better),
}

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum MetricError {
    #[error("`{text}` names no operation; write it like append.p99")]
    NoOperation { text: String },
    #[error(
        "`{text}` ends in no statistic; add .mean, .sd, .min, .max, .worst, .rate or a quantile like .p99 (of a figure .higher or .lower)"
    )]
    NoStatistic { text: String },
    #[error("p{quantile} is not kept; use one of {}", kept())]
    NotKept { quantile: String },
    #[error("`{text}` is no scope; write it like append.p99@sync=none,readers>=1")]
    Scope { text: String },
    #[error("`{text}` is written {new} now")]
    Renamed { text: String, new: String },
}

fn kept() -> String {
    let high = QUANTILES.iter().filter(|q| **q >= 0.5);
    high.map(|q| Statistic::Quantile(*q).to_string()).collect::<Vec<_>>().join(", ")
}

impl Metric {
    /// Of every cell, in the view that its loop has.
    pub fn new(op: &str, statistic: Statistic) -> Self {
        let view = if statistic.is_time() { View::Response } else { View::Service };
        Metric { op: op.into(), view, statistic, at: Scope::new() }
    }

    pub fn ops(&self) -> impl Iterator<Item = &str> {
        self.op.split('|')
    }

    pub fn names(&self, op: &str) -> bool {
        self.ops().any(|own| own == op)
    }
}

impl Statistic {
    pub fn is_better_higher(self) -> bool {
        matches!(self, Statistic::Rate | Statistic::Figure(Better::Higher))
    }

    /// Of the times of operations, in nanoseconds.
    pub fn is_time(self) -> bool {
        !matches!(self, Statistic::Rate | Statistic::Figure(_))
    }

    /// The largest of n operations is one operation: it is shown and never ranked.
    pub fn is_ranked(self) -> bool {
        self != Statistic::Max
    }

    /// None where the word is no statistic at all.
    fn read(word: &str) -> Option<Result<Self, MetricError>> {
        match word {
            "mean" => return Some(Ok(Statistic::Mean)),
            "sd" => return Some(Ok(Statistic::Sd)),
            "min" => return Some(Ok(Statistic::Min)),
            "max" => return Some(Ok(Statistic::Max)),
            "worst" => return Some(Ok(Statistic::Worst)),
            "rate" => return Some(Ok(Statistic::Rate)),
            "higher" => return Some(Ok(Statistic::Figure(Better::Higher))),
            "lower" => return Some(Ok(Statistic::Figure(Better::Lower))),
            _ => {}
        }
        let digits = word.strip_prefix('p')?;
        let is_number = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
        let share = digits.parse::<f64>().ok().filter(|_| is_number)? / 100.0;
        let known = QUANTILES.iter().find(|q| (**q - share).abs() < 1e-9);
        let lacking = || MetricError::NotKept { quantile: digits.into() };
        Some(known.map(|q| Statistic::Quantile(*q)).ok_or_else(lacking))
    }
}

impl FromStr for Statistic {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Statistic::read(text).unwrap_or_else(|| Err(MetricError::NoStatistic { text: text.into() }))
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Statistic::Quantile(q) => {
                let digits = format!("{:.4}", 100.0 * q);
                return write!(f, "p{}", digits.trim_end_matches('0').trim_end_matches('.'));
            }
            Statistic::Mean => "mean",
            Statistic::Sd => "sd",
            Statistic::Min => "min",
            Statistic::Max => "max",
            Statistic::Worst => "worst",
            Statistic::Rate => "rate",
            Statistic::Figure(Better::Higher) => "higher",
            Statistic::Figure(Better::Lower) => "lower",
        })
    }
}

const SERVICE: &str = " service";
const RAW: &str = " raw";

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.op, self.statistic)?;
        for (index, (name, condition)) in self.at.iter().enumerate() {
            write!(f, "{}{}", if index == 0 { '@' } else { ',' }, condition.of(name))?;
        }
        match self.view {
            View::Service if self.statistic.is_time() => f.write_str(SERVICE),
            View::RawResponse => f.write_str(RAW),
            View::Service | View::Response => Ok(()),
        }
    }
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let whole = text.trim();
        if let Some(new) = old_spelling(whole) {
            return Err(MetricError::Renamed { text: whole.into(), new });
        }
        let views = [(SERVICE, View::Service), (RAW, View::RawResponse)];
        let asked = views.iter().find_map(|(end, view)| Some((whole.strip_suffix(end)?, *view)));
        let (body, view) =
            asked.map_or((whole, None), |(body, view)| (body.trim_end(), Some(view)));
        let (op, statistic, scope) = parts(body)?;
        let ops: Vec<&str> = op.split('|').map(str::trim).collect();
        if ops.iter().any(|op| op.is_empty()) {
            return Err(MetricError::NoOperation { text: whole.into() });
        }
        let mut metric = Metric::new(&ops.join("|"), statistic);
        metric.view = view.filter(|_| statistic.is_time()).unwrap_or(metric.view);
        metric.at = scope.map(self::scope).transpose()?.unwrap_or_default();
        Ok(metric)
    }
}

/// What was written before: `files/seq create.rate`, `append.p99 (response)`.
fn old_spelling(text: &str) -> Option<String> {
    if let Some(plain) = text.strip_suffix(" (response)") {
        return Some(old_spelling(plain).unwrap_or_else(|| plain.into()));
    }
    let (workload, plain) =
        text.split_once('/').filter(|(head, _)| !head.contains(['.', '@', '=']))?;
    let plain = plain.trim();
    (!plain.is_empty() && !workload.trim().is_empty())
        .then(|| format!("{plain}@workload={}", workload.trim()))
}

/// The first dot whose rest begins with a statistic parts the two.
fn parts(text: &str) -> Result<(&str, Statistic, Option<&str>), MetricError> {
    let split = |(at, _): (usize, &str)| {
        let rest = &text[at + 1..];
        let (word, scope) = match rest.split_once('@') {
            Some((word, scope)) => (word, Some(scope)),
            None => (rest, None),
        };
        Some((&text[..at], Statistic::read(word.trim())?, scope))
    };
    let found = text.match_indices('.').find_map(split);
    let (op, statistic, scope) =
        found.ok_or_else(|| MetricError::NoStatistic { text: text.into() })?;
    Ok((op, statistic?, scope))
}

/// `sync=none,readers>=1`; what holds a comma stands in quotes: `variant="alone, synced"`.
pub fn scope(text: &str) -> Result<Scope, MetricError> {
    let (mut scope, mut rest) = (Scope::new(), Some(text));
    while let Some(text) = rest {
        let part = text.split(',').next().unwrap_or_default();
        let wrong = || MetricError::Scope { text: part.trim().into() };
        let at = part.find(['=', '!', '<', '>']).ok_or_else(wrong)?;
        let (name, sign) = text.split_at(at);
        let sign = sign.strip_prefix('=').unwrap_or(sign).trim_start();
        let (condition, more) = match sign.strip_prefix('"') {
            Some(quoted) => {
                let (value, more) = until_quote(quoted).ok_or_else(wrong)?;
                (Condition::from(serde_json::Value::from(value)), more.trim_start())
            }
            None => {
                let value = sign.split(',').next().unwrap_or_default();
                (value.trim().parse().map_err(|_| wrong())?, &sign[value.len()..])
            }
        };
        rest = more.strip_prefix(',');
        if name.trim().is_empty() || rest.is_none() && !more.is_empty() {
            return Err(wrong());
        }
        scope.insert(name.trim().to_owned(), condition);
    }
    Ok(scope)
}

/// What stands before the closing quote, and what stands behind it.
fn until_quote(text: &str) -> Option<(String, &str)> {
    let (mut value, mut signs) = (String::new(), text.chars());
    loop {
        match signs.next()? {
            '"' => return Some((value, signs.as_str())),
            '\\' => value.push(signs.next()?),
            sign => value.push(sign),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Metric {
        text.parse().expect("a legal metric")
    }

    #[test]
    fn operation_statistic_scope_and_view_are_told_apart() {
        let tail = read("durable|append.p99.9");
        assert_eq!(tail.ops().collect::<Vec<_>>(), ["durable", "append"]);
        assert_eq!((tail.view, tail.statistic), (View::Response, Statistic::Quantile(0.999)));
        let phase = read("mmap, random read 4k cold.rate@workload=column,lanes>=16");
        assert_eq!(phase.op, "mmap, random read 4k cold");
        assert!(phase.at["workload"].holds("column") && phase.at["lanes"].holds("64"));
        assert!(phase.statistic.is_better_higher() && phase.view == View::Service);
        assert_eq!(read("seeks: read.mean service").view, View::Service);
        assert_eq!(read("append.p50@sync=none|sparse raw").view, View::RawResponse);
        assert_eq!(read("tps.higher").to_string(), "tps.higher");
        let is_ranked = |word| read(&format!("append.{word}")).statistic.is_ranked();
        assert_eq!(["worst", "sd", "min", "max"].map(is_ranked), [true, true, true, false]);
    }

    #[test]
    fn errors_say_what_to_write() {
        let error = |text: &str| text.parse::<Metric>().expect_err("not legal").to_string();
        assert_eq!(error(".p99"), "`.p99` names no operation; write it like append.p99");
        assert!(error("append").contains(".rate or a quantile like .p99"));
        assert!(error("append.p42").starts_with("p42 is not kept; use one of p50, p75"));
        assert!(error("append.p-1").contains("ends in no statistic"));
        assert!(error("append.p99 (response)").ends_with("is written append.p99 now"));
        assert!(error("durable|.p99").contains("names no operation"));
        assert!(error("append.p99@sync").starts_with("`sync` is no scope; write it like"));
        assert!(error("append.p99@sync=").starts_with("`sync=` is no scope"));
        assert_eq!(
            error("files/seq create.rate"),
            "`files/seq create.rate` is written seq create.rate@workload=files now"
        );
    }

    /// Levels of old run files may be numbers; what is stored keeps its shape.
    #[test]
    fn a_metric_of_an_old_run_file_is_read() {
        let old = r#"{"op":"durable","view":"service","statistic":{"quantile":0.5},"at":{"readers":0,"sync":"fdatasync"}}"#;
        let metric: Metric = serde_json::from_str(old).expect("an old metric");
        assert_eq!(metric.to_string(), "durable.p50@readers=0,sync=fdatasync service");
        let stored = serde_json::to_string(&metric).expect("JSON");
        assert_eq!(stored, old.replace(":0,", ":\"0\","));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_the_same(
            text in "[a-z0-9 ,:|.]{0,16}\\.(p99\\.9|rate|mean|max|worst)(@[a-z ]{1,4}(=|!=|>=|<)[0-9|.]{1,4})?( service| raw|)"
        ) {
            if let Ok(metric) = text.parse::<Metric>() {
                prop_assert_eq!(read(&metric.to_string()), metric);
            }
        }

        #[test]
        fn a_scope_of_any_words_reads_back_the_same(
            words in prop::collection::btree_map("[a-z_]{1,6}", "\\PC{0,8}|[<>!=]{0,2}[a-z, \"\\\\|]{0,12}", 0..3),
            end in "append\\.(rate|p99\\.9)( service| raw|)"
        ) {
            let at = words.into_iter().map(|(name, word)| (name, Condition::from(serde_json::Value::from(word))));
            let metric = Metric { at: at.collect(), ..read(&end) };
            prop_assert_eq!(read(&metric.to_string()), metric);
        }

        #[test]
        fn nothing_makes_it_panic(text in "\\PC{0,40}") {
            let _ = text.parse::<Metric>();
        }
    }
}
