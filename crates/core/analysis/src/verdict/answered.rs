use pickfs_record::finding::{Answer, AnswerEnd, OutOf};

use crate::wording::{blocks_text, interval_text, metric_name, times};

/// Those that are left, where the blocks say anything.
pub fn best(answer: &Answer) -> Vec<String> {
    let says = answer.end != AnswerEnd::NoAnswer || !answer.out.is_empty();
    if says { answer.left.clone() } else { Vec::new() }
}

/// `By durable p50 after 22 blocks: ext4 is slower than xfs by ...`; nothing where nobody is out.
pub(super) fn sentence(answer: &Answer) -> Option<String> {
    let Answer { trials, trials_of_whole_blocks, .. } = answer;
    let out: Vec<String> = answer.out.iter().map(out).collect();
    let spared = match trials < trials_of_whole_blocks {
        true => {
            format!(" {trials} trials ran; whole blocks would have been {trials_of_whole_blocks}.")
        }
        false => String::new(),
    };
    let (name, blocks) = (metric_name(&answer.metric), blocks_text(answer.blocks));
    let said = format!("By {name} after {blocks}: {}.{spared}", out.join("; "));
    (!out.is_empty()).then_some(said)
}

fn out(one: &OutOf) -> String {
    let range =
        one.interval.map_or(String::new(), |(low, high)| format!(" {}", interval_text(low, high)));
    let OutOf { label, by, slower_in, blocks, blocks_since, faster_since, .. } = one;
    let mut text = match one.slower_by.is_finite() {
        true => format!("{label} is slower than {by} by {}{range}", times(one.slower_by)),
        false => format!("{label} failed or missed its rate where {by} did not"),
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
    use pickfs_record::plan::StopRule;
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
        let begin =
            "By durable p50 after 25 blocks: ext4:noatime is slower than xfs:noatime by 1.3";
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
        let begin = "By durable p50 after 12 blocks: btrfs is slower than ";
        assert!(sentences[0].starts_with(begin), "{}", sentences[0]);
    }
}
