//! Whether the choice of a plan holds across a fleet: runs of one plan from several hosts.
//!
//! Hosts are no replicates: blocks of one host share its disk, its kernel and its moods. So the host is the unit. On
//! each host its own blocks decide ([`crate::decide`]), and all hosts share one error of five per cent. For hosts like
//! these, each host is a block of the same decision with its median ratio, under five per cent again. Hosts are taken in
//! the order of their ids: beyond the first run, whose plan, build and
//! backing are judged, no order of the list gets another verdict.

mod facts;
mod judged;

use std::collections::{BTreeMap, BTreeSet};

use pickfs_record::{
    BackingKind, Cell, CellId, Durability, RunRecord,
    environment::MACHINE_KEY,
    finding::{AnswerEnd, Claim},
    plan::Metric,
    quantity::counted,
};
use serde::Serialize;

use crate::{
    ALPHA,
    answers::{questions, summaries},
    compare::Named,
    decide::{Decision, End, Rules, blocks_needed},
    panels::{Disturbed, groups},
    wording::{interval_text, list, metric_words, percent_over_one, times},
};

use facts::{Facts, tell_apart};
use judged::{Pairs, Series, Verdict, judge, spread_between};

/// Runs of one plan from two hosts or more.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Fleet {
    pub hosts: Vec<FleetHost>,
    /// Runs that are not judged with the others, each with the reason.
    pub refused: Vec<(String, String)>,
    /// One for each question of the plan, its first metric first.
    pub answers: Vec<FleetAnswer>,
    /// Why there is none, where the plan compares: what a host says.
    pub unanswered: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FleetHost {
    /// Name of its first run.
    pub name: String,
    /// A host twice is one host with more blocks.
    pub runs: u32,
    pub blocks: u32,
    /// Of kernel, processor, device and mounts what is not the same on all hosts.
    pub facts: BTreeMap<String, String>,
}

/// What hosts as units say to one question of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FleetAnswer {
    /// Title of the panel; empty when there is one.
    pub panel: String,
    pub metric: Metric,
    pub end: AnswerEnd,
    /// Labels of those that may be the best on the typical host.
    pub left: Vec<String>,
    pub sentence: String,
    /// The first of the ranking.
    pub best: String,
    /// It beside each other candidate, the next one first.
    pub pairs: Vec<FleetPair>,
    /// About how many hosts more would tell; absent where it is told, or where nobody knows.
    pub more_hosts: Option<u32>,
}

/// The best beside another candidate. Ratios are the other's value over the best's: above 1 the best is faster.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FleetPair {
    pub other: String,
    /// What hosts as units say of the best.
    pub typical: HostRatio,
    /// Lowest and highest of the hosts' medians.
    pub range: Option<(f64, f64)>,
    /// Standard deviation between hosts of the ratio's logarithm beyond what blocks explain (tau), and its share of their
    /// variance (I2). Not claimed.
    pub between: Option<(f64, f64)>,
    pub hosts: Vec<HostRatio>,
    /// Facts that part the hosts on which the best is ahead from those on which it is behind. Not claimed.
    pub goes_with: Vec<String>,
}

/// What one host's own blocks say of the best beside the other; of the typical host, what hosts say.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct HostRatio {
    pub host: String,
    /// Median; absent where one of the two failed in most blocks.
    pub ratio: Option<f64>,
    pub interval: Option<(f64, f64)>,
    pub claim: Claim,
    /// That hold both (of the typical host: hosts); none where nothing may be said of the two.
    pub blocks: u32,
}

/// Hosts that a sentence names.
const NAMED: usize = 4;

struct Host<'a> {
    /// Its place among the runs as they were given.
    given: usize,
    runs: Vec<&'a Named<'a>>,
    /// As in [`FleetHost`].
    facts: Facts,
}

/// A question of the plan with what each host's blocks say to it.
struct Topic {
    panel: String,
    metric: Metric,
    durability: Durability,
    labels: Vec<String>,
    hosts: Vec<BTreeMap<(String, String), Series>>,
}

/// Nothing where the runs are not of two hosts and one plan, that of the first run.
pub fn fleet(runs: &[Named<'_>]) -> Option<Fleet> {
    let first = runs.first()?.run;
    first.environment.get(MACHINE_KEY)?;
    let mut by_id: BTreeMap<&str, Host<'_>> = BTreeMap::new();
    let mut refused = Vec::new();
    for (given, one) in runs.iter().enumerate() {
        match refusal(first, one.run) {
            Ok(id) => {
                let new = || Host { given, runs: Vec::new(), facts: Facts::new() };
                by_id.entry(id).or_insert_with(new).runs.push(one);
            }
            Err(why) => refused.push((one.name.to_owned(), why)),
        }
    }
    let mut hosts: Vec<Host<'_>> = by_id.into_values().collect();
    if hosts.len() < 2 {
        return None;
    }
    tell_apart(&mut hosts);
    let topics = topics(first, &hosts);
    let rules = Rules { alpha: ALPHA / topics.len().max(1) as f64, ..Rules::of(&first.plan) };
    let answers = topics.iter().filter_map(|topic| answer(topic, &hosts, rules));
    let answers = answers.collect();
    let mut shown: Vec<&Host<'_>> = hosts.iter().collect();
    shown.sort_by_key(|host| host.given);
    let ending = runs.iter().find_map(|one| Some((one.name, one.findings.endings.first()?)));
    let unanswered = ending.filter(|_| topics.is_empty()).map(|(name, ending)| {
        format!(
            "no host has blocks that compare what the plan asks. On {name}: {}",
            ending.sentence
        )
    });
    let shown = shown.into_iter().map(|host| FleetHost {
        name: host.runs[0].name.into(),
        runs: host.runs.len() as u32,
        blocks: host.runs.iter().map(|one| one.run.blocks()).sum(),
        facts: host.facts.clone(),
    });
    Some(Fleet { hosts: shown.collect(), refused, answers, unanswered })
}

/// The id of a run's host, or why it is not judged with the first one. Order, length, devices and folders may be others.
fn refusal<'a>(first: &RunRecord, other: &'a RunRecord) -> Result<&'a str, String> {
    let id = other.environment.get(MACHINE_KEY);
    let id = id.ok_or("it does not say which host it was begun on; run it by this build")?;
    let known = || first.cells.iter().chain(first.skipped.iter().map(|skipped| &skipped.cell));
    let is_known = |cell: &Cell| {
        let parts = |cell: &Cell| {
            (cell.candidate.clone(), cell.workload.clone(), cell.knobs.clone(), cell.levels.clone())
        };
        known().any(|one| parts(one) == parts(cell))
    };
    // Memory is a floor of any.
    let grounds = |run: &RunRecord| -> BTreeSet<BackingKind> {
        let kinds = run.trials.iter().map(|trial| trial.backing);
        kinds.filter(|kind| *kind != BackingKind::Memory).collect()
    };
    let asks = |run: &RunRecord| (run.plan.timing, run.plan.design.primary.clone());
    if first.build != other.build {
        return Err(format!("build {} against {} of the first one", other.build, first.build));
    }
    if asks(first) != asks(other) || !other.cells.iter().all(is_known) {
        return Err("another plan or version of its workload than that of the first one".into());
    }
    let (own, firsts) = (grounds(other), grounds(first));
    match own.is_disjoint(&firsts) && !own.is_empty() && !firsts.is_empty() {
        true => Err("it was measured on another kind of backing than the first one".into()),
        false => Ok(id),
    }
}

fn topics(first: &RunRecord, hosts: &[Host<'_>]) -> Vec<Topic> {
    let mut topics: Vec<Topic> = Vec::new();
    for (at, host) in hosts.iter().enumerate() {
        // Blocks of a later run of the same host stand behind those of the earlier one.
        let mut before: u32 = 0;
        for one in &host.runs {
            add(&mut topics, one.run, (at, hosts.len()), before);
            before = before.saturating_add(one.run.last_block());
        }
    }
    let place = |topic: &Topic| first.plan.design.primary.iter().position(|m| *m == topic.metric);
    topics.sort_by_key(place);
    topics
}

fn add(topics: &mut Vec<Topic>, run: &RunRecord, (at, hosts): (usize, usize), before: u32) {
    let groups = groups(run);
    let ops = summaries(&groups);
    for question in questions(run, &groups, &ops, Disturbed::Kept) {
        let group = &groups[question.group];
        let (metric, cells, decision) = question.into_decision();
        let member = |id: &CellId| group.members.iter().find(|member| member.cell.id == *id);
        let members: Vec<_> = cells.iter().filter_map(member).collect();
        let Some(durability) = members.iter().map(|m| m.cell.durability).min() else { continue };
        let is_it = |topic: &Topic| {
            (&topic.panel, &topic.metric, topic.durability) == (&group.title, &metric, durability)
        };
        let found = topics.iter().position(is_it).unwrap_or_else(|| {
            let (panel, labels) = (group.title.clone(), Vec::new());
            let hosts = vec![BTreeMap::new(); hosts];
            topics.push(Topic { panel, metric: metric.clone(), durability, labels, hosts });
            topics.len() - 1
        });
        let topic = &mut topics[found];
        for (a, own) in members.iter().map(|member| &member.label).enumerate() {
            if !topic.labels.contains(own) {
                topic.labels.push(own.clone());
            }
            for (b, other) in members.iter().map(|member| &member.label).enumerate() {
                let series = topic.hosts[at].entry((own.clone(), other.clone())).or_default();
                let blocks = decision.series(a, b).iter().filter(|_| a != b);
                series.extend(blocks.map(|(block, ratio)| (block.saturating_add(before), *ratio)));
            }
        }
    }
}

impl Topic {
    fn pairs(&self, host: usize) -> Pairs {
        let of = |own: &String, other: &String| {
            let known = self.hosts[host].get(&(own.clone(), other.clone()));
            known.cloned().unwrap_or_default()
        };
        let row = |own| self.labels.iter().map(|other| of(own, other)).collect();
        self.labels.iter().map(row).collect()
    }
}

fn answer(topic: &Topic, hosts: &[Host<'_>], rules: Rules) -> Option<FleetAnswer> {
    let verdict = judge((0..hosts.len()).map(|host| topic.pairs(host)).collect(), rules);
    let ranking = verdict.fleet.ranking();
    let (best, others) = ranking.split_first()?;
    let pair = |other: &usize| pair(topic, hosts, &verdict, (*best, *other));
    let pairs: Vec<FleetPair> = others.iter().map(pair).collect();
    let units = pairs.first()?.typical.blocks;
    let fewest = blocks_needed(rules.alpha, topic.labels.len(), 1);
    let (end, more_hosts) = match verdict.fleet.end() {
        End::Winner(_) => (AnswerEnd::Winner, None),
        End::Equal(_) => (AnswerEnd::Equal, None),
        End::Open(_) if units < fewest => (AnswerEnd::NoAnswer, Some(fewest - units)),
        End::Open(_) => (AnswerEnd::NoAnswer, verdict.fleet.more_blocks()),
    };
    let label = |index: usize| topic.labels[index].clone();
    let mut answer = FleetAnswer {
        panel: topic.panel.clone(),
        metric: topic.metric.clone(),
        end,
        left: verdict.fleet.left().into_iter().map(label).collect(),
        sentence: String::new(),
        best: label(*best),
        pairs,
        more_hosts,
    };
    answer.sentence = sentence(&answer, units < fewest, rules.margin);
    Some(answer)
}

fn pair(
    topic: &Topic,
    hosts: &[Host<'_>],
    verdict: &Verdict,
    (best, other): (usize, usize),
) -> FleetPair {
    let ratio = |host: &str, decision: &Decision| {
        let duel = decision.duel(other, best);
        let is_ratio = duel.blocks > 0 && duel.ratio.is_finite() && duel.ratio > 0.0;
        HostRatio {
            host: host.into(),
            ratio: is_ratio.then_some(duel.ratio),
            interval: duel.closed(),
            claim: decision.claim(other, best),
            blocks: duel.blocks,
        }
    };
    let both = hosts.iter().zip(&verdict.hosts);
    let series: Vec<_> = verdict.hosts.iter().map(|own| own.series(other, best)).collect();
    let mut on: Vec<_> = both.map(|(host, own)| (host, ratio(host.runs[0].name, own))).collect();
    on.sort_by_key(|(host, _)| host.given);
    let ratios = || on.iter().filter_map(|(_, own)| own.ratio);
    FleetPair {
        other: topic.labels[other].clone(),
        typical: ratio("the typical host", &verdict.fleet),
        range: ratios().reduce(f64::min).zip(ratios().reduce(f64::max)),
        between: spread_between(&series),
        goes_with: parting(&on),
        hosts: on.into_iter().map(|(_, own)| own).collect(),
    }
}

/// Facts whose every value stands on one side alone, and which are not other ones on each host.
fn parting(on: &[(&Host<'_>, HostRatio)]) -> Vec<String> {
    let side = |claim: Claim| -> Vec<&Host<'_>> {
        on.iter().filter(|(_, own)| own.claim == claim).map(|(host, _)| *host).collect()
    };
    let (ahead, behind) = (side(Claim::Faster), side(Claim::Slower));
    let told = |key: &String| {
        let values = |side: &[&Host<'_>]| -> Option<BTreeSet<String>> {
            side.iter().map(|host| host.facts.get(key).cloned()).collect()
        };
        let (here, there) = (values(&ahead)?, values(&behind)?);
        let repeats = here.len() + there.len() < ahead.len() + behind.len();
        let parts = !here.is_empty() && !there.is_empty() && here.is_disjoint(&there);
        let words = |values: BTreeSet<String>| list(&Vec::from_iter(values));
        (parts && repeats).then(|| format!("{key}: {} against {}", words(here), words(there)))
    };
    let keys: BTreeSet<&String> = on.iter().flat_map(|(host, _)| host.facts.keys()).collect();
    keys.into_iter().filter_map(told).collect()
}

fn sentence(answer: &FleetAnswer, are_few: bool, margin: f64) -> String {
    let Some(FleetPair { other, typical, .. }) = answer.pairs.first() else {
        return String::new();
    };
    let panel = if answer.panel.is_empty() { "" } else { &format!(", {}", answer.panel) };
    let by = format!("by {}{panel}", metric_words(&answer.metric));
    let (hosts, left) = (counted(typical.blocks.into(), "host"), list(&answer.left));
    let more = answer.more_hosts.map(|more| more.to_string());
    let said = match (answer.end, typical.ratio) {
        (AnswerEnd::Winner, Some(ratio)) => {
            let interval = |(low, high)| format!("95 % interval {}; ", interval_text(low, high));
            let interval = typical.interval.map(interval).unwrap_or_default();
            let ratio = times(ratio);
            format!(
                "{left}: {ratio} faster than {other} on the typical host ({interval}{hosts}) {by}"
            )
        }
        (AnswerEnd::Winner, None) => {
            format!("{left}: {other} failed or missed its rate on most of {hosts} {by}")
        }
        (AnswerEnd::Equal, _) => {
            let margin = percent_over_one(1.0 + margin);
            format!("{left} are equal within {margin} on the typical host ({hosts}) {by}")
        }
        (AnswerEnd::NoAnswer, _) if are_few => {
            let more = more.unwrap_or_default();
            format!(
                "too few hosts to speak of others like them ({hosts}) {by}: it takes {more} more at least"
            )
        }
        (AnswerEnd::NoAnswer, _) => {
            let more = more.map(|more| format!("about {more} more would"));
            let more = more.unwrap_or_else(|| "no clear order shows in them".into());
            format!("{hosts} do not decide between {left} {by}; {more}")
        }
    };
    format!("{said}. {}", on_their_own(answer))
}

/// `By their own blocks xfs is ahead of ext4 on 6 of 8 hosts, undecided on 1 (h3), behind on 1 (h7).`
fn on_their_own(answer: &FleetAnswer) -> String {
    let pair = &answer.pairs[0];
    let of = |word: &str| -> Vec<&HostRatio> {
        pair.hosts.iter().filter(|own| standing(own) == word).collect()
    };
    let told = |word: &str| {
        let hosts = of(word);
        let mut names: Vec<_> = hosts.iter().take(NAMED).map(|own| own.host.clone()).collect();
        names.extend((hosts.len() > NAMED).then(|| format!("{} more", hosts.len() - NAMED)));
        (!hosts.is_empty()).then(|| format!(", {word} on {} ({})", hosts.len(), list(&names)))
    };
    let others = ["equal", "undecided", "nothing to be said"].into_iter().filter_map(told);
    format!(
        "By their own blocks {} is ahead of {} on {} of {}{}{}.",
        answer.best,
        pair.other,
        of("ahead").len(),
        counted(pair.hosts.len() as u64, "host"),
        others.collect::<String>(),
        told("behind").unwrap_or_else(|| ", behind on none".into())
    )
}

fn standing(own: &HostRatio) -> &'static str {
    match own.claim {
        _ if own.blocks == 0 => "nothing to be said",
        Claim::Faster => "ahead",
        Claim::Slower => "behind",
        Claim::Equal { .. } => "equal",
        Claim::Open => "undecided",
    }
}

#[cfg(test)]
mod tests;
