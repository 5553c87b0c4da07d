//! What a race adds to a verdict: who is left, who fell behind, and whether it was settled.

use pickfs_model::{
    finding::{FellBehind, RaceResult},
    plan::Metric,
};

use super::Panelled;
use crate::wording::{interval_text, level_text, list, metric_name, percent_over_one, times};

impl Panelled<'_> {
    /// The race by this metric among rows that survive what the reference survives.
    pub(super) fn race(&self, metric: &Metric) -> Option<&RaceResult> {
        let mut races = self.races.iter();
        races.find(|race| {
            let mut all = race.leaders.iter().chain(race.behind.iter().map(|one| &one.label));
            race.panel == self.panel.title
                && race.metric == *metric
                && all.any(|label| *label == self.panel.reference)
        })
    }

    /// Who is left of a race that told anybody apart, or that ended in a tie.
    pub(super) fn left(&self, race: &RaceResult) -> Option<Vec<String>> {
        let says = race.decided || !race.behind.is_empty();
        let leaders = race.leaders.iter().filter(|label| self.survives_as_the_reference(label));
        let leaders: Vec<String> = leaders.cloned().collect();
        (says && !leaders.is_empty()).then_some(leaders)
    }
}

/// `Settled by append p50 after 22 blocks: ...`.
pub(super) fn sentence(race: &RaceResult) -> String {
    let RaceResult { blocks, trials, trials_of_whole_blocks, .. } = race;
    let metric = metric_name(&race.metric);
    let leaders = list(&race.leaders);
    let head = match (race.decided, race.leaders.len()) {
        (true, 1) => format!(
            "Settled by {metric} after {blocks} blocks: none is faster than {leaders} (a race loses \
             the best in {} of cases at most)",
            level_text(race.alpha)
        ),
        (true, _) => {
            let margin = percent_over_one(1.0 + race.tie_margin);
            format!("Settled by {metric} after {blocks} blocks: {leaders} are tied within {margin}")
        }
        (false, _) => {
            format!("Not settled by {metric} after {blocks} blocks: open between {leaders}")
        }
    };
    let behind: Vec<String> = race.behind.iter().map(fell).collect();
    let behind = if behind.is_empty() { String::new() } else { format!("; {}", behind.join("; ")) };
    let spared = match trials < trials_of_whole_blocks {
        true => {
            format!(" {trials} trials ran; whole blocks would have been {trials_of_whole_blocks}.")
        }
        false => String::new(),
    };
    format!("{head}{behind}.{spared}")
}

fn fell(one: &FellBehind) -> String {
    let range =
        one.interval.map_or(String::new(), |(low, high)| format!(" {}", interval_text(low, high)));
    let FellBehind { label, of, at_block, sentinels, contradicted, .. } = one;
    let mut text = format!(
        "{label} fell behind {of} in block {at_block} (slower by {}{range})",
        times(one.slower_by)
    );
    if *contradicted >= 2 && 2 * contradicted > *sentinels {
        text.push_str(&format!(
            ", but was ahead in {contradicted} of {sentinels} blocks since then: the machine may have \
             changed"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use pickfs_model::plan::StopRule;
    use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

    fn said(blocks: u32, candidates: Vec<FakeCandidate>) -> (Vec<String>, Vec<String>) {
        let stop = StopRule::Decided { budget_s: 600.0, tie_margin: 0.05 };
        let ask = FakeRun { blocks, stop, candidates, ..FakeRun::default() };
        let found = crate::findings(&fake_run(&ask));
        let verdict = found.verdicts.iter().find(|verdict| verdict.panel == "sync=fdatasync");
        let verdict = verdict.expect("a primary metric");
        (verdict.best.clone(), verdict.sentences.clone())
    }

    #[test]
    fn a_settled_race_names_who_is_left_and_who_fell_when() {
        let (best, sentences) = said(25, FakeRun::default().candidates);
        assert_eq!(best, ["xfs:noatime"]);
        let begin = "Settled by durable p50 after 25 blocks: none is faster than xfs:noatime (a \
                     race loses the best in 2.5 % of cases at most); ext4:noatime fell behind \
                     xfs:noatime in block ";
        assert!(sentences[1].starts_with(begin), "{}", sentences[1]);
        assert!(sentences[1].contains(" (slower by 1.3"), "{}", sentences[1]);
    }

    #[test]
    fn a_race_that_ran_out_says_between_whom_it_is_open() {
        let near = |label: &str, factor: f64| {
            let mut candidate = FakeCandidate::new(label, 500.0, 150_000.0 * factor);
            candidate.noise = 0.2;
            candidate
        };
        let three = vec![near("ext4:noatime", 1.0), near("xfs:noatime", 1.01), near("btrfs", 9.0)];
        let (best, sentences) = said(9, three);
        assert_eq!(best, ["ext4:noatime", "xfs:noatime"]);
        assert!(sentences[0].ends_with("ext4:noatime and xfs:noatime; they are not told apart."));
        let begin = "Not settled by durable p50 after 9 blocks: open between ext4:noatime and \
                     xfs:noatime; btrfs fell behind ";
        assert!(sentences[1].starts_with(begin), "{}", sentences[1]);
    }
}
