use std::collections::BTreeSet;

use pickfs_record::{
    BackingKind, Durability, RunRecord,
    finding::{Answer, AnswerEnd, Ending, OutOf, Panel, Row},
    plan::{Metric, Statistic},
};

use super::{cold_disk, commands};
use crate::{
    answers::misses_its_rate,
    panels::{BY_CANDIDATE, Group, applies, are_settings},
    summary::is_carried,
    wording::{interval_text, list, metric_name, quantile_name, survival, times},
};

/// Those that are left, where the blocks say anything.
pub fn best(answer: &Answer) -> Vec<String> {
    let says = answer.end != AnswerEnd::NoAnswer || !answer.out.is_empty();
    if says { answer.left.clone() } else { Vec::new() }
}

/// `sync=none, append p50: WINNER xfs`, for a race that goes on.
pub fn standing(answer: &Answer) -> String {
    let metric = metric_name(&answer.metric);
    let place = match answer.panel.as_str() {
        "" => metric,
        panel => format!("{panel}, {metric}"),
    };
    format!("{place}: {} {}", answer.end, list(&answer.left))
}

/// What all that may be the best survive, where others beside them survive something else.
pub(super) fn class(panel: Option<&Panel>, answer: &Answer) -> Option<Durability> {
    let is_left = |row: &&Row| answer.left.contains(&row.label);
    let rows = &panel?.rows;
    let row = rows.iter().find(is_left)?;
    let is_alike = |other: &Row| other.durability == row.durability;
    let is_asked =
        |other: &Row| is_left(&other) || answer.out.iter().any(|out| out.label == other.label);
    let mut apart = rows.iter().filter(|other| other.backing == row.backing && !is_asked(other));
    let is_apart = rows.iter().filter(is_left).all(is_alike) && apart.any(|other| !is_alike(other));
    is_apart.then_some(row.durability)
}

/// What is told beside the sentence of an answer: who is out by whom, what a cold tier weighs, and what makes and mounts
/// the winner. What is open is no advice, and of equals none is.
pub(super) fn told(run: &RunRecord, both: Option<(&Group<'_>, &Panel)>, answer: &Answer) -> Ending {
    let weighed = both.and_then(|(group, panel)| cold_disk::weighed(group, panel, answer));
    let won = both.filter(|_| answer.end == AnswerEnd::Winner);
    let commands = won.map(|(group, _)| commands::of_best(run, group, &answer.left));
    Ending {
        details: story(answer).into_iter().chain(weighed).collect(),
        commands: commands.unwrap_or_default(),
        ..Ending::default()
    }
}

/// `By durable p50: ext4 is slower than xfs by ...`; nothing where nobody is out.
fn story(answer: &Answer) -> Option<String> {
    let Answer { trials, trials_of_whole_blocks: whole, .. } = answer;
    let out: Vec<String> = answer.out.iter().map(out).collect();
    let spared = match trials < whole {
        true => format!(" {trials} trials ran; with every row in every block it would be {whole}."),
        false => String::new(),
    };
    let name = metric_name(&answer.metric);
    let said = format!("By {name}: {}.{spared}", out.join("; "));
    (!out.is_empty()).then_some(said)
}

/// ` Not ranked: btrfs, too few slow episodes for p99.9.`, of those that ran beside the ranked ones.
pub(super) fn not_ranked(group: &Group<'_>, panel: &Panel, metric: &Metric) -> Option<String> {
    let Statistic::Quantile(q) = metric.statistic else { return None };
    let rivals = group.rivals();
    let is_rival = |index: usize| index == group.reference || rivals.contains(&index);
    let lacks = |(index, row): &(usize, &Row)| {
        let member = &group.members[*index];
        is_rival(*index)
            && applies(metric, member.cell)
            && row.ops.iter().any(|op| metric.names(&op.op))
            && !is_carried(&row.ops, metric)
            && !misses_its_rate(member)
    };
    let rows = panel.rows.iter().enumerate().take(group.members.len()).filter(lacks);
    let labels: Vec<String> = rows.map(|(_, row)| row.label.clone()).collect();
    let (names, quantile) = (list(&labels), quantile_name(q));
    let said = format!(" Not ranked: {names}, too few slow episodes for {quantile}.");
    (!labels.is_empty()).then_some(said)
}

/// Where no two rows on the disk survive the same failures: what each survives, and the way out.
pub(super) fn apart(run: &RunRecord, panels: &[Panel]) -> Option<String> {
    let told = |panel: &Panel| {
        let measured = |row: &&Row| row.trials > 0 && row.backing != BackingKind::Memory;
        let rows: Vec<&Row> = panel.rows.iter().filter(measured).collect();
        let classes: BTreeSet<_> = rows.iter().map(|row| row.durability).collect();
        let cells = run.cells.iter().filter(|cell| panel.rows.iter().any(|r| r.cell == cell.id));
        let is_apart = rows.len() > 1 && classes.len() == rows.len() && !are_settings(cells);
        let of_row = |row: &&Row| format!("{} {}", row.label, survival(row.durability));
        let each: Vec<String> = rows.iter().map(of_row).collect();
        (is_apart && !classes.contains(&Durability::Unknown)).then(|| {
            format!(
                "{}: only rows that survive the same failures are compared. Choose mount options and a sync that give \
                 them the same.",
                list(&each)
            )
        })
    };
    let by_candidate = run.plan.design.compare == BY_CANDIDATE;
    by_candidate.then(|| panels.iter().find_map(told)).flatten()
}

/// ` It survives a kernel crash; barriers survives a power loss.`, where a setting that won promises less than another.
pub(super) fn survives_less(panel: &Panel, answer: &Answer) -> Option<String> {
    let row = |label: &String| panel.rows.iter().find(|row| row.label == *label);
    let [won] = &answer.left[..] else { return None };
    let won = row(won).filter(|_| answer.end == AnswerEnd::Winner)?;
    let second = answer.lead.as_ref().map(|lead| lead.over.as_str());
    let order = |more: &&Row| (more.durability, second == Some(more.label.as_str()));
    let more = answer.out.iter().filter_map(|out| row(&out.label)).max_by_key(order)?;
    let more = Some(more).filter(|more| more.durability > won.durability)?;
    let (own, other) = (survival(won.durability), survival(more.durability));
    Some(format!(" It {own}; {} {other}.", more.label))
}

fn out(one: &OutOf) -> String {
    let range =
        one.interval.map_or(String::new(), |(low, high)| format!(" {}", interval_text(low, high)));
    let OutOf { label, by, slower_in, blocks, blocks_since, faster_since, .. } = one;
    let mut text = match one.slower_by {
        Some(ratio) => format!("{label} is slower than {by} by {}{range}", times(ratio)),
        None => format!("{label} failed or missed its rate where {by} did not"),
    };
    text.push_str(&format!(", in {slower_in} of {blocks} blocks"));
    if *faster_since >= 2 && 2 * faster_since > *blocks_since {
        text.push_str(&format!(
            ", but was faster in {faster_since} of {blocks_since} since then: the machine may have changed"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use pickfs_record::{
        Cell,
        plan::{Metric, Statistic, StopRule},
    };
    use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

    fn said(blocks: u32, candidates: Vec<FakeCandidate>) -> (Vec<String>, Vec<String>) {
        let stop = StopRule::Decided { budget_s: 600.0, tie_margin: 0.05 };
        let ask = FakeRun { blocks, stop, candidates, ..FakeRun::default() };
        let found = crate::findings(&fake_run(&ask));
        let answer = found.answers.iter().find(|answer| answer.panel == "sync=fdatasync");
        let ending = found.endings.iter().find(|ending| ending.panel == "sync=fdatasync");
        (super::best(answer.expect("asked")), ending.expect("asked").details.clone())
    }

    #[test]
    fn a_settled_race_names_who_is_left_and_who_fell_when() {
        let (best, sentences) = said(25, FakeRun::default().candidates);
        assert_eq!(best, ["xfs:noatime"]);
        let begin = "By durable p50: ext4:noatime is slower than xfs:noatime by 1.3";
        assert!(sentences[0].starts_with(begin), "{}", sentences[0]);
        assert!(
            sentences[0].contains(", in 25 of 25 blocks; btrfs:noatime is"),
            "{}",
            sentences[0]
        );
    }

    #[test]
    fn a_race_that_ran_out_says_who_is_out() {
        let near = |label: &str, factor: f64| {
            let mut candidate = FakeCandidate::new(label, 500.0, 150_000.0 * factor);
            candidate.noise = 0.2;
            candidate
        };
        let three = vec![near("ext4:noatime", 1.0), near("xfs:noatime", 1.01), near("btrfs", 9.0)];
        let (best, sentences) = said(12, three);
        assert_eq!(best, ["ext4:noatime", "xfs:noatime"]);
        let begin = "By durable p50: btrfs is slower than ";
        assert!(sentences[0].starts_with(begin), "{}", sentences[0]);
    }

    #[test]
    fn one_that_does_not_carry_the_asked_tail_is_named_beside_the_answer_of_the_others() {
        let metric = Metric::new("durable", Statistic::Quantile(0.999));
        let ask = FakeRun { blocks: 12, primary: vec![metric], ..FakeRun::default() };
        let mut run = fake_run(&ask);
        let told = |run: &_| {
            let mut endings = crate::findings(run).endings.into_iter();
            let ending = endings.find(|ending| ending.panel == "sync=fdatasync");
            ending.expect("asked").sentence
        };
        let all = told(&run);
        assert!(!all.contains("Not ranked"), "{all}");
        let of_btrfs = |cell: &&Cell| cell.candidate.label == "btrfs:noatime";
        let cells: Vec<_> = run.cells.iter().filter(of_btrfs).map(|cell| cell.id.clone()).collect();
        for trial in run.trials.iter_mut().filter(|trial| cells.contains(&trial.cell)) {
            for op in &mut trial.ops {
                let all = [Some(&mut op.service), op.response.as_mut()].into_iter().flatten();
                all.flat_map(|times| &mut times.quantiles).for_each(|row| row.episodes = 0);
            }
        }
        let said = told(&run);
        let end = "loop image. Not ranked: btrfs:noatime, too few slow episodes for p99.9.";
        assert!(said.ends_with(end), "{said}");
    }

    #[test]
    fn settings_of_one_file_system_are_compared_and_the_winner_says_what_it_gives_up() {
        let named = [("ext4", 3e5), ("ext4:barrier=0", 1.5e5), ("ext4:data=journal", 9e5)];
        let candidates = named.map(|(text, ns)| FakeCandidate::new(text, 500.0, ns)).into();
        let mut run = fake_run(&FakeRun { blocks: 12, candidates, ..FakeRun::default() });
        for cell in run.cells.iter_mut().filter(|cell| cell.candidate.label == "ext4:barrier=0") {
            cell.durability = pickfs_record::Durability::KernelCrash;
        }
        let found = crate::findings(&run);
        let found = found.endings.iter().find(|ending| ending.panel == "sync=fdatasync");
        let said = &found.expect("asked").sentence;
        assert!(said.starts_with("ext4:barrier=0: "), "{said}");
        let end = "on this loop image. It survives a kernel crash; ext4 survives a power loss.";
        assert!(said.ends_with(end), "{said}");
    }

    #[test]
    fn the_best_survives_what_the_reference_survives() {
        let mut run = fake_run(&FakeRun { blocks: 8, ..FakeRun::default() });
        for cell in run.cells.iter_mut().filter(|cell| cell.candidate.label == "xfs:noatime") {
            cell.durability = pickfs_record::Durability::Nothing;
        }
        let found = crate::findings(&run);
        let found = found.endings.iter().find(|ending| ending.panel == "sync=fdatasync");
        let said = &found.expect("asked").sentence;
        assert!(said.starts_with("ext4:noatime: "), "{said}");
        assert!(said.contains("sync=fdatasync, of what survives a power loss, on this"), "{said}");
    }
}
