//! The intervals of all pairs hold together at 95 per cent: each has the level 1 - 0.05 / (pairs x
//! parts). So the chance that any candidate is wrongly called behind is under five per cent,
//! whoever is compared with whom. Of several parts, each from a run of its own, the estimates and
//! the ends of the intervals are weighed and added.

use serde::Serialize;

use super::field::Field;
use crate::{
    ALPHA,
    decide::{Rules, blocks_needed},
    panels::Disturbed,
    phases::scale,
};

#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Duel {
    pub label: String,
    pub other: String,
    /// How many times better the one is.
    pub ratio: f64,
    /// Holds together with those of all other pairs at 95 per cent; absent where the blocks cannot
    /// carry that.
    pub interval: Option<(f64, f64)>,
    /// Blocks that hold both; of several parts the fewest.
    pub blocks: u32,
}

impl Duel {
    pub fn is_ahead(&self) -> bool {
        self.interval.is_some_and(|(low, _)| low > 1.0)
    }

    pub fn is_behind(&self) -> bool {
        self.interval.is_some_and(|(_, high)| high < 1.0)
    }

    /// Smallest ratio above 1 that could have been seen.
    pub fn visible_ratio(&self) -> Option<f64> {
        let (low, high) = self.interval?;
        Some((high / self.ratio).max(self.ratio / low))
    }

    fn turned(&self) -> Duel {
        Duel {
            label: self.other.clone(),
            other: self.label.clone(),
            ratio: 1.0 / self.ratio,
            interval: self.interval.map(|(low, high)| (1.0 / high, 1.0 / low)),
            blocks: self.blocks,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Duels {
    duels: Vec<Duel>,
    /// Blocks that so many pairs need.
    pub needed: u32,
}

impl Duels {
    pub fn new(
        fields: &[Field<'_>],
        labels: &[&str],
        disturbed: Disturbed,
        only: Option<usize>,
    ) -> Self {
        let pairs = labels.len() * labels.len().saturating_sub(1) / 2;
        let family = pairs.max(1) * fields.len();
        let mut duels = Vec::new();
        for (index, label) in labels.iter().enumerate() {
            for other in &labels[index + 1..] {
                duels.extend(duel(fields, (label, other), family, (disturbed, only)));
            }
        }
        Duels { duels, needed: blocks_needed(2, family) }
    }

    pub fn between(&self, label: &str, other: &str) -> Option<Duel> {
        self.duels.iter().find_map(|duel| match (duel.label.as_str(), duel.other.as_str()) {
            (one, two) if one == label && two == other => Some(duel.clone()),
            (one, two) if one == other && two == label => Some(duel.turned()),
            _ => None,
        })
    }

    /// Those of the labels that are told to be behind none of them, in their order; none where no
    /// pair has an interval.
    pub fn best(&self, labels: &[&str]) -> Vec<String> {
        let duels = |label: &str| -> Vec<Duel> {
            labels.iter().filter_map(|other| self.between(label, other)).collect()
        };
        if labels.len() > 1
            && labels.iter().all(|label| duels(label).iter().all(|duel| duel.interval.is_none()))
        {
            return Vec::new();
        }
        let stays = |label: &&&str| !duels(label).iter().any(Duel::is_behind);
        labels.iter().filter(stays).map(|label| (*label).to_string()).collect()
    }

    pub fn leader<'l>(&self, labels: &[&'l str]) -> Option<&'l str> {
        let wins = |label: &str| {
            let ahead =
                |other: &&&str| self.between(label, other).is_some_and(|duel| duel.ratio > 1.0);
            labels.iter().filter(ahead).count()
        };
        labels.iter().copied().rev().max_by_key(|label| wins(label))
    }
}

fn duel(
    fields: &[Field<'_>],
    (label, other): (&str, &str),
    family: usize,
    (disturbed, only): (Disturbed, Option<usize>),
) -> Option<Duel> {
    let weights: f64 = fields.iter().map(|field| field.weight).sum();
    let mut sum = Duel {
        label: label.into(),
        other: other.into(),
        ratio: 0.0,
        interval: Some((0.0, 0.0)),
        blocks: u32::MAX,
    };
    for field in fields {
        let ratios = log_ratios(field, (label, other), disturbed, only)?;
        let rules = Rules { alpha: ALPHA / family as f64, ..field.rules };
        let (estimate, interval) = rules.estimate_with_interval(&ratios);
        let share = field.weight / weights;
        sum.ratio += share * estimate;
        sum.interval = sum
            .interval
            .zip(interval)
            .map(|(sum, own)| (sum.0 + share * own.0, sum.1 + share * own.1));
        sum.blocks = sum.blocks.min(ratios.len() as u32);
    }
    let interval = sum.interval.map(|(low, high)| (low.exp(), high.exp()));
    Some(Duel { ratio: sum.ratio.exp(), interval, ..sum })
}

fn log_ratios(
    field: &Field<'_>,
    (label, other): (&str, &str),
    disturbed: Disturbed,
    only: Option<usize>,
) -> Option<Vec<f64>> {
    let (one, two) = (field.member(label)?, field.member(other)?);
    let (own, theirs) = (field.scores(one, disturbed, only), field.scores(two, disturbed, only));
    let alike = scale::alike_blocks(one, two);
    let both = own.iter().filter(|(block, _)| alike.contains(block));
    let ratios: Vec<f64> =
        both.filter_map(|(block, score)| Some(score - theirs.get(block)?)).collect();
    (!ratios.is_empty()).then_some(ratios)
}
