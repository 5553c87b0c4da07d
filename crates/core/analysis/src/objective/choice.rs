use std::collections::BTreeMap;

use pickfs_record::{Durability, features::Origin};
use serde::Serialize;

use super::{
    FeatureAnswers, Objective, Part,
    duel::{Duel, Duels},
    field::Field,
    need::{Candidate, Fit, Need},
    sentences,
};
use crate::{articles::Source, panels::Disturbed};

#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// What is written down of each file system, by name.
    pub origins: &'a BTreeMap<String, Origin>,
    pub features: Option<&'a FeatureAnswers>,
}

/// The answer to an objective.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Choice {
    pub objective: Objective,
    #[schemars(with = "Vec<String>")]
    pub needs: Vec<Need>,
    /// One verdict per table that can answer; none where no run can.
    pub verdicts: Vec<ChoiceVerdict>,
    pub missing: Vec<String>,
}

/// The answer of one table, or of one table per part.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ChoiceVerdict {
    /// Shared levels of the table; empty where it is the only one.
    pub place: String,
    pub runs: Vec<String>,
    /// The best, more than one when tied, none when nothing can be said.
    pub best: Vec<String>,
    /// Every other candidate against the leader of the best, nearest first.
    pub standings: Vec<Duel>,
    pub ruled_out: Vec<RuledOut>,
    pub aside: Vec<(String, String)>,
    /// Conditions of which it is not known whether a candidate fulfils them.
    pub not_known: Vec<RuledOut>,
    pub sentences: Vec<String>,
    pub conditions: Vec<String>,
    /// What would change the answer.
    pub would_change: Vec<String>,
}

/// A candidate and a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct RuledOut {
    pub label: String,
    #[schemars(with = "String")]
    pub need: Need,
    pub why: String,
}

pub fn choose(
    objective: &Objective,
    needs: &[Need],
    sources: &[Source<'_>],
    facts: &Facts<'_>,
) -> Choice {
    let mut found: Vec<Vec<Field<'_>>> = Vec::new();
    let mut missing = Vec::new();
    for part in &objective.parts {
        let fields: Vec<Field<'_>> =
            sources.iter().flat_map(|source| Field::all(part, source)).collect();
        match fields.is_empty() {
            true => missing.push(without(part, sources)),
            false => found.push(fields),
        }
    }
    let unused = left_out(&found);
    let tables = tables(found);
    let mut verdicts: Vec<ChoiceVerdict> = tables
        .iter()
        .map(|fields| Contest::new(fields, needs, facts).verdict(objective, !missing.is_empty()))
        .collect();
    if let Some(verdict) = verdicts.first_mut() {
        verdict.sentences.extend(unused);
    }
    Choice { objective: objective.clone(), needs: needs.to_vec(), verdicts, missing }
}

/// The tables that a choice of several parts does not weigh, in a sentence.
fn left_out(found: &[Vec<Field<'_>>]) -> Option<String> {
    let parts = found.iter().filter(|_| found.len() > 1);
    let name = |field: &Field<'_>| match field.panel.title.as_str() {
        "" => format!("{} of {}", field.formula, field.run.name),
        title => format!("{} of {} ({title})", field.formula, field.run.name),
    };
    let unused: Vec<String> = parts.flat_map(|fields| fields.iter().skip(1)).map(name).collect();
    (!unused.is_empty()).then(|| {
        format!("Not weighed, as each part counts its first table: {}.", unused.join("; "))
    })
}

/// A single part has a verdict per table; of several the first table of each goes into one.
fn tables(found: Vec<Vec<Field<'_>>>) -> Vec<Vec<Field<'_>>> {
    match found.len() {
        0 => Vec::new(),
        1 => found.into_iter().flatten().map(|field| vec![field]).collect(),
        _ => vec![found.into_iter().filter_map(|fields| fields.into_iter().next()).collect()],
    }
}

fn without(part: &Part, sources: &[Source<'_>]) -> String {
    let is_asked = |source: &&Source<'_>| {
        part.workload.as_ref().is_none_or(|workload| source.run.plan.workload == *workload)
    };
    let at: Vec<String> = part.at.iter().map(|(name, condition)| condition.of(name)).collect();
    let at = if at.is_empty() { String::new() } else { format!(" with {}", at.join(", ")) };
    match (sources.iter().any(|source| is_asked(&source)), &part.workload) {
        (false, Some(workload)) => {
            format!("{}: no run of the workload {workload} was given", part.formula)
        }
        _ => format!("{}: no run{at} holds it", part.formula),
    }
}

pub(super) struct Contest<'f, 'a> {
    pub(super) fields: &'f [Field<'a>],
    /// Take part and fulfil every condition.
    pub(super) fit: Vec<String>,
    pub(super) ruled_out: Vec<RuledOut>,
    pub(super) not_known: Vec<RuledOut>,
    pub(super) remarks: Vec<RuledOut>,
    pub(super) aside: Vec<(String, String)>,
    pub(super) durability: Option<Durability>,
    pub(super) duels: Duels,
}

impl<'f, 'a> Contest<'f, 'a> {
    fn new(fields: &'f [Field<'a>], needs: &[Need], facts: &Facts<'_>) -> Self {
        let mut contest = Contest {
            fields,
            fit: Vec::new(),
            ruled_out: Vec::new(),
            not_known: Vec::new(),
            remarks: Vec::new(),
            aside: Vec::new(),
            durability: None,
            duels: Duels::default(),
        };
        let mut ranked: Vec<(String, Durability)> = Vec::new();
        for label in labels(fields) {
            match unfit(fields, &label) {
                Some(why) => contest.aside.push((label, why)),
                None => {
                    let durability = survives(fields, &label);
                    contest.fit(&label, durability, needs, facts);
                    ranked.push((label, durability));
                }
            }
        }
        if !needs.iter().any(|need| matches!(need, Need::Durability(_))) {
            contest.keep_one_class(&mut ranked);
        }
        let labels: Vec<&str> = ranked.iter().map(|(label, _)| label.as_str()).collect();
        contest.durability = ranked.iter().map(|(_, durability)| *durability).min();
        contest.duels = Duels::new(fields, &labels, Disturbed::Kept, None);
        contest
    }

    fn fit(&mut self, label: &str, durability: Durability, needs: &[Need], facts: &Facts<'_>) {
        let candidate = candidate(self.fields, label, durability, facts);
        let mut is_fit = true;
        for need in needs {
            let entry = |why: String| RuledOut { label: label.into(), need: need.clone(), why };
            match need.fit(&candidate) {
                Fit::Met { remark } if remark.is_empty() => {}
                Fit::Met { remark } => self.remarks.push(entry(remark)),
                Fit::NotKnown { why } => self.not_known.push(entry(why)),
                Fit::RuledOut { why } => {
                    is_fit = false;
                    self.ruled_out.push(entry(why));
                }
            }
        }
        if is_fit {
            self.fit.push(label.into());
        }
    }

    /// Rows that promise less than the strongest are not ranked beside it, unless it was said how
    /// much is enough.
    fn keep_one_class(&mut self, ranked: &mut Vec<(String, Durability)>) {
        let Some(strongest) = ranked.iter().map(|(_, durability)| *durability).max() else {
            return;
        };
        for (label, durability) in ranked.iter().filter(|(_, durability)| *durability < strongest) {
            let word = Need::Durability(*durability);
            self.aside.push((
                label.clone(),
                format!("it {durability} only; --need {word} would let it take part"),
            ));
            self.fit.retain(|fit| fit != label);
        }
        ranked.retain(|(_, durability)| *durability == strongest);
    }

    pub(super) fn fit_labels(&self) -> Vec<&str> {
        self.fit.iter().map(String::as_str).collect()
    }

    fn verdict(&self, objective: &Objective, is_partial: bool) -> ChoiceVerdict {
        let fit = self.fit_labels();
        let best = self.duels.best(&fit);
        let mut runs: Vec<String> = Vec::new();
        for field in self.fields {
            if !runs.contains(&field.run.name) {
                runs.push(field.run.name.clone());
            }
        }
        ChoiceVerdict {
            place: self.place(),
            runs,
            standings: self.standings(&best),
            ruled_out: self.ruled_out.clone(),
            aside: self.aside.clone(),
            not_known: self.not_known.clone(),
            sentences: sentences::verdict(self, objective, &best, is_partial),
            conditions: sentences::conditions(self),
            would_change: sentences::would_change(self, &best),
            best,
        }
    }

    pub(super) fn place(&self) -> String {
        let titles: Vec<&str> = self
            .fields
            .iter()
            .map(|field| field.panel.title.as_str())
            .filter(|title| !title.is_empty())
            .collect();
        titles.join("; ")
    }

    pub(super) fn leader(&self, best: &[String]) -> Option<String> {
        let best: Vec<&str> = best.iter().map(String::as_str).collect();
        self.duels.leader(&best).map(String::from)
    }

    /// Every other one that is fit against the leader, nearest first.
    pub(super) fn standings(&self, best: &[String]) -> Vec<Duel> {
        let Some(leader) = self.leader(best) else { return Vec::new() };
        let others = self.fit.iter().filter(|label| **label != leader);
        let mut duels: Vec<Duel> =
            others.filter_map(|other| self.duels.between(&leader, other)).collect();
        duels.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        duels
    }
}

fn labels(fields: &[Field<'_>]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for member in fields.iter().flat_map(|field| field.members()) {
        if !labels.contains(&member.label) {
            labels.push(member.label.clone());
        }
    }
    labels
}

fn unfit(fields: &[Field<'_>], label: &str) -> Option<String> {
    fields.iter().find_map(|field| match field.member(label) {
        None => Some(format!("{} has no row of it", field.run.name)),
        Some(member) => field.unfit(member),
    })
}

fn survives(fields: &[Field<'_>], label: &str) -> Durability {
    let rows = fields.iter().filter_map(|field| field.member(label));
    rows.map(|member| member.cell.durability).min().unwrap_or(Durability::Nothing)
}

fn candidate<'c>(
    fields: &'c [Field<'_>],
    label: &'c str,
    durability: Durability,
    facts: &Facts<'c>,
) -> Candidate<'c> {
    let member = fields.iter().find_map(|field| field.member(label));
    let fs = member.map_or(label, |member| member.cell.candidate.fs.as_str());
    let memory = fields.iter().filter_map(|field| field.run.environment.get("memory.total_bytes"));
    Candidate {
        label,
        fs,
        durability,
        backing: fields.first().map_or(pickfs_record::BackingKind::Directory, Field::backing),
        memory_bytes: memory.filter_map(|text| text.parse().ok()).max(),
        origin: facts.origins.get(fs),
        features: facts.features,
    }
}
