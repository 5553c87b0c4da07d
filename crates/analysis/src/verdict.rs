//! The answer in words, built from comparisons only.
//!
//! It names ties, durability, backing, load and noise, and what was left out. The
//! best are all rows that are not claimed slower than the fastest: by their own
//! comparison with the reference, or because their interval lies wholly below the
//! interval of the fastest (two intervals of 95 % that do not touch: under one
//! false exclusion in a hundred).

use pickfs_model::{
    Action, BackingKind, RunRecord,
    finding::{Claim, Comparison, NoiseRow, Panel, Row, Verdict},
    plan::{Metric, Statistic},
    quantity::{duration_text, grouped, significant, span_text},
};

use crate::{
    absent,
    claims::{Method, values_by_block},
    panels::{Group, Member, Robbed, applies},
    summary::spread,
    wording::{list, metric_name, percent_over_one, times},
};

/// One verdict per panel that carries a primary metric.
pub fn verdicts(
    run: &RunRecord,
    groups: &[Group<'_>],
    panels: &[Panel],
    noise: &[NoiseRow],
) -> Vec<Verdict> {
    let family = panels.iter().flat_map(|panel| &panel.comparisons).filter(|c| c.primary).count();
    let needed = Method::of(&run.plan.design.stop).blocks_needed(family);
    groups
        .iter()
        .zip(panels)
        .filter_map(|(group, panel)| Panelled { run, group, panel, needed }.verdict(noise))
        .collect()
}

/// A panel with what its verdict is drawn from.
struct Panelled<'a> {
    run: &'a RunRecord,
    group: &'a Group<'a>,
    panel: &'a Panel,
    needed: u32,
}

impl Panelled<'_> {
    fn verdict(&self, noise: &[NoiseRow]) -> Option<Verdict> {
        let metrics = self.metrics();
        let best = best(&self.compared(metrics.first()?), &self.panel.reference);
        let mut sentences: Vec<String> = Vec::new();
        sentences.extend(self.headline(&best));
        sentences.extend(metrics.iter().flat_map(|metric| self.metric_sentences(metric)));
        sentences.extend(self.durability_sentence());
        sentences.extend(self.floor_sentence());
        sentences.extend(self.absent_sentence());
        Some(Verdict {
            panel: self.panel.title.clone(),
            commands: self.commands(&best),
            best,
            sentences,
            conditions: self.conditions(noise),
        })
    }

    /// Primary metrics that some row of the panel holds.
    fn metrics(&self) -> Vec<&Metric> {
        let holds = |metric: &&Metric| {
            self.group.members.iter().any(|member| !self.values(member, metric).is_empty())
        };
        self.run.plan.design.primary.iter().filter(holds).collect()
    }

    fn values(&self, member: &Member<'_>, metric: &Metric) -> Vec<f64> {
        if !applies(metric, member.cell) {
            return Vec::new();
        }
        values_by_block(member, metric, Robbed::Kept).into_values().collect()
    }

    fn compared(&self, metric: &Metric) -> Vec<&Comparison> {
        let all = self.panel.comparisons.iter();
        all.filter(|comparison| comparison.primary && comparison.metric == *metric).collect()
    }

    fn headline(&self, best: &[String]) -> Option<String> {
        let backing = self.group.members.get(self.group.reference)?.backing;
        let place = match self.panel.title.as_str() {
            "" => format!("On this {backing}"),
            title => format!("For {title} on this {backing}"),
        };
        match best {
            [] => None,
            [one] => Some(format!("{place}: {one}.")),
            many => Some(format!("{place}: {}; they are not told apart.", list(many))),
        }
    }

    fn metric_sentences(&self, metric: &Metric) -> Vec<String> {
        let name = metric_name(metric);
        let compared = self.compared(metric);
        if compared.iter().all(|comparison| comparison.claim == Claim::NotClaimed) {
            let why = self.nothing_claimed(&compared);
            let values = self.values_text(metric);
            return vec![format!("{name}: nothing is claimed ({why}). {values}.")];
        }
        let parts: Vec<String> = compared.iter().map(|c| self.claim_text(c, c.claim)).collect();
        let robbed = compared.iter().filter_map(|c| Some((c, c.claim_without_robbed?)));
        let robbed = robbed
            .map(|(c, claim)| format!("Without robbed trials: {}.", self.claim_text(c, claim)));
        std::iter::once(format!("{name}: {}.", parts.join("; "))).chain(robbed).collect()
    }

    fn nothing_claimed(&self, compared: &[&Comparison]) -> String {
        match compared.iter().map(|comparison| comparison.blocks).min() {
            None if !self.group.reference_planned => {
                format!("{} is missing", self.run.plan.design.reference)
            }
            None => "there is nothing to compare".into(),
            Some(blocks) if blocks < self.needed => {
                format!("{blocks} blocks; this plan needs {}", self.needed)
            }
            Some(_) => "too few episodes carry it".into(),
        }
    }

    /// `ext4 194 us [180 to 210]`: medians over trials with smallest and largest.
    fn values_text(&self, metric: &Metric) -> String {
        let text = |value: f64| match metric.statistic {
            Statistic::Rate => format!("{}/s", significant(value)),
            Statistic::Quantile(_) | Statistic::Mean => duration_text(value),
        };
        let members = self.group.members.iter().filter(|member| !member.is_floor());
        let values: Vec<String> = members
            .map(|member| (member, self.values(member, metric)))
            .filter(|(_, values)| !values.is_empty())
            .map(|(member, values)| {
                let over = spread(&values);
                let (low, high) = (text(over.low), text(over.high));
                format!("{} {} [{low} to {high}]", member.label, text(over.median))
            })
            .collect();
        format!("Medians over trials: {}", values.join(", "))
    }

    fn claim_text(&self, comparison: &Comparison, claim: Claim) -> String {
        let Comparison { reference, other, speedup, interval, .. } = comparison;
        let same = claim == comparison.claim;
        let range = |low: f64, high: f64| format!(" [{low:.2}, {high:.2}]");
        match claim {
            Claim::Faster if same => {
                let range = interval.map_or(String::new(), |(low, high)| range(low, high));
                format!("{other} is faster than {reference} by {}{range}", times(*speedup))
            }
            Claim::Slower if same => {
                let range =
                    interval.map_or(String::new(), |(low, high)| range(1.0 / high, 1.0 / low));
                format!("{other} is slower than {reference} by {}{range}", times(1.0 / speedup))
            }
            Claim::Faster => format!("{other} is faster than {reference}"),
            Claim::Slower => format!("{other} is slower than {reference}"),
            Claim::Tie { visible_ratio } => tie_text(comparison, visible_ratio, same),
            Claim::NotClaimed => format!("{other} is not judged ({} blocks)", comparison.blocks),
        }
    }

    fn durability_sentence(&self) -> Option<String> {
        let rows: Vec<&Row> = self.ranked_rows();
        let first = rows.first()?.durability;
        if rows.iter().all(|row| row.durability == first) {
            return None;
        }
        let said: Vec<_> =
            rows.iter().map(|row| format!("{} {}", row.label, row.durability)).collect();
        Some(format!("The rows do not promise the same: {}.", said.join("; ")))
    }

    fn ranked_rows(&self) -> Vec<&Row> {
        let backing = self.group.members.get(self.group.reference).map(|member| member.backing);
        self.panel.rows.iter().filter(|row| Some(row.backing) == backing).collect()
    }

    fn floor_sentence(&self) -> Option<String> {
        let floors: Vec<&str> = self
            .group
            .members
            .iter()
            .filter(|member| member.is_floor())
            .map(|member| member.label.as_str())
            .collect();
        if floors.is_empty() || floors.len() == self.group.members.len() {
            return None;
        }
        Some(format!("{} is a floor (memory), not a choice.", list(&floors)))
    }

    /// What was left out of this panel.
    fn absent_sentence(&self) -> Option<String> {
        let levels: Vec<String> =
            self.panel.levels.iter().map(|l| format!("{}={}", l.axis, l.value)).collect();
        let left_out: Vec<String> = absent::cells(self.run)
            .into_iter()
            .filter(|absent| absent.levels == levels.join(", "))
            .map(|absent| format!("{} ({}: {})", absent.label, absent.how, absent.reason))
            .collect();
        (!left_out.is_empty()).then(|| format!("Left out: {}.", left_out.join("; ")))
    }

    fn conditions(&self, noise: &[NoiseRow]) -> Vec<String> {
        let Some(reference) = self.group.members.get(self.group.reference) else {
            return Vec::new();
        };
        let mut conditions = vec![
            backing_text(reference.backing).to_string(),
            self.panel.durability.to_string(),
            self.load_text(),
            self.design_text(),
        ];
        let row = noise.iter().find(|row| row.backing == reference.backing);
        conditions.push(match row {
            Some(row) => format!("noise of the raw device +-{:.0} %", 100.0 * row.half_width),
            None => "noise of the raw device not known".into(),
        });
        conditions
    }

    fn load_text(&self) -> String {
        match self.panel.rows.iter().find_map(|row| row.rate_asked) {
            Some(rate) if rate >= 1.0 => format!("{}/s, open loop", grouped(rate.round() as i64)),
            Some(rate) => format!("{}/s, open loop", significant(rate)),
            None => "closed loop".into(),
        }
    }

    fn design_text(&self) -> String {
        let trials = self.panel.rows.iter().map(|row| row.trials).max().unwrap_or(0);
        let design = &self.run.plan.design;
        let measured = span_text(self.run.plan.timing.measure_s);
        format!("{trials} blocks of {measured} trials, seed {}", design.seed)
    }

    /// What made and mounted the best, as it was done.
    fn commands(&self, best: &[String]) -> Vec<String> {
        let members = self.group.members.iter().filter(|member| best.contains(&member.label));
        let mut commands: Vec<String> = Vec::new();
        for trial in members.filter_map(|member| member.chosen(Robbed::Kept).first().copied()) {
            for step in trial.steps.iter().filter(|step| step.succeeded && builds(step)) {
                let command = step.step.action.to_string();
                if !commands.contains(&command) {
                    commands.push(command);
                }
            }
        }
        commands
    }
}

fn builds(step: &pickfs_model::StepRecord) -> bool {
    match &step.step.action {
        Action::Mount { .. } => true,
        Action::Exec { program, .. } => {
            program.contains("mkfs") || matches!(step.step.purpose.as_str(), "make" | "mount")
        }
        Action::Unmount { .. } | Action::Call { .. } => false,
    }
}

fn tie_text(comparison: &Comparison, visible_ratio: f64, same: bool) -> String {
    let visible = percent_over_one(visible_ratio);
    let holm = match comparison.interval {
        Some((low, high)) if same && (low > 1.0 || high < 1.0) => {
            "; by itself its interval leaves out 1, after Holm's correction it does not decide"
        }
        _ => "",
    };
    format!(
        "{} and {} are tied at this precision (a difference under {visible} could not be seen{holm})",
        comparison.other, comparison.reference
    )
}

fn backing_text(backing: BackingKind) -> &'static str {
    match backing {
        BackingKind::Disk => "block device",
        BackingKind::LoopImage => "loop image: relative, not absolute",
        BackingKind::RamImage => "loop image in RAM: the software path without flush or device",
        BackingKind::Memory => "memory: no device, no durability",
        BackingKind::Directory => "existing directory: not comparable with fresh file systems",
    }
}

/// Labels that are not claimed slower than the fastest; none where nothing is claimed.
fn best(compared: &[&Comparison], reference: &str) -> Vec<String> {
    let judged: Vec<&Comparison> =
        compared.iter().copied().filter(|c| c.claim != Claim::NotClaimed).collect();
    if judged.is_empty() {
        return Vec::new();
    }
    let faster = judged.iter().filter(|comparison| comparison.claim == Claim::Faster);
    let fastest = faster.max_by(|a, b| a.speedup.total_cmp(&b.speedup));
    let mut best: Vec<String> = Vec::new();
    if fastest.is_none() {
        best.push(reference.to_string());
    }
    let stays = |comparison: &&&Comparison| match (comparison.claim, fastest) {
        (Claim::Slower | Claim::NotClaimed, _) => false,
        (_, None) => true,
        (_, Some(fastest)) => upper(comparison) >= fastest.interval.map_or(0.0, |(low, _)| low),
    };
    best.extend(judged.iter().filter(stays).map(|comparison| comparison.other.clone()));
    best
}

/// Highest speedup that a comparison leaves possible.
fn upper(comparison: &Comparison) -> f64 {
    match comparison.claim {
        Claim::Tie { visible_ratio } => comparison.speedup * visible_ratio,
        _ => comparison.interval.map_or(f64::INFINITY, |(_, high)| high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use pickfs_model::plan::View;
    use pickfs_testkit::{FakeCandidate, FakeRun, Mishap, fake_run};

    fn compared(other: &str, claim: Claim, speedup: f64) -> Comparison {
        Comparison {
            metric: Metric {
                op: "append".into(),
                view: View::Service,
                statistic: Statistic::Mean,
                at: Default::default(),
            },
            reference: "a".into(),
            other: other.into(),
            primary: true,
            blocks: 8,
            speedup,
            interval: Some((speedup * 0.9, speedup * 1.1)),
            level: 0.95,
            p: Some(0.01),
            p_holm: Some(0.02),
            claim,
            claim_without_robbed: None,
        }
    }

    fn best_of(list: &[Comparison]) -> Vec<String> {
        best(&list.iter().collect::<Vec<_>>(), "a")
    }

    #[test]
    fn the_best_are_those_not_claimed_slower_than_the_fastest() {
        let tie = Claim::Tie { visible_ratio: 1.1 };
        let b = compared("b", Claim::Faster, 2.0);
        let c = compared("c", Claim::Faster, 1.9);
        let d = compared("d", Claim::Faster, 1.3);
        let e = compared("e", tie, 1.0);
        let f = compared("f", Claim::Slower, 0.5);
        assert_eq!(best_of(&[b.clone(), c, d, e.clone(), f.clone()]), ["b", "c"]);
        assert_eq!(best_of(&[e, f.clone()]), ["a", "e"]);
        assert_eq!(best_of(std::slice::from_ref(&f)), ["a"]);
        assert!(best_of(&[compared("g", Claim::NotClaimed, 3.0)]).is_empty());
        assert!(best_of(&[]).is_empty());
    }

    #[test]
    fn a_clear_winner_is_named_with_its_commands_and_conditions() {
        let found = findings(&fake_run(&FakeRun { blocks: 8, ..FakeRun::default() }));
        let verdict = &found.verdicts[1];
        assert_eq!(verdict.best, ["xfs:noatime"]);
        assert_eq!(verdict.sentences[0], "For sync=fdatasync on this loop image: xfs:noatime.");
        let said = &verdict.sentences[1];
        assert!(said.starts_with("durable p50: xfs:noatime is faster than ext4:noatime by 1."));
        assert!(said.contains("; btrfs:noatime is slower than ext4:noatime by 2."), "{said}");
        assert_eq!(verdict.sentences[2], "tmpfs is a floor (memory), not a choice.");
        assert_eq!(
            verdict.commands,
            ["mkfs.xfs -q -K /dev/loop7", "mount -t xfs -o noatime /dev/loop7 /run/pickfs/mnt"]
        );
        assert_eq!(verdict.conditions[0], "loop image: relative, not absolute");
        assert_eq!(verdict.conditions[1], "survives a power loss, if the device keeps its word");
        assert_eq!(
            verdict.conditions[2..4],
            ["10,000/s, open loop", "8 blocks of 8 s trials, seed 7"]
        );
    }

    #[test]
    fn ties_say_what_could_not_be_seen() {
        let candidates = ["ext4:noatime", "xfs:noatime"];
        let candidates = candidates.map(|text| FakeCandidate::new(text, 500.0, 150_000.0)).into();
        let found = findings(&fake_run(&FakeRun { candidates, blocks: 10, ..FakeRun::default() }));
        let verdict = &found.verdicts[0];
        assert_eq!(verdict.best, ["ext4:noatime", "xfs:noatime"]);
        assert!(verdict.sentences[1].contains("tied at this precision (a difference under"));
        assert!(verdict.sentences[1].contains("% could not be seen"));
    }

    #[test]
    fn five_blocks_get_values_and_no_winner() {
        let mishaps = vec![Mishap::skipped("btrfs:noatime", "no driver", "modprobe btrfs")];
        let found = findings(&fake_run(&FakeRun { blocks: 4, mishaps, ..FakeRun::default() }));
        let verdict = &found.verdicts[1];
        assert!(verdict.best.is_empty() && verdict.commands.is_empty());
        let said = &verdict.sentences[0];
        let begin = "durable p50: nothing is claimed (4 blocks; this plan needs 7). Medians over trials: ext4:noatime ";
        assert!(said.starts_with(begin), "{said}");
        assert!(!said.contains("tmpfs"));
        assert_eq!(
            verdict.sentences.last().map(String::as_str),
            Some("Left out: btrfs:noatime (skipped: no driver).")
        );
    }

    #[test]
    fn rows_that_promise_different_things_say_so() {
        let primary = vec![pickfs_testkit::fake_trial::service_quantile("append", 0.5)];
        let ask = FakeRun {
            compare: "sync".into(),
            reference: "none".into(),
            blocks: 8,
            primary,
            ..FakeRun::default()
        };
        let found = findings(&fake_run(&ask));
        let said = found.verdicts[0].sentences.join(" ");
        assert!(said.contains("The rows do not promise the same: none survives a process crash"));
    }
}
