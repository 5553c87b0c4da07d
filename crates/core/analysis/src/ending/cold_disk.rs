//! One rule names a winner: it is among those that are not slower than the fastest (by the claims)
//! and among those that take the fewest bytes (within a twentieth). Several are a tie; none is a
//! trade, and the choice is the reader's.

use pickfs_record::{
    CandidateSpec, TrialRecord,
    finding::{Answer, Panel, PhaseCell},
    plan::Statistic,
    quantity::significant,
};

use super::best;
use crate::{
    panels::{Disturbed, Group, Member},
    summary::median,
    wording::list,
};

const COLD: &str = "cold tier";
const SAME_BYTES: f64 = 1.05;

struct Weighed {
    label: String,
    mb_per_s: f64,
    /// Bytes that the file system used for one byte of a column.
    disk_share: f64,
}

/// Both figures of each row and the choice; nothing where candidates do not differ in compression
/// or their bytes on disk are not known, and of other answers.
pub(super) fn weighed(group: &Group<'_>, panel: &Panel, answer: &Answer) -> Option<String> {
    let is_asked = answer.metric.op == COLD && answer.metric.statistic == Statistic::Rate;
    let mut asked = group.members.iter().map(|member| compression(&member.cell.candidate));
    let first = asked.next().filter(|_| is_asked)?;
    asked.find(|other| *other != first)?;
    let tier = panel.phases.iter().find(|row| row.phase == COLD)?;
    let both = group.members.iter().zip(&tier.cells);
    let rows: Vec<Weighed> = both.filter_map(|(member, cell)| weigh(member, cell)).collect();
    if rows.len() < 2 {
        return None;
    }
    let said = rows.iter().map(|row| {
        let (rate, share) = (significant(row.mb_per_s), significant(row.disk_share));
        format!("{} {rate} MB/s and {share} bytes on disk a byte", row.label)
    });
    let said = said.collect::<Vec<_>>().join("; ");
    let choice = choice(&best(answer), &smallest(&rows));
    Some(format!("Cold tier with bytes on disk: {said}. {choice}"))
}

fn weigh(member: &Member<'_>, cell: &PhaseCell) -> Option<Weighed> {
    let trials = member.chosen(Disturbed::Kept);
    let shares: Vec<f64> = trials.iter().filter_map(|trial| disk_share(trial)).collect();
    let mb_per_s = cell.rate?.median / 1e6;
    let disk_share = (!shares.is_empty()).then(|| median(&shares))?;
    Some(Weighed { label: member.label.clone(), mb_per_s, disk_share })
}

/// What a candidate's options say about compression: `compress=zstd`, `compression=off`.
fn compression(candidate: &CandidateSpec) -> Vec<&str> {
    let options = candidate.mount_options.iter().chain(&candidate.mkfs_options);
    options.map(String::as_str).filter(|option| option.contains("compress")).collect()
}

fn disk_share(trial: &TrialRecord) -> Option<f64> {
    let count = |name: &str| trial.counts.get(name).copied();
    let filled = count("space_filled_bytes").filter(|filled| *filled > 0.0)?;
    Some(count("space_used_bytes")? / filled)
}

fn smallest(rows: &[Weighed]) -> Vec<String> {
    let least = rows.iter().map(|row| row.disk_share).fold(f64::INFINITY, f64::min);
    let is_small = |row: &&Weighed| row.disk_share <= least * SAME_BYTES;
    rows.iter().filter(is_small).map(|row| row.label.clone()).collect()
}

fn choice(fastest: &[String], smallest: &[String]) -> String {
    if fastest.is_empty() {
        let smallest = either(smallest);
        return format!("No winner is named, for no rate is claimed; fewest bytes: {smallest}.");
    }
    let both: Vec<String> =
        fastest.iter().filter(|label| smallest.contains(label)).cloned().collect();
    match both.as_slice() {
        [] => format!(
            "No winner is named: {} by rate, {} by bytes on disk.",
            either(fastest),
            either(smallest)
        ),
        [one] => format!("{one} is the choice by both."),
        several => {
            let several: Vec<&str> = several.iter().map(String::as_str).collect();
            format!("{} are tied by both.", list(&several))
        }
    }
}

fn either(labels: &[String]) -> String {
    labels.join(" or ")
}

#[cfg(test)]
mod tests {
    use pickfs_record::RunRecord;
    use pickfs_testkit::{FakePhasedRun, Speed, fake_phased_run};

    use crate::findings;

    /// Three candidates that compress differently, with their bytes on disk for a byte.
    fn run(shares: [f64; 3], zstd_speed: f64) -> RunRecord {
        let ask = FakePhasedRun {
            blocks: 16,
            noise: 0.01,
            candidates: vec![
                "btrfs".into(),
                "btrfs:compress=lzo".into(),
                "btrfs:compress=zstd".into(),
            ],
            speeds: vec![Speed::new("btrfs:compress=zstd", "", zstd_speed)],
            ..FakePhasedRun::column()
        };
        let mut run = fake_phased_run(&ask);
        for trial in &mut run.trials {
            let at = run.cells.iter().position(|cell| cell.id == trial.cell).expect("a cell");
            trial.counts.insert("space_filled_bytes".into(), 1e9);
            trial.counts.insert("space_used_bytes".into(), 1e9 * shares[at]);
        }
        run
    }

    fn said(run: &RunRecord) -> Option<String> {
        let endings = findings(run).endings.into_iter();
        endings
            .flat_map(|ending| ending.details)
            .find(|said| said.starts_with("Cold tier with bytes on disk"))
    }

    #[test]
    fn who_is_among_the_fastest_and_the_smallest_is_chosen() {
        let text = said(&run([1.0, 0.7, 0.5], 1.0)).expect("compression differs");
        assert!(
            text.contains("btrfs:compress=zstd ") && text.contains("0.50 bytes on disk"),
            "{text}"
        );
        assert!(text.ends_with("btrfs:compress=zstd is the choice by both."), "{text}");
    }

    #[test]
    fn slower_and_smaller_is_a_trade_and_equal_is_a_tie() {
        let text = said(&run([1.0, 0.7, 0.5], 0.5)).expect("compression differs");
        assert!(text.ends_with("by rate, btrfs:compress=zstd by bytes on disk."), "{text}");
        assert!(text.contains("No winner is named: btrfs or btrfs:compress=lzo"), "{text}");
        let text = said(&run([1.0, 1.0, 1.02], 1.0)).expect("compression differs");
        assert!(text.ends_with("are tied by both."), "{text}");
    }

    #[test]
    fn without_a_claim_or_without_compression_no_winner_is_named() {
        let mut few = run([1.0, 0.7, 0.5], 1.0);
        few.trials.retain(|trial| trial.block < 3);
        let text = said(&few).expect("values are shown");
        assert!(text.contains("no rate is claimed; fewest bytes: btrfs:compress=zstd."), "{text}");
        let mut same = run([1.0, 0.7, 0.5], 1.0);
        same.cells.iter_mut().for_each(|cell| cell.candidate.mount_options.clear());
        assert_eq!(said(&same), None);
    }
}
