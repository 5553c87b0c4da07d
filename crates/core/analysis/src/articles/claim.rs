use pickfs_record::Scope;
use serde::{Deserialize, Serialize};

use super::{Measure, Relation, value::CAUSE_SHARE};
use crate::wording::list;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Article {
    pub id: String,
    pub title: String,
    pub by: String,
    pub setting: String,
    /// Name of its published table, where it has one: claims on several rows go by the rows of
    /// that table and leave out those that only pickfs has.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub table: String,
    /// The scale of its own experiment: answers of another say theirs first.
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub full: Scope,
    /// Ids of its main claims, as they are told: first of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub main: Vec<String>,
    #[serde(rename = "claim", default)]
    pub claims: Vec<Claim>,
}

/// One observation or recommendation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ArticleClaim")]
pub struct Claim {
    /// Unique over all articles; begins with the article's.
    pub id: String,
    pub says: String,
    /// The article's own number, where it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub saw: String,
    /// The workload whose rows answer it; empty where no workload does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// The plan that was made for it, `|` between two of another scale: their runs alone are asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan: String,
    /// Memory beside a disk, or what holds of every second or of any: shown and never decided.
    #[serde(default, rename = "shown", skip_serializing_if = "std::ops::Not::not")]
    pub is_shown: bool,
    /// What is asked in place of what the article said, where that cannot be decided.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asks: String,
    /// What an answer would take, where no run of that plan gives one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub takes: String,
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub at: Scope,
    /// Facts of run, machine and mount that must hold; without them the run cannot answer.
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub needs: Scope,
    /// Why nothing can be seen without these facts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    pub measure: Measure,
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub subject: Scope,
    /// The rows that it is compared with; each that is there must bear the claim out.
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub object: Scope,
    pub relation: Relation,
    /// As [`Article::table`], for the article's own claims.
    #[serde(skip)]
    pub table: String,
    /// As [`Article::full`].
    #[serde(skip)]
    pub full: Scope,
}

impl Claim {
    pub fn plans(&self) -> impl Iterator<Item = &str> {
        self.plan.split('|')
    }

    /// `article-002-ubuntu or article-002-guests`; of a claim without a plan, `a plan of journal`.
    pub(super) fn plan_words(&self) -> String {
        match self.plan.as_str() {
            "" => format!("a plan of {}", self.workload),
            plan => plan.replace('|', " or "),
        }
    }

    /// `append.p99 service, at least 2, at sync=none; of this machine`: measure, bound and place, which are ours.
    pub fn asked(&self) -> String {
        let place = self.at.iter().chain(&self.needs).map(|(name, condition)| condition.of(name));
        let place: Vec<String> = place.collect();
        let at = if place.is_empty() { String::new() } else { format!(", at {}", list(&place)) };
        let predicate = match &self.measure {
            Measure::Feature(_) | Measure::Fact { .. } | Measure::Unkept(_) | Measure::Advice => {
                None
            }
            Measure::Cause { .. } => {
                let share = 100.0 * CAUSE_SHARE;
                Some(format!("{}, {share:.0} % of the slow time or more{at}", self.measure))
            }
            Measure::Time { one, other } => Some(format!("{one} longer than {other}{at}")),
            measure => Some(format!("{measure}, {}{at}", self.relation)),
        };
        let said = [&self.because, &self.asks].into_iter().filter(|text| !text.is_empty());
        let asked: Vec<String> = predicate.into_iter().chain(said.cloned()).collect();
        asked.join("; ").replace('|', " or ").replace("dominates", "faster in all rows")
    }

    /// Its answer may be wrong by chance, so it has a part of a run's error.
    pub fn spends_error(&self) -> bool {
        let is_cause = matches!(self.measure, Measure::Cause { .. } | Measure::Time { .. });
        let is_asked = !self.is_shown && self.takes.is_empty();
        is_asked && (is_cause || self.relation.compares() || self.relation.is_bound())
    }
}
