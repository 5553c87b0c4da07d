//! What files of a user's own have in common: a limit, errors, repetitions.

use std::collections::BTreeMap;

use thiserror::Error;

use super::facts::{Fact, Statistic};
use crate::summary::median;

pub const LINES_MAX: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OwnTableError {
    #[error("{0}")]
    File(String),
    #[error("more than {LINES_MAX} lines; keep those that are to be compared")]
    TooLong,
    #[error("line {line}: {text}")]
    Line { line: u64, text: String },
    #[error("line {line}, {field}: `{found}` is not {wanted}")]
    Value { line: u64, field: String, found: String, wanted: &'static str },
}

impl OwnTableError {
    pub(super) fn value(line: u64, field: String, found: &str, wanted: &'static str) -> Self {
        OwnTableError::Value { line, field, found: shortened(found), wanted }
    }
}

pub(super) fn shortened(text: &str) -> String {
    text.chars().take(20).collect::<String>().escape_debug().to_string()
}

type Key = (u32, String, String, String, Statistic);

/// Facts of one place are repetitions: their median counts.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    places: BTreeMap<Key, usize>,
    kept: Vec<(Fact, Vec<f64>)>,
}

impl Repeated {
    pub(super) fn add(&mut self, fact: Fact) {
        let Fact { processes, split, label, file_system, statistic, .. } = fact.clone();
        let key = (processes, split, label, file_system, statistic);
        let place = *self.places.entry(key).or_insert(self.kept.len());
        let value = fact.value();
        if place == self.kept.len() {
            self.kept.push((fact, Vec::new()));
        }
        self.kept[place].1.extend(value);
    }

    /// In the order in which they came first.
    pub(super) fn medians(self) -> Vec<Fact> {
        let fact = |(fact, values): (Fact, Vec<f64>)| Fact {
            printed: median(&values).to_string(),
            ..fact
        };
        self.kept.into_iter().map(fact).collect()
    }
}
