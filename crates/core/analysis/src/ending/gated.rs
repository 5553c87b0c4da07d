use pickfs_record::{
    CellId, Outcome, RunRecord,
    finding::{Answer, Cure},
    plan::Metric,
    quantity::significant,
};

use super::command;
use crate::{
    doubts::LONGEST_PERIOD_KEY,
    gates::{self, Gate, is_overloaded},
    panels::applies,
};

pub(super) fn gate_of(answer: &Answer) -> Option<(&str, &'static Gate)> {
    let flag = answer.gate.as_ref()?;
    Some((&flag.text, gates::of_kind(&flag.kind)?))
}

pub(super) fn gated(text: &str, gate: &Gate, by: &str) -> String {
    format!("{text}; these are not ranked {by}; {}", gate.mend)
}

/// `rate=800/s`: one that the slowest held with room.
pub(super) fn lower_rate(run: &RunRecord) -> Option<String> {
    let held = run.trials.iter().filter_map(|trial| trial.load.as_ref());
    let held = held.map(|load| 0.8 * load.achieved_per_s).filter(|rate| *rate >= 1.0);
    held.min_by(f64::total_cmp).map(|rate| format!("rate={rate:.0}/s"))
}

/// Why nothing carries a metric where every trial that it applies to ran behind its schedule.
pub(super) fn overload(run: &RunRecord, metric: &Metric) -> Option<String> {
    let of_cell = |id: &CellId| run.cells.iter().find(|cell| cell.id == *id);
    let asked = run.trials.iter().filter(|trial| {
        trial.outcome == Outcome::Finished
            && of_cell(&trial.cell).is_some_and(|cell| applies(metric, cell))
    });
    let loads = asked.clone().filter_map(|trial| trial.load.as_ref());
    let rate = loads.clone().find_map(|load| load.asked_per_s)?;
    let most = loads.map(|load| load.achieved_per_s).fold(0.0, f64::max);
    let (rate, most) = (significant(rate), significant(most));
    asked
        .into_iter()
        .all(is_overloaded)
        .then(|| format!("no candidate held {rate}/s, {most}/s at most"))
}

/// What the typed words become where a gate withheld the verdict.
pub(super) fn cure_of(run: &RunRecord, gate: &Gate) -> Cure {
    let rate = lower_rate(run);
    let periods = run.trials.iter().filter_map(|trial| trial.environment.get(LONGEST_PERIOD_KEY));
    let periods = periods.filter_map(|seconds| seconds.parse::<f64>().ok());
    let measure = format!("{:.0}s", (2.0 * periods.fold(30.0, f64::max)).ceil());
    let option = match (gate.kind, &rate) {
        ("rate-missed" | gates::OVERLOADED, Some(rate)) => Some(("--set", Some(rate.as_str()))),
        ("period-not-covered", _) => Some(("--measure", Some(measure.as_str()))),
        _ => gate.option.map(|(name, value)| (name, Some(value))),
    };
    Cure { command: command(&run.plan, option.as_slice()), duration_s: None }
}

#[cfg(test)]
mod tests {
    use crate::findings;
    use pickfs_record::{
        finding::AnswerEnd,
        plan::{StopRule, View},
    };
    use pickfs_testkit::{FakeCandidate, FakeRun, Mishap, MishapKind, fake_run};

    /// In overload a response is as long as the trial: who held nothing is not ranked by it, carried or not.
    #[test]
    fn where_nobody_holds_the_rate_a_lower_one_is_proposed() {
        let end = |labels: &[&str], episodes: u64| {
            let mishap = |label: &&str| Mishap::new(label, "", 0, MishapKind::RateMissed(0.5));
            let named = ["ext4", "xfs"].map(|name| FakeCandidate::new(name, 500.0, 150_000.0));
            let candidates = named.map(|one| FakeCandidate { noise: 0.01, ..one }).into();
            let mut primary = vec![pickfs_testkit::fake_trial::service_quantile("append", 0.5)];
            primary[0].view = View::Response;
            let mishaps = labels.iter().map(mishap).collect();
            let syncs = vec!["fdatasync".into()];
            let ask =
                FakeRun { blocks: 12, candidates, primary, mishaps, syncs, ..FakeRun::default() };
            let mut run = fake_run(&ask);
            let times = run.trials.iter_mut().flat_map(|trial| &mut trial.ops);
            let rows = times.filter_map(|op| op.response.as_mut()).flat_map(|t| &mut t.quantiles);
            rows.for_each(|row| row.episodes = row.episodes.min(episodes));
            run.plan.typed = ["./run", "quick", "--set", "size=64"].map(String::from).into();
            findings(&run).endings[0].clone()
        };
        let both = ["ext4", "xfs"];
        let withheld = end(&both, 1_000);
        let begin = "NO ANSWER no candidate held the rate, and response times then grow with the trial, in 12 of 12";
        assert!(withheld.line().starts_with(begin), "{}", withheld.line());
        let lacking = end(&both, 0);
        let begin = "NO ANSWER no candidate held 10,000/s, 5,000/s at most";
        assert!(lacking.line().starts_with(begin), "{}", lacking.line());
        for found in [withheld, lacking] {
            let cure = found.cure.expect("a command").command;
            assert_eq!(cure, "./run quick --set size=64 --set rate=4000/s");
        }
        assert_eq!(end(&["xfs"], 1_000).end, AnswerEnd::Winner, "one holds it");
    }

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
            (MishapKind::Disturbed(1.0), "other virtual machines took the CPU in 7", ""),
            (MishapKind::Throttled(2), "a CPU quota held pickfs back in 7", ""),
            (MishapKind::RateMissed(0.5), "the rate was not held", " --set rate=4000/s"),
            (
                MishapKind::Flagged("period-not-covered".into(), "4 s".into()),
                "the periodic work of the file systems was not covered in 7 of 12 blocks",
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

    #[test]
    fn a_race_without_time_for_its_blocks_is_given_time_and_a_planned_run_blocks() {
        let mut run = fake_run(&FakeRun { blocks: 2, ..FakeRun::default() });
        let proposed = |run: &_| findings(run).endings[0].cure.clone().map(|cure| cure.command);
        let blocks = proposed(&run).unwrap_or_default();
        assert!(blocks.contains("--blocks ") && !blocks.contains("--budget"), "{blocks}");
        run.plan.design.stop = StopRule::Decided { budget_s: 300.0, tie_margin: 0.05 };
        let budget = proposed(&run).unwrap_or_default();
        assert!(budget.contains("--budget ") && !budget.contains("--blocks"), "{budget}");
    }
}
