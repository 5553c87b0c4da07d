//! It names durability, backing, load and noise, and what was left out. A panel for which the plan
//! fixed no metric gets its values and claims nothing. The best are those that the answer leaves,
//! where it says anything; of several classes of durability the strongest that was asked.

mod answered;
mod cold_disk;
mod commands;
mod phased;
mod words;

use pickfs_record::{
    Durability, RunRecord,
    finding::{Answer, AnswerEnd, Claim, Comparison, NoiseRow, Panel, Row, Verdict},
    plan::{Metric, Statistic},
    quantity::{duration_text, grouped, significant, span_text},
};

use crate::{
    absent,
    answers::values_by_block,
    panels::{Disturbed, Group, Member, applies},
    summary::{CAPACITY_KEY, is_carried, spread},
    wording::{blocks_text, list, metric_name},
};
pub use answered::best;
pub use words::survival;
use words::{backing_text, claim_text};

pub fn verdicts(
    run: &RunRecord,
    groups: &[Group<'_>],
    panels: &[Panel],
    noise: &[NoiseRow],
    answers: &[Answer],
) -> Vec<Verdict> {
    let panelled = || {
        let both = groups.iter().zip(panels);
        both.map(|(group, panel)| Panelled { run, group, panel, answers })
    };
    let exploratory = panelled().filter_map(|panelled| panelled.exploratory(noise));
    panelled().filter_map(|panelled| panelled.verdict(noise)).chain(exploratory).collect()
}

struct Panelled<'a> {
    run: &'a RunRecord,
    group: &'a Group<'a>,
    panel: &'a Panel,
    answers: &'a [Answer],
}

impl Panelled<'_> {
    fn verdict(&self, noise: &[NoiseRow]) -> Option<Verdict> {
        if !self.panel.phases.is_empty() {
            return self.phased(noise);
        }
        let metrics = self.metrics();
        let answer = self.answer(metrics.first()?);
        let best = answer.map(answered::best).unwrap_or_default();
        let mut sentences: Vec<String> = answer.and_then(answered::sentence).into_iter().collect();
        for sentence in metrics.iter().flat_map(|metric| self.metric_sentences(metric)) {
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        let mut verdict = self.ended(best, sentences, noise);
        if answer.is_some_and(|answer| answer.end != AnswerEnd::Winner) {
            // What is open is no advice, and of equals none is.
            verdict.commands.clear();
        }
        Some(verdict)
    }

    /// Values without a claim, where the plan fixed no metric that the panel holds.
    fn exploratory(&self, noise: &[NoiseRow]) -> Option<Verdict> {
        if !self.metrics().is_empty() || !self.panel.phases.is_empty() {
            return None;
        }
        let metric = self.first_op()?;
        let place = match self.panel.title.as_str() {
            "" => "Exploratory".to_string(),
            title => format!("Exploratory, for {title}"),
        };
        let values = self.values_text(&metric);
        let sentence =
            format!("{place}: the plan fixed no metric here, so nothing is claimed. {values}.");
        Some(self.ended(Vec::new(), vec![sentence], noise))
    }

    fn first_op(&self) -> Option<Metric> {
        let op = self.panel.rows.iter().find_map(|row| row.ops.first())?;
        let statistic = Statistic::Quantile(0.5);
        let metric = Metric { op: op.op.clone(), view: op.view, statistic, at: Default::default() };
        let mut rows = self.panel.rows.iter();
        rows.any(|row| is_carried(&row.ops, &metric)).then_some(metric)
    }

    fn ended(&self, best: Vec<String>, mut sentences: Vec<String>, noise: &[NoiseRow]) -> Verdict {
        sentences.extend(self.durability_sentence());
        sentences.extend(self.floor_sentence());
        sentences.extend(self.absent_sentence());
        Verdict {
            panel: self.panel.title.clone(),
            commands: commands::of_best(self.run, self.group, &best),
            best,
            sentences,
            conditions: self.conditions(noise),
        }
    }

    /// The answer by a metric, of the strongest class of durability.
    fn answer(&self, metric: &Metric) -> Option<&Answer> {
        let mut own = self.answers.iter();
        own.find(|answer| answer.panel == self.panel.title && answer.metric == *metric)
    }

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
        values_by_block(member, metric, Disturbed::Kept).into_values().collect()
    }

    fn compared(&self, metric: &Metric) -> Vec<&Comparison> {
        let all = self.panel.comparisons.iter();
        all.filter(|comparison| comparison.primary && comparison.metric == *metric).collect()
    }

    fn metric_sentences(&self, metric: &Metric) -> Vec<String> {
        let name = metric_name(metric);
        let compared = self.compared(metric);
        if compared.iter().all(|comparison| comparison.claim == Claim::Open) {
            return vec![format!("{}.", self.values_text(metric))];
        }
        let parts: Vec<String> = compared.iter().map(|c| claim_text(c, c.claim)).collect();
        vec![format!("{name}: {}.", parts.join("; "))]
    }

    fn nothing_claimed(&self, metric: &Metric) -> String {
        let Some(answer) = self.answer(metric) else {
            let holds = |ops: &[_]| is_carried(ops, metric);
            let rows = self.panel.rows.iter().filter(|row| !row.ops.is_empty());
            return match rows.clone().count() > 1 && !rows.clone().any(|row| holds(&row.ops)) {
                true => format!("too few slow episodes carry {}", metric_name(metric)),
                false => "there is nothing to compare".into(),
            };
        };
        let blocks = blocks_text(answer.blocks);
        match answer.more_blocks {
            Some(more) => format!("{blocks} do not decide it, about {more} more would"),
            None => format!("{blocks} do not decide it, and more would hardly"),
        }
    }

    /// `durable p50: ext4 194 us [180 to 210]`: medians over trials with smallest and largest.
    fn values_text(&self, metric: &Metric) -> String {
        let text = |value: f64| match metric.statistic {
            Statistic::Rate => format!("{}/s", significant(value)),
            Statistic::Figure(_) => significant(value),
            _ => duration_text(value),
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
        let name = metric_name(metric);
        format!("{name}, median over trials [range]: {}", values.join(", "))
    }

    fn durability_sentence(&self) -> Option<String> {
        let rows: Vec<&Row> = self.ranked_rows();
        let first = rows.first()?.durability;
        if rows.iter().all(|row| row.durability == first) {
            return None;
        }
        let mut classes: Vec<(String, Vec<&str>)> = Vec::new();
        for row in rows {
            match classes.iter_mut().find(|(text, _)| *text == survival(row)) {
                Some((_, labels)) => labels.push(&row.label),
                None => classes.push((survival(row), vec![&row.label])),
            }
        }
        let said: Vec<_> =
            classes.iter().map(|(text, labels)| format!("{}: {text}", list(labels))).collect();
        Some(format!(
            "The rows do not promise the same, so none is called best across them ({}).",
            said.join("; ")
        ))
    }

    /// Whether the ranked rows survive different things.
    fn is_mixed(&self) -> bool {
        let rows = self.ranked_rows();
        rows.iter().any(|row| row.durability != rows[0].durability)
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
        let mut conditions =
            vec![backing_text(reference.backing).to_string(), self.load_text(), self.design_text()];
        if self.is_mixed() || self.panel.durability != Durability::Unknown {
            conditions.insert(1, self.promise_text());
        }
        let row = noise.iter().find(|row| row.backing == reference.backing);
        conditions.push(match row {
            Some(row) => format!("noise of the raw device +-{:.0} %", 100.0 * row.half_width),
            None => "noise of the raw device not known".into(),
        });
        conditions
    }

    fn promise_text(&self) -> String {
        match self.is_mixed() {
            true => "rows that differ in what they survive".into(),
            false => self.panel.durability.to_string(),
        }
    }

    fn load_text(&self) -> String {
        let mut counts = self.panel.rows.iter().flat_map(|row| &row.counts);
        if counts.any(|(name, _)| name == CAPACITY_KEY) {
            return "open loop at the highest rate that each row held".into();
        }
        if let Some(text) = self.lanes_text() {
            return text;
        }
        match self.panel.rows.iter().find_map(|row| row.rate_asked) {
            Some(rate) if rate >= 1.0 => format!("{}/s, open loop", grouped(rate.round() as i64)),
            Some(rate) => format!("{}/s, open loop", significant(rate)),
            None => "closed loop".into(),
        }
    }

    fn design_text(&self) -> String {
        let trials = self.panel.rows.iter().map(|row| row.trials).max().unwrap_or(0);
        let design = &self.run.plan.design;
        if !self.panel.phases.is_empty() {
            return format!("{}, seed {}", blocks_text(trials), design.seed);
        }
        let measured = span_text(self.run.plan.timing.measure_s);
        format!("{} of {measured} trials, seed {}", blocks_text(trials), design.seed)
    }
}

#[cfg(test)]
mod tests {
    use crate::findings;
    use pickfs_testkit::{FakeCandidate, FakeRun, Mishap, fake_run};

    #[test]
    fn a_clear_winner_is_named_with_its_commands_and_conditions() {
        let found = findings(&fake_run(&FakeRun { blocks: 12, ..FakeRun::default() }));
        let verdict = &found.verdicts[1];
        assert_eq!(verdict.best, ["xfs:noatime"]);
        let said = &verdict.sentences[0];
        let begin = "By durable p50 after 12 blocks: ext4:noatime is slower than ";
        assert!(said.starts_with(begin), "{said}");
        let said = &verdict.sentences[1];
        assert!(
            said.starts_with("durable p50: xfs:noatime is faster than ext4:noatime by 1."),
            "{said}"
        );
        assert!(said.contains("; btrfs:noatime is slower than ext4:noatime by 2."), "{said}");
        assert_eq!(verdict.sentences[2], "tmpfs is a floor (memory), not a choice.");
        assert_eq!(
            verdict.commands,
            ["mkfs.xfs DEVICE", "mount -t xfs -o noatime DEVICE DIRECTORY"]
        );
        assert_eq!(verdict.conditions[0], "loop image: relative, not absolute");
        assert_eq!(verdict.conditions[1], "survives a power loss, if the device keeps its word");
        assert_eq!(
            verdict.conditions[2..4],
            ["10,000/s, open loop", "12 blocks of 8 s trials, seed 7"]
        );
    }

    #[test]
    fn equal_ones_are_called_equal_and_open_ones_are_not() {
        let said = |noise: f64| {
            let candidates = ["ext4:noatime", "xfs:noatime"]
                .map(|text| FakeCandidate { noise, ..FakeCandidate::new(text, 500.0, 150_000.0) });
            let ask = FakeRun { candidates: candidates.into(), blocks: 20, ..FakeRun::default() };
            findings(&fake_run(&ask)).verdicts.remove(0)
        };
        let equal = said(0.01);
        assert_eq!(equal.best, ["ext4:noatime", "xfs:noatime"]);
        assert!(equal.commands.is_empty(), "of equals none is advised");
        let open = said(0.2);
        assert!(open.best.is_empty() && open.commands.is_empty());
    }

    #[test]
    fn four_blocks_get_values_and_no_winner() {
        let mishaps = vec![Mishap::skipped("btrfs:noatime", "no driver", "modprobe btrfs")];
        let found = findings(&fake_run(&FakeRun { blocks: 4, mishaps, ..FakeRun::default() }));
        let verdict = &found.verdicts[1];
        assert!(verdict.best.is_empty() && verdict.commands.is_empty());
        let said = &verdict.sentences[0];
        let begin = "durable p50, median over trials [range]: ext4:noatime ";
        assert!(said.starts_with(begin) && !said.contains("tmpfs"), "{said}");
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
        assert!(said.contains("The rows do not promise the same"), "{said}");
        assert!(
            said.contains("(none: survives a process crash; fdatasync: survives a power loss).")
        );
    }

    #[test]
    fn a_panel_without_a_planned_metric_shows_values_and_stands_last() {
        let durable = pickfs_testkit::fake_trial::service_quantile("durable", 0.5);
        let ask = FakeRun { blocks: 8, primary: vec![durable], ..FakeRun::default() };
        let found = findings(&fake_run(&ask));
        let panels: Vec<_> = found.verdicts.iter().map(|v| v.panel.as_str()).collect();
        assert_eq!(panels, ["sync=fdatasync", "sync=none"]);
        let last = &found.verdicts[1];
        assert!(last.best.is_empty() && last.commands.is_empty());
        let begin = "Exploratory, for sync=none: the plan fixed no metric here, so nothing is \
                     claimed. append p50, median over trials [range]: ext4:noatime ";
        assert!(last.sentences[0].starts_with(begin), "{}", last.sentences[0]);
    }

    #[test]
    fn the_best_survives_what_the_reference_survives() {
        let mut run = fake_run(&FakeRun { blocks: 8, ..FakeRun::default() });
        for cell in run.cells.iter_mut().filter(|cell| cell.candidate.label == "xfs:noatime") {
            cell.durability = pickfs_record::Durability::Nothing;
        }
        let found = findings(&run);
        let verdict = &found.verdicts[1];
        assert_eq!(verdict.best, ["ext4:noatime"]);
        let found = found.endings.iter().find(|ending| ending.panel == "sync=fdatasync");
        let said = &found.expect("asked").sentence;
        assert!(said.contains("sync=fdatasync, of what survives a power loss, on this"), "{said}");
    }
}
