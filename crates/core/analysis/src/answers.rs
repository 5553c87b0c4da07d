//! What stands in a block: a value per row, lower is better; infinity where the trial failed,
//! nothing where it did not run or did other work than the others. Rows that promise different
//! things are asked apart. The plan's answers and the main effects of its factors share the error
//! of one run; everything else is exploratory, with ratios and without a claim.

mod columns;
mod noted;

use std::collections::BTreeMap;

use pickfs_record::{
    CellId, Durability, Outcome, RunRecord,
    finding::{Answer, AnswerEnd, Claim, Lead, OpSummary, OutOf},
    plan::Metric,
};

use crate::{
    budget::{self, OPENING_BLOCKS, SENTINEL_EVERY},
    decide::{Decision, Duel, End, Rules, Standing, decide},
    ending, factors,
    panels::{BY_CANDIDATE, Disturbed, Group, Member, applies, are_settings, groups},
    summary::{is_carried, op_summaries},
    wording::metric_name,
};

use columns::values;
pub use columns::values_by_block;
pub(crate) use columns::{Place, Ranked, misses_its_rate, settled};
pub use noted::{Without, without_doubts};

pub struct Question<'a> {
    pub group: usize,
    pub metric: &'a Metric,
    members: Vec<&'a Member<'a>>,
    decision: Decision,
    rules: Rules,
    ranked: Ranked,
    /// It would be decided if nothing were withheld.
    is_clear: bool,
}

pub type Summaries = [Vec<Vec<OpSummary>>];

pub fn summaries(groups: &[Group<'_>]) -> Vec<Vec<Vec<OpSummary>>> {
    let of_group = |group: &Group<'_>| {
        let members = group.members.iter();
        members.map(|member| op_summaries(&member.chosen(Disturbed::Kept))).collect()
    };
    groups.iter().map(of_group).collect()
}

pub fn questions<'a>(
    run: &'a RunRecord,
    groups: &'a [Group<'a>],
    ops: &'a Summaries,
    disturbed: Disturbed,
) -> Vec<Question<'a>> {
    let mut fields: Vec<(usize, &Metric, Vec<usize>)> = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        for metric in &run.plan.design.primary {
            let field = field(group, &ops[index], metric);
            let classes = classes(group, field, &run.plan.design.compare);
            fields.extend(classes.into_iter().map(|members| (index, metric, members)));
        }
    }
    fields.retain(|(_, _, members)| members.len() > 1);
    let effects = factors::has_effects(run, groups, ops);
    let is_lacking = |metric: &&Metric| fields.iter().all(|(_, asked, _)| asked != metric);
    let lacking = run.plan.design.primary.iter().filter(is_lacking).count();
    let rules = budget::answer(&run.plan, fields.len() + lacking, effects);
    let question = |(index, metric, members): (usize, &'a Metric, Vec<usize>)| {
        let group = &groups[index];
        let ranked = Ranked::new(group, &members, metric, disturbed, rules.margin);
        let decision = ranked.decision(rules);
        let is_clear = !matches!(decide(&ranked.blocks(), rules).end(), End::Open(_));
        let members = members.iter().map(|m| &group.members[*m]).collect();
        Question { group: index, metric, members, decision, rules, ranked, is_clear }
    };
    fields.into_iter().map(question).collect()
}

/// One that misses its rate falls behind in one long episode: it stands beside one that carries the
/// metric.
fn field(group: &Group<'_>, ops: &[Vec<OpSummary>], metric: &Metric) -> Vec<usize> {
    let mut members = group.rivals();
    members.push(group.reference);
    members.sort_unstable();
    members.retain(|&index| {
        let Some(member) = group.members.get(index) else { return false };
        applies(metric, member.cell)
            && (is_carried(&ops[index], metric) || misses_its_rate(member))
            && !values(group, member, metric, Disturbed::Kept).is_empty()
    });
    if !members.iter().any(|index| is_carried(&ops[*index], metric)) {
        members.clear();
    }
    members
}

/// File systems that do not promise the same are no rivals: one question per class.
fn classes(group: &Group<'_>, members: Vec<usize>, compare: &str) -> Vec<Vec<usize>> {
    if compare != BY_CANDIDATE || are_settings(group.members.iter().map(|member| member.cell)) {
        return vec![members];
    }
    let mut classes: BTreeMap<Durability, Vec<usize>> = BTreeMap::new();
    for index in members {
        classes.entry(group.members[index].cell.durability).or_default().push(index);
    }
    classes.into_values().rev().collect()
}

/// Metrics of the plan without a question, which two rows alike should have carried, with these.
pub fn missing<'a>(
    run: &'a RunRecord,
    groups: &'a [Group<'a>],
    questions: &[Question<'_>],
    may_carry: impl Fn(&Member<'_>) -> bool,
) -> Vec<(&'a Metric, Vec<&'a CellId>)> {
    let design = &run.plan.design;
    let is_missing = |metric: &&Metric| questions.iter().all(|question| question.metric != *metric);
    let cells = |metric: &Metric| -> Vec<&'a CellId> {
        let of_group = |group: &'a Group<'a>| {
            let mut members = [group.rivals(), vec![group.reference]].concat();
            members.retain(|index| {
                let member = &group.members[*index];
                applies(metric, member.cell) && may_carry(member)
            });
            let alike = classes(group, members, &design.compare).into_iter();
            let alike = alike.filter(|class| class.len() > 1).flatten();
            alike.map(|index| &group.members[index].cell.id)
        };
        groups.iter().flat_map(of_group).collect()
    };
    let all = design.primary.iter().filter(is_missing).map(|metric| (metric, cells(metric)));
    all.filter(|(_, cells)| !cells.is_empty()).collect()
}

impl Question<'_> {
    fn label(&self, index: usize) -> String {
        self.members[index].label.clone()
    }

    fn is_decided(&self) -> bool {
        let stays = || self.gate().is_some_and(|((gate, ..), _)| !gate.may_pass);
        self.end() != AnswerEnd::NoAnswer || self.is_clear && stays()
    }

    fn end(&self) -> AnswerEnd {
        match self.decision.end() {
            End::Winner(_) => AnswerEnd::Winner,
            End::Equal(_) => AnswerEnd::Equal,
            End::Open(_) => AnswerEnd::NoAnswer,
        }
    }

    fn left(&self) -> Vec<String> {
        self.decision.left().into_iter().map(|index| self.label(index)).collect()
    }

    pub(crate) fn into_decision(self) -> (Metric, Vec<CellId>, Decision) {
        let cells = self.members.iter().map(|member| member.cell.id.clone()).collect();
        (self.metric.clone(), cells, self.decision)
    }

    pub fn answer(&self, run: &RunRecord, title: &str, without: &[Without<'_>]) -> Answer {
        let end = self.end();
        let is_open = end == AnswerEnd::NoAnswer;
        let gate = self.gate_in_words().filter(|_| is_open);
        let (lead, left) = (self.lead(), self.decision.left());
        let pairs = left.iter().flat_map(|a| left.iter().map(move |b| (*a, *b)));
        let shared = pairs.filter(|(a, b)| a < b).map(|(a, b)| self.decision.duel(a, b).blocks);
        let first = lead.as_ref().map_or(0, |lead| lead.blocks);
        let trials = self.members.iter().map(|member| member.chosen(Disturbed::Kept).len() as u32);
        let standings = self.decision.standings().iter().enumerate();
        Answer {
            panel: title.into(),
            metric: self.metric.clone(),
            raw: self.ranked.raw,
            end,
            left: self.left(),
            lead,
            out: standings.filter_map(|(index, standing)| self.out(index, *standing)).collect(),
            alpha: self.rules.alpha,
            margin: self.rules.margin,
            more_blocks: self.decision.more_blocks().filter(|_| is_open && gate.is_none()),
            gate,
            notes: self.notes(without),
            blocks: shared.min().unwrap_or(first),
            trials: trials.sum(),
            trials_of_whole_blocks: run.blocks() * self.members.len() as u32,
        }
    }

    fn lead(&self) -> Option<Lead> {
        let ranking = self.decision.ranking();
        let [first, second, ..] = ranking[..] else { return None };
        let duel = self.decision.duel(second, first);
        let (ratio, interval) = (duel.finite(), duel.closed());
        Some(Lead { over: self.label(second), ratio, interval, blocks: duel.blocks })
    }

    fn out(&self, index: usize, standing: Standing) -> Option<OutOf> {
        let Standing::Out { by, at_block } = standing else { return None };
        let duel = self.decision.duel(index, by);
        let since = self.decision.since(index, by, at_block);
        Some(OutOf {
            label: self.label(index),
            by: self.label(by),
            at_block,
            slower_by: duel.finite(),
            interval: duel.closed(),
            slower_in: duel.slower,
            blocks: duel.blocks,
            blocks_since: since.0,
            faster_since: since.1,
        })
    }

    /// The reference beside another row as this question tells them apart; nothing where it holds only one.
    pub fn duel(&self, reference: &str, other: &str) -> Option<(Duel, Claim)> {
        let at = |label: &str| self.members.iter().position(|member| member.label == label);
        let (reference, other) = (at(reference)?, at(other)?);
        Some((self.decision.duel(reference, other), self.decision.claim(reference, other)))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextBlock {
    pub decided: bool,
    pub cells: Vec<CellId>,
    pub words: Vec<String>,
}

/// Blocks go to the rows that may be the best; every row comes back in every [`SENTINEL_EVERY`]th
/// block.
pub fn next_block(run: &RunRecord) -> NextBlock {
    let groups = groups(run);
    let ops = summaries(&groups);
    let questions = questions(run, &groups, &ops, Disturbed::Kept);
    let blocks = run.last_block();
    let opening = blocks < OPENING_BLOCKS || (blocks + 1) % SENTINEL_EVERY == 0;
    let all = opening || questions.is_empty();
    let never_finished = |id: &CellId| {
        let mut trials = run.trials.iter().filter(|trial| trial.cell == *id);
        trials.all(|trial| trial.outcome != Outcome::Finished)
    };
    let lost = |id: &CellId| blocks >= OPENING_BLOCKS && never_finished(id);
    let missing = missing(run, &groups, &questions, |member| !lost(&member.cell.id));
    let is_asked = blocks > 0 && !questions.is_empty() && missing.is_empty();
    let decided = is_asked && questions.iter().all(Question::is_decided);
    let mut wanted: Vec<&CellId> = missing.iter().flat_map(|(_, cells)| cells.clone()).collect();
    for question in questions.iter().filter(|question| !question.is_decided()) {
        let left = question.decision.left().into_iter();
        wanted.extend(left.map(|index| &question.members[index].cell.id));
    }
    let mut words: Vec<String> =
        answers(run, &groups, &questions, &[]).iter().map(ending::standing).collect();
    let lacking = missing.iter().map(|(metric, _)| metric_name(metric));
    words.extend(lacking.map(|name| format!("{name}: NO ANSWER")));
    let runs = |id: &&CellId| !decided && !lost(id) && (all || wanted.contains(id));
    NextBlock {
        decided,
        cells: run.cells.iter().map(|cell| &cell.id).filter(runs).cloned().collect(),
        words,
    }
}

pub fn answers(
    run: &RunRecord,
    groups: &[Group<'_>],
    questions: &[Question<'_>],
    without: &[Without<'_>],
) -> Vec<Answer> {
    let answer =
        |question: &Question<'_>| question.answer(run, &groups[question.group].title, without);
    questions.iter().map(answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use pickfs_record::{
        finding::{Comparison, Findings},
        plan::{Statistic, StopRule},
    };
    use pickfs_testkit::{FakeCandidate, FakeRun, Mishap, fake_run};

    fn primary(found: &Findings) -> Vec<Comparison> {
        let all = found.panels.iter().flat_map(|panel| panel.comparisons.clone());
        all.filter(|comparison| comparison.primary).collect()
    }

    fn twelve() -> FakeRun {
        FakeRun { blocks: 12, ..FakeRun::default() }
    }

    fn race(blocks: u32, mishaps: Vec<Mishap>) -> RunRecord {
        let stop = StopRule::Decided { budget_s: 1e6, tie_margin: 0.05 };
        fake_run(&FakeRun { blocks, stop, mishaps, ..FakeRun::default() })
    }

    fn pair(labels: [&str; 2], durable_ns: f64, noise: f64) -> Vec<FakeCandidate> {
        let named = labels.map(|text| FakeCandidate::new(text, 500.0, durable_ns));
        named.map(|candidate| FakeCandidate { noise, ..candidate }).into()
    }

    #[test]
    fn planted_differences_are_answered_in_the_right_direction() {
        let twelve_run = fake_run(&twelve());
        let found = findings(&twelve_run);
        let durable = found.answers.iter().find(|a| a.panel == "sync=fdatasync").expect("asked");
        assert_eq!(
            (durable.end, durable.left.as_slice()),
            (AnswerEnd::Winner, &["xfs:noatime".into()][..])
        );
        let shared = crate::budget::of_plan(&twelve_run.plan) / 2.0;
        assert!((durable.alpha - shared).abs() < 1e-12, "two questions share the error");
        let ext4 = durable.out.iter().find(|out| out.label == "ext4:noatime").expect("out");
        let (low, high) = ext4.interval.expect("twelve blocks");
        let by = ext4.slower_by.expect("a ratio");
        assert!(ext4.by == "xfs:noatime" && 1.0 < low && low < by && by < high);
        assert!((by - 194.0 / 141.0).abs() < 0.15, "{ext4:?}");
        let said: Vec<_> = primary(&found).into_iter().map(|c| (c.other, c.claim)).collect();
        assert!(said.contains(&("xfs:noatime".into(), Claim::Faster)), "{said:?}");
    }

    #[test]
    fn a_block_that_somebody_stopped_is_none_of_an_answer() {
        let mut run = fake_run(&twelve());
        for trial in run.trials.iter_mut().filter(|trial| trial.block == 12) {
            trial.outcome = Outcome::Failed { reason: pickfs_record::INTERRUPTED.into() };
        }
        assert!(findings(&run).answers.iter().all(|answer| answer.blocks == 11));
        let ext4 = run.cells[0].id.clone();
        run.trials.retain(|trial| trial.block < 11 || trial.cell == ext4);
        assert!(findings(&run).answers.iter().any(|answer| answer.blocks == 10));
    }

    #[test]
    fn the_reference_changes_no_answer() {
        let of = |reference: &str| {
            findings(&fake_run(&FakeRun { reference: reference.into(), ..twelve() })).answers
        };
        let first = of("ext4:noatime");
        for other in ["xfs:noatime", "btrfs:noatime"] {
            for (one, two) in first.iter().zip(of(other)) {
                assert_eq!((one.end, &one.left, &one.out), (two.end, &two.left, &two.out));
            }
        }
    }

    #[test]
    fn few_blocks_show_ratios_claim_nothing_and_say_how_many_more() {
        let found = findings(&fake_run(&FakeRun { blocks: 4, ..FakeRun::default() }));
        assert!(found.answers.iter().all(|answer| answer.end == AnswerEnd::NoAnswer));
        assert!(found.answers.iter().any(|answer| answer.more_blocks.is_some_and(|more| more > 0)));
        let shown = primary(&found);
        assert!(shown.iter().all(|c| c.claim == Claim::Open && c.interval.is_none()));
        assert!(shown.iter().all(|c| c.speedup > 0.0));
    }

    #[test]
    fn equal_ones_are_equal_within_the_margin_and_never_both_named_and_tied() {
        let candidates = pair(["ext4:noatime", "xfs:noatime"], 150_000.0, 0.01);
        let found = findings(&fake_run(&FakeRun { candidates, blocks: 20, ..FakeRun::default() }));
        for answer in &found.answers {
            assert_eq!((answer.end, answer.left.len()), (AnswerEnd::Equal, 2), "{answer:?}");
        }
        assert!(primary(&found).iter().all(|c| c.claim == Claim::Equal { margin: 0.05 }));
    }

    #[test]
    fn exploratory_comparisons_have_values_and_no_claim_and_floors_none() {
        let found = findings(&fake_run(&twelve()));
        let all: Vec<_> = found.panels.iter().flat_map(|panel| &panel.comparisons).collect();
        let rest: Vec<_> = all.iter().filter(|comparison| !comparison.primary).collect();
        assert!(rest.len() > 4 && rest.iter().all(|c| c.claim == Claim::Open));
        assert!(all.iter().all(|c| c.other != "tmpfs" && c.reference != "tmpfs"));
    }

    #[test]
    fn an_answer_that_hangs_on_disturbed_trials_is_told_both_ways() {
        let mut candidates = pair(["ext4:noatime", "xfs:noatime"], 150_000.0, 0.1);
        candidates[1].append_ns = 800.0;
        let disturbed = |block| Mishap::disturbed("ext4:noatime", "none", block, 3.0);
        let mishaps = (1..=6).map(disturbed).collect();
        let found = findings(&fake_run(&FakeRun { candidates, mishaps, ..twelve() })).answers;
        let of = |op: &str| found.iter().find(|answer| answer.metric.op == op).expect("asked");
        let append = of("append");
        assert_eq!((append.end, &append.gate), (AnswerEnd::NoAnswer, &None));
        assert_eq!(append.notes[0].text, "without them WINNER ext4:noatime");
        assert_eq!(of("durable").notes, []);
    }

    #[test]
    fn a_quantile_without_its_episodes_is_not_asked() {
        let mut ask = twelve();
        ask.primary[0].statistic = Statistic::Quantile(0.99999);
        ask.rate_per_s = 1_000.0;
        let found = findings(&fake_run(&ask));
        assert!(found.answers.iter().all(|answer| answer.metric != ask.primary[0]));
    }

    /// The other metric neither ends the race nor becomes the headline, and has its share of the error and no more.
    #[test]
    fn a_planned_metric_that_nobody_carries_is_no_answer_and_stays_open() {
        let stop = StopRule::Decided { budget_s: 1e6, tie_margin: 0.05 };
        let mut ask = FakeRun { blocks: 61, stop, ..FakeRun::default() };
        let whole = findings(&fake_run(&ask)).answers;
        ask.primary[0].statistic = Statistic::Quantile(0.99999);
        ask.rate_per_s = 1_000.0;
        let run = fake_run(&ask);
        let found = findings(&run);
        let ends: Vec<_> = found.endings.iter().map(|ending| ending.end).collect();
        assert_eq!((found.answers.len(), ends), (1, vec![AnswerEnd::NoAnswer, AnswerEnd::Winner]));
        let said = found.endings[0].line();
        assert_eq!(
            said,
            "NO ANSWER too few slow calls carry p99.999 service time of durable appends."
        );
        assert!((found.answers[0].alpha - whole[0].alpha).abs() < 1e-12);
        let next = next_block(&run);
        assert_eq!((next.decided, next.cells.len()), (false, 3), "those that should carry it");
        assert_eq!(next.words[1], "durable p99.999: NO ANSWER");
    }

    /// A candidate that fails in half of its blocks is not the best, however fast it is in the others.
    #[test]
    fn a_failed_trial_is_worse_than_any() {
        let fails =
            (1..=6).map(|block| Mishap::failed("xfs:noatime", "fdatasync", block, "ENOSPC"));
        let found = findings(&fake_run(&FakeRun { mishaps: fails.collect(), ..twelve() }));
        let durable = found.answers.iter().find(|a| a.panel == "sync=fdatasync").expect("asked");
        assert_ne!(durable.left, ["xfs:noatime"], "{durable:?}");
    }

    #[test]
    fn a_race_opens_with_all_cells_and_ends_when_every_question_has() {
        let opening = next_block(&race(0, Vec::new()));
        assert_eq!((opening.decided, opening.cells.len()), (false, 8));
        let later = next_block(&race(3, Vec::new()));
        assert_eq!(later.cells.len(), 6, "floors only with the sentinels");
        assert!(later.words[0].starts_with("sync=none, append p50: NO ANSWER ext4"));
        assert_eq!(next_block(&race(4, Vec::new())).cells.len(), 8);
        let end = next_block(&race(60, Vec::new()));
        assert!(end.decided && end.cells.is_empty(), "{end:?}");
        assert_eq!(end.words[1], "sync=fdatasync, durable p50: WINNER xfs:noatime");
        let mishaps = vec![Mishap::failed("btrfs:noatime", "none", 0, "ENOSPC")];
        assert_eq!(next_block(&race(3, mishaps)).cells.len(), 5, "it is not tried for ever");
    }

    #[test]
    fn candidates_that_do_not_survive_the_same_are_asked_apart() {
        let mut run = race(30, Vec::new());
        for cell in run.cells.iter_mut().filter(|cell| cell.candidate.label == "xfs:noatime") {
            cell.durability = Durability::Nothing;
        }
        let found = findings(&run);
        let durable: Vec<_> =
            found.answers.iter().filter(|a| a.panel == "sync=fdatasync").collect();
        assert_eq!(durable.len(), 1);
        assert_eq!(
            (durable[0].left.as_slice(), durable[0].out.len()),
            (&["ext4:noatime".into()][..], 1)
        );
    }

    #[test]
    fn a_candidate_that_did_other_work_takes_no_part() {
        let mut run = race(25, Vec::new());
        let of = |cell: &&pickfs_record::Cell| cell.candidate.label == "xfs:noatime";
        let small: Vec<CellId> = run.cells.iter().filter(of).map(|cell| cell.id.clone()).collect();
        for trial in &mut run.trials {
            let scale = if small.contains(&trial.cell) { 0.15 } else { 0.2 };
            trial.counts.insert(crate::phases::scale::SCALE_KEY.into(), scale);
        }
        for answer in findings(&run).answers {
            assert!(!answer.left.contains(&"xfs:noatime".into()), "{answer:?}");
            assert!(
                answer.out.iter().all(|out| out.label != "xfs:noatime" && out.by != "xfs:noatime")
            );
        }
    }

    #[test]
    fn without_a_question_every_block_is_whole() {
        let mut run = race(6, Vec::new());
        run.plan.design.primary.clear();
        let next = next_block(&run);
        assert_eq!((next.decided, next.cells.len()), (false, 8));
    }
}
