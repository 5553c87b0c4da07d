//! A tier gets a choice where the plan fixed its rate as a primary metric and the blocks carry
//! a claim; otherwise its ratios are shown and nothing is claimed.

use pickfs_record::{
    finding::{Claim, Comparison, NoiseRow, Panel, PhaseRow, Verdict},
    plan::{Metric, Statistic},
};

use super::{Panelled, answered::best, words::claim_text};
use crate::{
    phases::{TIERS, rate_metric, ratio, scale, tier},
    wording::{blocks_text, interval_text, metric_name},
};

impl Panelled<'_> {
    pub(super) fn phased(&self, noise: &[NoiseRow]) -> Option<Verdict> {
        let metrics = self.metrics();
        let planned = |phase: &str| {
            metrics.iter().find(|m| m.op == phase && m.statistic == Statistic::Rate).copied()
        };
        let tiers = TIERS.iter().filter_map(|tier| self.phase(tier.phase));
        let common = self.common_reason(&metrics);
        let mut sentences: Vec<String> = Vec::new();
        let mut chosen: Vec<String> = Vec::new();
        for row in tiers {
            sentences.extend(match planned(&row.phase) {
                Some(metric) => self.judged(metric, common.as_deref(), &mut chosen),
                None => vec![self.unclaimed(row, ", exploratory")],
            });
        }
        for metric in metrics.iter().filter(|metric| tier(&metric.op).is_none()) {
            sentences.extend(self.judged(metric, common.as_deref(), &mut chosen));
        }
        if sentences.is_empty() {
            return None;
        }
        let shows_ratios = sentences.iter().any(|said| !said.contains(". "));
        sentences.insert(0, self.place(common.as_deref(), shows_ratios));
        sentences.extend(scale::sentences(self.group));
        sentences.extend(self.cold_tier_weighed());
        Some(self.ended(chosen, sentences, noise))
    }

    /// Why nothing is claimed, where that is so for every metric.
    fn common_reason(&self, metrics: &[&Metric]) -> Option<String> {
        let compared = metrics.iter().map(|metric| self.compared(metric));
        let is_open = |list: &Vec<&Comparison>| list.iter().all(|one| one.claim == Claim::Open);
        let blocks = self.panel.rows.iter().map(|row| row.trials).max()?;
        let all = compared.clone().count() > 0 && compared.clone().all(|list| is_open(&list));
        all.then(|| format!("{} decide none of it", blocks_text(blocks)))
    }

    pub(super) fn lanes_text(&self) -> Option<String> {
        let trials = self.group.members.iter().flat_map(|member| &member.trials);
        let record = trials.flat_map(|trial| &trial.phases).next()?;
        let lanes = match record.lanes {
            1 => "one process".to_string(),
            lanes => format!("{lanes} processes at the same time"),
        };
        Some(format!("each phase once a trial, {lanes}"))
    }

    fn phase(&self, name: &str) -> Option<&PhaseRow> {
        self.panel.phases.iter().find(|row| row.phase == name)
    }

    /// Ratios without a claim: `Hot tier (reads from memory), exploratory: ext4 1.20 [1.10, 1.30].`
    fn unclaimed(&self, row: &PhaseRow, how: &str) -> String {
        let ratios = ratios_text(row, self.panel).unwrap_or_else(|| "no ratio".into());
        format!("{}{how}: {ratios}.", subject(&rate_metric(&row.phase)))
    }

    /// Where this holds, why nothing is claimed if nothing is, and what ratios are.
    fn place(&self, common: Option<&str>, shows_ratios: bool) -> String {
        let backing = self.group.members.get(self.group.reference).map(|member| member.backing);
        let on = backing.map_or_else(String::new, |backing| format!("On this {backing}"));
        let has_tiers = self.panel.phases.iter().any(|row| tier(&row.phase).is_some());
        let by = if has_tiers { "tier by tier" } else { "phase by phase" };
        let title = match self.panel.title.as_str() {
            "" => String::new(),
            title => format!(", for {title}"),
        };
        let why = common.map_or_else(String::new, |why| format!(": nothing is claimed, {why}"));
        let reference = &self.panel.reference;
        let ratios = match shows_ratios {
            true => format!(" A ratio is {reference} / this: above 1, {reference} is faster."),
            false => String::new(),
        };
        format!("{on}{title}, {by}{why}.{ratios}")
    }

    fn judged(
        &self,
        metric: &Metric,
        common: Option<&str>,
        chosen: &mut Vec<String>,
    ) -> Vec<String> {
        let compared = self.compared(metric);
        let name = subject(metric);
        if compared.iter().all(|comparison| comparison.claim == Claim::Open) {
            let how = match common {
                Some(_) => String::new(),
                None => format!(", not claimed ({})", self.nothing_claimed(metric)),
            };
            let row = self.phase(&metric.op).filter(|_| metric.statistic == Statistic::Rate);
            return vec![match row {
                Some(row) => self.unclaimed(row, &how),
                None => format!("{name}{how}: {}.", self.values_text(metric)),
            }];
        }
        let best = self.answer(metric).map(best).unwrap_or_default();
        if chosen.is_empty() {
            chosen.clone_from(&best);
        }
        let choice = match best.as_slice() {
            [] => "no choice".to_string(),
            [one] => one.clone(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        };
        let parts: Vec<String> = compared.iter().map(|c| claim_text(c, c.claim)).collect();
        vec![format!("{name}: {choice}. {}.", parts.join("; "))]
    }
}

fn subject(metric: &Metric) -> String {
    match tier(&metric.op) {
        Some(tier) => tier_name(tier.phase, tier.stands_for),
        None => metric_name(metric),
    }
}

fn tier_name(phase: &str, stands_for: &str) -> String {
    let mut letters = phase.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let name: String = first.into_iter().chain(letters).collect();
    format!("{name} ({stands_for})")
}

/// `ext4 1.20 [1.10, 1.30], btrfs 1.40`, in the direction of the tables.
fn ratios_text(row: &PhaseRow, panel: &Panel) -> Option<String> {
    let ratios: Vec<String> = panel
        .rows
        .iter()
        .filter_map(|named| {
            let ratio = ratio(panel, &named.label, &row.phase)?;
            let interval = ratio
                .interval
                .map_or_else(String::new, |(low, high)| format!(" {}", interval_text(low, high)));
            Some(format!("{} {:.2}{interval}", named.label, ratio.value))
        })
        .collect();
    (!ratios.is_empty()).then(|| ratios.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::findings;
    use pickfs_testkit::{FakePhasedRun, Speed, fake_phased_run};

    fn said(ask: &FakePhasedRun) -> Vec<String> {
        findings(&fake_phased_run(ask)).verdicts.remove(0).sentences
    }

    fn sixteen() -> FakePhasedRun {
        FakePhasedRun { blocks: 16, ..FakePhasedRun::column() }
    }

    #[test]
    fn each_tier_has_its_choice_and_a_tie_says_so() {
        let said = said(&sixteen());
        assert_eq!(said[0], "On this loop image, tier by tier.");
        assert!(said[1].starts_with("Hot tier (reads from memory): xfs or ext4. "), "{}", said[1]);
        assert!(said[1].contains("ext4 is not told from xfs (16 blocks)"), "{}", said[1]);
        assert!(said[1].contains("btrfs is slower than xfs by 1.4"), "{}", said[1]);
        assert!(said[4].starts_with("Ingest, durable (writes and their sync)"), "{}", said[4]);
        assert!(said[4].contains(": xfs. ext4 is slower than xfs by 1.2"), "{}", said[4]);
    }

    #[test]
    fn a_faster_candidate_is_chosen_over_the_reference() {
        let mut ask = sixteen();
        ask.speeds.push(Speed::new("ext4", "mid tier", 1.5));
        let said = said(&ask);
        assert!(said[2].contains(": ext4. ext4 is faster than xfs by 1.4"), "{}", said[2]);
    }

    #[test]
    fn too_few_blocks_choose_nothing_and_show_ratios() {
        let said = said(&FakePhasedRun { blocks: 3, ..FakePhasedRun::column() });
        assert_eq!(
            said[0],
            "On this loop image, tier by tier: nothing is claimed, 3 blocks decide none of it. A ratio \
             is xfs / this: above 1, xfs is faster."
        );
        assert!(said[1].starts_with("Hot tier (reads from memory): ext4 "), "{}", said[1]);
    }

    #[test]
    fn tiers_that_the_plan_did_not_fix_are_exploratory() {
        let said = said(&FakePhasedRun { primary: vec!["write float large".into()], ..sixteen() });
        assert!(
            said[1].starts_with("Hot tier (reads from memory), exploratory: ext4 "),
            "{}",
            said[1]
        );
        assert!(said[5].starts_with("write float large rate: xfs. "), "{}", said[5]);
    }

    #[test]
    fn a_workload_without_tiers_is_judged_by_its_primary_phases() {
        let ask = FakePhasedRun { blocks: 16, ..FakePhasedRun::files() };
        let said = said(&ask);
        assert!(said[1].starts_with("seq create rate"), "{said:?}");
        assert!(said[1].contains("xfs is not told from ext4"), "{said:?}");
        assert!(!said[1].contains("fat16"), "it has no result: {said:?}");
    }
}
