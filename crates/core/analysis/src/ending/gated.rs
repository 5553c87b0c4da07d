use pickfs_record::{
    RunRecord,
    finding::{Answer, Cure},
};

use super::command;
use crate::{
    doubts::LONGEST_PERIOD_KEY,
    gates::{self, Gate},
};

pub(super) fn gate_of(answer: &Answer) -> Option<(&str, &'static Gate)> {
    let flag = answer.gate.as_ref()?;
    Some((&flag.text, gates::of_kind(&flag.kind)?))
}

pub(super) fn gated(text: &str, gate: &Gate, by: &str) -> String {
    format!("{text}; these are not ranked {by}; {}", gate.mend)
}

/// What the typed words become where a gate withheld the verdict; a rate is one that the slowest held with room.
pub(super) fn cure_of(run: &RunRecord, gate: &Gate) -> Cure {
    let held = run.trials.iter().filter_map(|trial| trial.load.as_ref());
    let held = held.map(|load| 0.8 * load.achieved_per_s).filter(|rate| *rate >= 1.0);
    let rate = held.min_by(f64::total_cmp).map(|rate| format!("rate={rate:.0}/s"));
    let periods = run.trials.iter().filter_map(|trial| trial.environment.get(LONGEST_PERIOD_KEY));
    let periods = periods.filter_map(|seconds| seconds.parse::<f64>().ok());
    let measure = format!("{:.0}s", (2.0 * periods.fold(30.0, f64::max)).ceil());
    let option = match (gate.kind, &rate) {
        ("rate-missed", Some(rate)) => Some(("--set", Some(rate.as_str()))),
        ("period-not-covered", _) => Some(("--measure", Some(measure.as_str()))),
        _ => gate.option.map(|(name, value)| (name, Some(value))),
    };
    Cure { command: command(&run.plan, option.as_slice()), duration_s: None }
}

#[cfg(test)]
mod tests {
    use crate::findings;
    use pickfs_record::finding::AnswerEnd;
    use pickfs_testkit::{FakeCandidate, FakeRun, Mishap, MishapKind, fake_run};

    /// A fact of over half of the blocks withholds a verdict that the blocks would give; of half of them it does not.
    #[test]
    fn each_gate_withholds_the_verdict_with_its_cure() {
        let end = |blocks: u32, kind: MishapKind| {
            let mishap = |block| Mishap::new("xfs", "none", block, kind.clone());
            let named = ["ext4", "xfs"].map(|name| FakeCandidate::new(name, 500.0, 150_000.0));
            let mut candidates = named.map(|candidate| FakeCandidate { noise: 0.01, ..candidate });
            candidates[1].append_ns = 700.0;
            let primary = vec![pickfs_testkit::fake_trial::service_quantile("append", 0.5)];
            let ask = FakeRun {
                blocks: 12,
                candidates: candidates.into(),
                primary,
                ..FakeRun::default()
            };
            let ask = FakeRun { syncs: vec!["none".into()], ..ask };
            let mut run = fake_run(&FakeRun { mishaps: (1..=blocks).map(mishap).collect(), ..ask });
            run.plan.typed = ["./run", "quick", "--set", "size=64"].map(String::from).into();
            let found = findings(&run);
            assert_eq!(found.answers[0].left.len() == 2, found.answers[0].gate.is_some());
            found.endings[0].clone()
        };
        for (kind, begin, command) in [
            (MishapKind::Disturbed(1.0), "other programs took the CPU in 7", ""),
            (MishapKind::Throttled(2), "a CPU quota held pickfs back in 7", ""),
            (MishapKind::RateMissed(0.5), "the rate was not held", " --set rate=4000/s"),
            (
                MishapKind::Flagged("period-not-covered".into(), "4 s".into()),
                "what the file systems put off was not paid in 7 of 12 blocks",
                " --measure 60s",
            ),
            (
                MishapKind::Image(0, false),
                "the loop device did not use direct",
                " --image-dir FOLDER",
            ),
            (MishapKind::Image(4096, true), "parts of the image were not", " --image-dir FOLDER"),
        ] {
            let found = end(7, kind.clone());
            assert!(found.line().starts_with(&format!("NO ANSWER {begin}")), "{}", found.line());
            let cure = found.cure.expect("a command").command;
            assert_eq!(cure, format!("./run quick --set size=64{command}"));
            assert_eq!(end(6, kind).end, AnswerEnd::Winner);
        }
    }
}
