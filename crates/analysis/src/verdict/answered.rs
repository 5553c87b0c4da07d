//! What an answer adds to a verdict: who is left, who is out and since when.

use pickfs_model::finding::{Answer, AnswerEnd, OutOf};

use crate::wording::{interval_text, list, metric_name, percent_over_one, times};

/// Those that are left, where the blocks say anything.
pub fn best(answer: &Answer) -> Vec<String> {
    let says = answer.end != AnswerEnd::Open || !answer.out.is_empty();
    if says { answer.left.clone() } else { Vec::new() }
}

/// `By durable p50 after 22 blocks xfs is the best; ext4 is slower than xfs by ...`.
pub(super) fn sentence(answer: &Answer) -> String {
    let Answer { blocks, trials, trials_of_whole_blocks, .. } = answer;
    let left = list(&answer.left);
    let head = match answer.end {
        AnswerEnd::Winner => format!("{left} is the best"),
        AnswerEnd::Equal => {
            format!("{left} are equal within {}", percent_over_one(1.0 + answer.margin))
        }
        AnswerEnd::Open => match answer.more_blocks {
            Some(more) => {
                format!("it is open between {left} (about {more} more blocks would tell)")
            }
            None => format!("it is open between {left}"),
        },
    };
    let out: Vec<String> = answer.out.iter().map(out).collect();
    let out = if out.is_empty() { String::new() } else { format!("; {}", out.join("; ")) };
    let spared = match trials < trials_of_whole_blocks {
        true => {
            format!(" {trials} trials ran; whole blocks would have been {trials_of_whole_blocks}.")
        }
        false => String::new(),
    };
    format!("By {} after {blocks} blocks {head}{out}.{spared}", metric_name(&answer.metric))
}

fn out(one: &OutOf) -> String {
    let range =
        one.interval.map_or(String::new(), |(low, high)| format!(" {}", interval_text(low, high)));
    let OutOf { label, by, slower_in, blocks, blocks_since, faster_since, .. } = one;
    let mut text = match one.slower_by.is_finite() {
        true => format!("{label} is slower than {by} by {}{range}", times(one.slower_by)),
        false => format!("{label} failed where {by} did not"),
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
        let begin = "By durable p50 after 25 blocks xfs:noatime is the best; ext4:noatime is slower than \
                     xfs:noatime by 1.3";
        assert!(sentences[1].starts_with(begin), "{}", sentences[1]);
        assert!(
            sentences[1].contains(", in 25 of 25 blocks; btrfs:noatime is"),
            "{}",
            sentences[1]
        );
    }

    #[test]
    fn a_race_that_ran_out_says_between_whom_it_is_open() {
        let near = |label: &str, factor: f64| {
            let mut candidate = FakeCandidate::new(label, 500.0, 150_000.0 * factor);
            candidate.noise = 0.2;
            candidate
        };
        let three = vec![near("ext4:noatime", 1.0), near("xfs:noatime", 1.01), near("btrfs", 9.0)];
        let (best, sentences) = said(12, three);
        assert_eq!(best, ["ext4:noatime", "xfs:noatime"]);
        assert!(
            sentences[0].ends_with(": one of ext4:noatime and xfs:noatime."),
            "{}",
            sentences[0]
        );
        let begin =
            "By durable p50 after 12 blocks it is open between ext4:noatime and xfs:noatime";
        assert!(sentences[1].starts_with(begin), "{}", sentences[1]);
        assert!(sentences[1].contains("; btrfs is slower than "), "{}", sentences[1]);
    }
}
