//! A sum of metrics with weights: `0.5*append.p99 + 0.5*read.p50`. A weight is above 0, and 1 where none is written.
//!
//! Weights work on a logarithmic scale. Of two candidates the better one in a term is so many times
//! faster: a shorter time or a higher rate. The formula's ratio of the two is the weighted geometric
//! mean of the terms' ratios:
//!
//! ```text
//! ln ratio = sum of weight x ln ratio of the term / sum of weights
//! ```
//!
//! So `append.p99 + read.p50` does not add microseconds: a candidate that halves one and doubles the
//! other stands where it stood, whichever of the two is the longer. Rates and times may be mixed.

use std::{fmt, str::FromStr};

use pickfs_record::metric::{Metric, MetricError};
use serde::{Serialize, Serializer};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    pub terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// Above 0.
    pub weight: f64,
    pub metric: Metric,
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum FormulaError {
    #[error("formula `{text}` has an empty term; write it like 0.5*append.p99 + 0.5*read.p50")]
    EmptyTerm { text: String },
    #[error(
        "weight `{weight}` in `{term}` is no number above 0; less time and more rate count as better by themselves"
    )]
    Weight { weight: String, term: String },
    #[error("term `{term}` has two stars; write one weight, then * and a number like append.p99")]
    TwoStars { term: String },
    #[error(
        "term `{term}`: a maximum is one operation and never ranks; take the worst of each second (.worst)"
    )]
    NotRanked { term: String },
    #[error("term `{term}`: {cause}")]
    Metric { term: String, cause: MetricError },
}

impl Formula {
    /// Sum of all weights; above 0.
    pub fn weights(&self) -> f64 {
        self.terms.iter().map(|term| term.weight).sum()
    }
}

impl FromStr for Formula {
    type Err = FormulaError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let terms = text.split('+').map(|part| term(part.trim(), text));
        Ok(Formula { terms: terms.collect::<Result<_, _>>()? })
    }
}

fn term(term: &str, whole: &str) -> Result<Term, FormulaError> {
    if term.is_empty() {
        return Err(FormulaError::EmptyTerm { text: whole.trim().into() });
    }
    let (weight, metric) = match term.split_once('*') {
        Some((weight, metric)) => (weight_of(weight.trim(), term)?, metric.trim()),
        None => (1.0, term),
    };
    if metric.contains('*') {
        return Err(FormulaError::TwoStars { term: term.into() });
    }
    let metric: Metric =
        metric.parse().map_err(|cause| FormulaError::Metric { term: term.into(), cause })?;
    match metric.statistic.is_ranked() {
        true => Ok(Term { weight, metric }),
        false => Err(FormulaError::NotRanked { term: term.into() }),
    }
}

fn weight_of(word: &str, term: &str) -> Result<f64, FormulaError> {
    let weight = word.parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight > 0.0);
    weight.ok_or_else(|| FormulaError::Weight { weight: word.into(), term: term.into() })
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let plus = if index == 0 { "" } else { " + " };
            match term.weight == 1.0 {
                true => write!(f, "{plus}{}", term.metric)?,
                false => write!(f, "{plus}{}*{}", term.weight, term.metric)?,
            }
        }
        Ok(())
    }
}

impl Serialize for Formula {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Formula {
        text.parse().expect("a legal formula")
    }

    #[test]
    fn weights_and_numbers_are_read() {
        let formula = read("0.5*append.p99 + 0.25*read.p50+block write.rate");
        let weights: Vec<f64> = formula.terms.iter().map(|term| term.weight).collect();
        assert_eq!(weights, [0.5, 0.25, 1.0]);
        assert_eq!(formula.terms[2].metric.op, "block write");
        assert_eq!(formula.weights(), 1.75);
        assert_eq!(formula.to_string(), "0.5*append.p99 + 0.25*read.p50 + block write.rate");
    }

    #[test]
    fn errors_name_the_term_and_the_way_out() {
        let error = |text: &str| text.parse::<Formula>().expect_err("not legal").to_string();
        assert!(error("").contains("empty term; write it like 0.5*append.p99"));
        assert!(error("append.p99 +").contains("`append.p99 +` has an empty term"));
        assert!(
            error("-1*append.p99")
                .starts_with("weight `-1` in `-1*append.p99` is no number above 0")
        );
        assert!(error("0*append.p99").contains("weight `0`"));
        assert!(error("half*append.p99").contains("weight `half`"));
        assert!(error("2*3*append.p99").contains("two stars"));
        assert!(error("append.max").contains("the worst of each second (.worst)"));
        assert!(
            error("0.5*append").starts_with("term `0.5*append`: `append` ends in no statistic")
        );
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_the_same(
            terms in prop::collection::vec((0.001f64..1000.0, "[a-z]{1,6}( [a-z]{1,6}){0,2}", 0usize..4), 1..5)
        ) {
            let statistics = ["p50", "p99.9", "mean", "rate"];
            let text: Vec<String> = terms.iter().map(|(weight, op, at)| format!("{weight}*{op}.{}", statistics[*at])).collect();
            let formula = read(&text.join(" + "));
            prop_assert_eq!(formula.terms.len(), terms.len());
            prop_assert_eq!(read(&formula.to_string()), formula);
        }

        #[test]
        fn nothing_makes_it_panic(text in "\\PC{0,60}") {
            if let Ok(formula) = text.parse::<Formula>() {
                prop_assert!(formula.weights() > 0.0);
                prop_assert_eq!(read(&formula.to_string()), formula);
            }
        }
    }
}
