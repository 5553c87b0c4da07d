use std::collections::BTreeMap;

use pickfs_record::{Durability, finding::AnswerEnd, origin::Origin};
use serde::Serialize;

use super::{
    FeatureAnswers, Objective, Part,
    duel::Duel,
    field::Field,
    need::{Candidate, Fit, Need},
    sentences,
};
use crate::{
    ALPHA,
    answers::Ranked,
    articles::Source,
    budget,
    decide::{Decision, End, Rules, blocks_needed, decide},
    panels::Disturbed,
    wording::unique,
};

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
    pub end: AnswerEnd,
    /// Those that may be the best; none when nothing can be said.
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
        .map(|fields| {
            Contest::new(fields, tables.len(), needs, facts).verdict(objective, !missing.is_empty())
        })
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
    let workload = part.at.get("workload");
    let is_asked = |source: &Source<'_>| {
        workload.is_none_or(|workload| workload.holds(&source.run.plan.workload))
    };
    let others = part.at.iter().filter(|(name, _)| *name != "workload");
    let at: Vec<String> = others.map(|(name, condition)| condition.of(name)).collect();
    let at = if at.is_empty() { String::new() } else { format!(" with {}", at.join(", ")) };
    match (sources.iter().any(is_asked), workload) {
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
    /// Take part and do not fulfil every condition.
    pub(super) ruled_out_ranked: Vec<String>,
    pub(super) rules: Rules,
    /// Blocks that the slowest needs, at least, to be told to be out.
    pub(super) needed: u32,
}

/// Those of `labels` beside each other.
pub(super) struct Decided {
    pub(super) labels: Vec<String>,
    pub(super) ranked: Option<Ranked>,
    pub(super) decision: Decision,
}

impl<'f, 'a> Contest<'f, 'a> {
    fn new(fields: &'f [Field<'a>], tables: usize, needs: &[Need], facts: &Facts<'_>) -> Self {
        let mut contest = Contest {
            fields,
            fit: Vec::new(),
            ruled_out: Vec::new(),
            not_known: Vec::new(),
            remarks: Vec::new(),
            aside: Vec::new(),
            durability: None,
            ruled_out_ranked: Vec::new(),
            rules: fields[0].rules,
            needed: 0,
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
        contest.durability = ranked.iter().map(|(_, durability)| *durability).min();
        contest.ruled_out_ranked = ranked
            .into_iter()
            .map(|(label, _)| label)
            .filter(|label| !contest.fit.contains(label))
            .collect();
        // The choice, and what it would be without the conditions of each one that they rule out.
        let shares = tables * (1 + contest.ruled_out_ranked.len());
        contest.rules = budget::one_of(&fields[0].run.plan, ALPHA, shares);
        contest.rules.planned = fields.iter().map(|f| f.rules.planned).min().unwrap_or_default();
        contest.needed = blocks_needed(ALPHA, contest.fit.len(), shares);
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

    /// Of several parts block k is what each part has in its own block k.
    pub(super) fn decided(
        &self,
        labels: &[String],
        disturbed: Disturbed,
        only: Option<usize>,
    ) -> Decided {
        let parts = self.fields.iter().map(|field| {
            let ranked = field.ranked(labels, disturbed, only)?;
            Some((field.weight, ranked))
        });
        let ranked = parts.collect::<Option<Vec<_>>>().and_then(Ranked::mean);
        let decision = match &ranked {
            Some(ranked) => ranked.decision(self.rules),
            None => decide(&[], self.rules),
        };
        Decided { labels: labels.to_vec(), ranked, decision }
    }

    fn verdict(&self, objective: &Objective, is_partial: bool) -> ChoiceVerdict {
        let decided = self.decided(&self.fit, Disturbed::Kept, None);
        let best = decided.best();
        ChoiceVerdict {
            place: self.place(),
            runs: unique(self.fields.iter().map(|field| field.run.name.clone())),
            end: if is_partial { AnswerEnd::NoAnswer } else { decided.end() },
            standings: if best.is_empty() { Vec::new() } else { decided.standings() },
            ruled_out: self.ruled_out.clone(),
            aside: self.aside.clone(),
            not_known: self.not_known.clone(),
            sentences: sentences::verdict(self, &decided, objective, is_partial),
            conditions: sentences::conditions(self),
            would_change: sentences::would_change(self, &decided),
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
}

impl Decided {
    /// Those that may be the best; none where no pair can be told apart yet.
    pub(super) fn best(&self) -> Vec<String> {
        let count = self.labels.len();
        let told = |a: usize| (0..a).any(|b| self.decision.duel(a, b).closed().is_some());
        let is_told = count == 1 || (0..count).any(told) || self.end() != AnswerEnd::NoAnswer;
        let left = self.decision.left().into_iter().filter(|_| is_told);
        match count {
            1 => self.labels.clone(),
            _ => left.map(|index| self.labels[index].clone()).collect(),
        }
    }

    pub(super) fn end(&self) -> AnswerEnd {
        match self.decision.end() {
            // Who was compared with nothing has won nothing.
            _ if self.labels.len() == 1 => AnswerEnd::NoAnswer,
            End::Winner(_) => AnswerEnd::Winner,
            End::Equal(_) => AnswerEnd::Equal,
            End::Open(_) => AnswerEnd::NoAnswer,
        }
    }

    pub(super) fn between(&self, one: &str, other: &str) -> Option<Duel> {
        let at = |label: &str| self.labels.iter().position(|known| known == label);
        Some(Duel::of(&self.decision, &self.labels, at(one)?, at(other)?))
    }

    pub(super) fn leader(&self) -> Option<&String> {
        self.ranked.as_ref()?;
        self.decision.ranking().first().map(|index| &self.labels[*index])
    }

    /// The leader beside every other one, nearest first.
    pub(super) fn standings(&self) -> Vec<Duel> {
        let Some(leader) = self.leader() else { return Vec::new() };
        let others = self.labels.iter().filter(|label| *label != leader);
        let mut duels: Vec<Duel> = others
            .filter_map(|other| self.between(leader, other))
            .filter(|duel| duel.blocks > 0)
            .collect();
        let ratio = |duel: &Duel| duel.ratio.unwrap_or(f64::INFINITY);
        duels.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        duels
    }
}

fn labels(fields: &[Field<'_>]) -> Vec<String> {
    let members = fields.iter().flat_map(|field| field.members());
    unique(members.map(|member| member.label.clone()))
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
