//! A number of a trial as people write it: `append.p99.9`, `durable|append.p99 (response)`,
//! `files/seq create.rate`.
//!
//! ```text
//! [workload/] operation [| operation ...] . statistic [ (response)]
//! ```
//!
//! Of several operations the first one counts that a row has. A statistic is `mean`, `rate` or a
//! quantile that is kept of every distribution. Names of operations are a workload's own and may hold
//! blanks, commas and dots.

use std::{fmt, str::FromStr};

use pickfs_record::{
    plan::{Better, Metric, Statistic, View},
    record::QUANTILES,
};
use serde::{Serialize, Serializer};
use thiserror::Error;

use crate::wording::quantile_name;

const RESPONSE: &str = " (response)";

#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// The workload that it belongs to; any that has the operation when absent.
    pub workload: Option<String>,
    /// Operations or phases; the first one that a row has counts. Never empty.
    pub ops: Vec<String>,
    pub view: View,
    pub statistic: Statistic,
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum NumberError {
    #[error("`{text}` names no operation; write it like append.p99")]
    NoOperation { text: String },
    #[error("`{text}` ends in no statistic; add .mean, .rate or a quantile like .p99")]
    NoStatistic { text: String },
    #[error("p{quantile} is not kept; use one of {}", kept())]
    NotKept { quantile: String },
}

fn kept() -> String {
    let high = QUANTILES.iter().filter(|q| **q >= 0.5);
    high.map(|q| quantile_name(*q)).collect::<Vec<_>>().join(", ")
}

impl Number {
    pub fn metric(&self, op: &str) -> Metric {
        Metric { op: op.into(), view: self.view, statistic: self.statistic, at: Default::default() }
    }

    pub fn is_rate(&self) -> bool {
        self.statistic.is_better_higher()
    }
}

impl FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let whole = text.trim();
        let (body, view) = match whole.strip_suffix(RESPONSE) {
            Some(body) => (body, View::Response),
            None => (whole, View::Service),
        };
        let (names, statistic) = split_statistic(body)?;
        let (workload, names) = match names.split_once('/') {
            Some((workload, names)) => (Some(workload.trim().to_string()), names),
            None => (None, names),
        };
        let ops: Vec<String> = names.split('|').map(|op| op.trim().to_string()).collect();
        let is_named = |name: &String| !name.is_empty();
        if !ops.iter().all(is_named) || !workload.iter().all(is_named) {
            return Err(NumberError::NoOperation { text: whole.into() });
        }
        Ok(Number { workload, ops, view, statistic })
    }
}

/// The first dot whose rest is a statistic parts the two.
fn split_statistic(text: &str) -> Result<(&str, Statistic), NumberError> {
    let no_statistic = || NumberError::NoStatistic { text: text.into() };
    let dots = text.match_indices('.').map(|(at, _)| at);
    let mut read = dots.filter_map(|at| Some((&text[..at], statistic(&text[at + 1..])?)));
    let (names, statistic) = read.next().ok_or_else(no_statistic)?;
    Ok((names, statistic?))
}

/// None where the word is no statistic at all.
fn statistic(word: &str) -> Option<Result<Statistic, NumberError>> {
    match word {
        "mean" => return Some(Ok(Statistic::Mean)),
        "rate" => return Some(Ok(Statistic::Rate)),
        "higher" => return Some(Ok(Statistic::Figure(Better::Higher))),
        "lower" => return Some(Ok(Statistic::Figure(Better::Lower))),
        _ => {}
    }
    let digits = word.strip_prefix('p')?;
    let is_number = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let share = digits.parse::<f64>().ok().filter(|_| is_number)? / 100.0;
    let known = QUANTILES.iter().find(|q| (**q - share).abs() < 1e-9);
    Some(
        known
            .map(|q| Statistic::Quantile(*q))
            .ok_or(NumberError::NotKept { quantile: digits.into() }),
    )
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(workload) = &self.workload {
            write!(f, "{workload}/")?;
        }
        let statistic = match self.statistic {
            Statistic::Quantile(q) => quantile_name(q),
            Statistic::Mean => "mean".into(),
            Statistic::Rate => "rate".into(),
            Statistic::Figure(Better::Higher) => "higher".into(),
            Statistic::Figure(Better::Lower) => "lower".into(),
        };
        write!(f, "{}.{statistic}", self.ops.join("|"))?;
        if self.view == View::Response { f.write_str(RESPONSE) } else { Ok(()) }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Number {
        text.parse().expect("a legal number")
    }

    #[test]
    fn operations_statistic_and_view_are_told_apart() {
        let tail = read("durable|append.p99.9 (response)");
        assert_eq!(tail.ops, ["durable", "append"]);
        assert_eq!((tail.view, tail.statistic), (View::Response, Statistic::Quantile(0.999)));
        let phase = read("column/mmap, random read 4k cold.rate");
        assert_eq!(phase.workload.as_deref(), Some("column"));
        assert_eq!(phase.ops, ["mmap, random read 4k cold"]);
        assert!(phase.is_rate());
        assert_eq!(read("seeks: read.mean").ops, ["seeks: read"]);
    }

    #[test]
    fn errors_say_what_to_write() {
        let error = |text: &str| text.parse::<Number>().expect_err("not legal").to_string();
        assert_eq!(error(".p99"), "`.p99` names no operation; write it like append.p99");
        assert!(error("append").contains("add .mean, .rate or a quantile like .p99"));
        assert!(error("append.p42").starts_with("p42 is not kept; use one of p50, p75"));
        assert!(error("append.p-1").contains("ends in no statistic"));
        assert!(error("/append.p99").contains("names no operation"));
        assert!(error("durable|.p99").contains("names no operation"));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_the_same(text in "[a-z0-9 ,:|/.]{0,24}(\\.p99|\\.rate|\\.mean|)( \\(response\\))?") {
            if let Ok(number) = text.parse::<Number>() {
                prop_assert_eq!(read(&number.to_string()), number);
            }
        }

        #[test]
        fn nothing_makes_it_panic(text in "\\PC{0,40}") {
            let _ = text.parse::<Number>();
        }
    }
}
