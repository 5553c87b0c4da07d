//! Which choices of an earlier run hold, changed, or cannot be told.
//!
//! A choice is the best of a panel as the first run's own blocks support it; it is
//! judged by what the last run's own blocks support, and their blocks are not mixed here. The environment's changes are
//! told beside, and are not named as the cause.

use pickfs_record::{
    Findings,
    finding::{AnswerEnd, Comparison, Ending, Panel, Row, Verdict},
};
use serde::Serialize;

use super::Named;
use crate::wording::list;

/// A choice of the earlier run, judged by the later one.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct EarlierChoice {
    /// Title of the panel; empty when there is one.
    pub panel: String,
    /// The best then: more than one when tied.
    pub before: Vec<String>,
    /// The best now; none when nothing can be said.
    pub now: Vec<String>,
    /// What became of it.
    pub standing: ChoiceStanding,
    /// In words.
    pub why: String,
    /// The comparisons that the plan fixed, then and now.
    pub comparisons: Vec<ComparedTwice>,
}

/// What became of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceStanding {
    /// All that was best is still not told apart from the best.
    Holds,
    /// Something that was best is behind now.
    Changed,
    /// The later run does not say.
    CannotTell,
}

/// One comparison in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ComparedTwice {
    pub before: Comparison,
    /// As the later run made it.
    pub now: Option<Comparison>,
}

/// The earlier run's choices by the later run; none of another workload.
pub(super) fn judged(before: &Named<'_>, now: &Named<'_>) -> Vec<EarlierChoice> {
    if before.run.plan.workload != now.run.plan.workload {
        return Vec::new();
    }
    let verdicts = before.findings.verdicts.iter().filter(|verdict| !verdict.best.is_empty());
    verdicts.map(|verdict| choice(verdict, before.findings, now.findings)).collect()
}

fn choice(verdict: &Verdict, before: &Findings, now: &Findings) -> EarlierChoice {
    let later = now.verdicts.iter().find(|later| later.panel == verdict.panel);
    let best = later.map(|later| later.best.clone()).unwrap_or_default();
    let panels = (panel(before, &verdict.panel), panel(now, &verdict.panel));
    let (standing, why) = match unsaid(verdict, later, panels, now) {
        Some(why) => (ChoiceStanding::CannotTell, why),
        None => compared(&verdict.best, &best),
    };
    EarlierChoice {
        panel: verdict.panel.clone(),
        before: verdict.best.clone(),
        now: best,
        standing,
        why,
        comparisons: twice(panels),
    }
}

fn panel<'f>(findings: &'f Findings, title: &str) -> Option<&'f Panel> {
    findings.panels.iter().find(|panel| panel.title == title)
}

fn row<'p>(panel: Option<&'p Panel>, label: &str) -> Option<&'p Row> {
    panel?.rows.iter().find(|row| row.label == label)
}

fn unsaid(
    verdict: &Verdict,
    later: Option<&Verdict>,
    panels: (Option<&Panel>, Option<&Panel>),
    now: &Findings,
) -> Option<String> {
    let Some(later) = later else {
        return Some("it was not measured now".into());
    };
    for label in &verdict.best {
        let (then, here) = (row(panels.0, label), row(panels.1, label));
        match (then, here) {
            (Some(then), Some(here)) if then.backing != here.backing => {
                return Some(format!("then on {}, now on {}", then.backing, here.backing));
            }
            _ => {}
        }
        if here.is_none_or(|row| row.trials == 0) {
            let absent = now.absent.iter().find(|absent| absent.label == *label);
            let why = absent.map(|absent| absent.reason.clone());
            let why = why.or_else(|| here.and_then(|row| row.failure.clone()));
            let why = why.unwrap_or_else(|| "it was not run".into());
            return Some(format!("{label} has no result now: {why}"));
        }
    }
    let mut endings = now.endings.iter();
    let is_here = |ending: &&Ending| ending.panel == verdict.panel || ending.panel.is_empty();
    let open = endings.find(|e| e.end == AnswerEnd::NoAnswer && is_here(e)).map(Ending::line);
    if later.best.is_empty() {
        return Some(open.unwrap_or_else(|| "this run supports no choice".into()));
    }
    let mut answers = now.answers.iter().filter(|answer| answer.panel == verdict.panel);
    let left = &answers.find(|answer| answer.end == AnswerEnd::NoAnswer)?.left;
    let stays = verdict.best.iter().all(|label| left.contains(label));
    open.filter(|_| stays && left.len() > verdict.best.len())
}

fn compared(before: &[String], now: &[String]) -> (ChoiceStanding, String) {
    let of = |labels: &[&String]| list(&labels.iter().map(|l| l.as_str()).collect::<Vec<_>>());
    let lost: Vec<&String> = before.iter().filter(|label| !now.contains(label)).collect();
    let new: Vec<&String> = now.iter().filter(|label| !before.contains(label)).collect();
    let all: Vec<&String> = before.iter().collect();
    let is = |labels: &[&String]| if labels.len() == 1 { "is" } else { "are" };
    if lost.is_empty() {
        let beside = match new.is_empty() {
            true => String::new(),
            false => format!(", now not told apart from {}", of(&new)),
        };
        return (ChoiceStanding::Holds, format!("{} {} still best{beside}", of(&all), is(&all)));
    }
    let best: Vec<&String> = now.iter().collect();
    (ChoiceStanding::Changed, format!("{} {} behind {} now", of(&lost), is(&lost), of(&best)))
}

fn twice(panels: (Option<&Panel>, Option<&Panel>)) -> Vec<ComparedTwice> {
    let all = |panel: Option<&Panel>| {
        let comparisons = panel.map(|panel| panel.comparisons.clone()).unwrap_or_default();
        comparisons.into_iter().filter(|comparison| comparison.primary)
    };
    let later: Vec<Comparison> = all(panels.1).collect();
    all(panels.0)
        .map(|before| {
            let same = |now: &&Comparison| {
                now.metric == before.metric
                    && now.reference == before.reference
                    && now.other == before.other
            };
            let now = later.iter().find(same).cloned();
            ComparedTwice { before, now }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compare::{RunComparison, compare},
        findings,
    };
    use pickfs_record::{BackingKind, RunRecord};
    use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

    fn run(name: &str, seed: u64, durable_us: [f64; 3]) -> RunRecord {
        let [ext4, xfs, btrfs] = durable_us;
        let of = |name: &str, us: f64| FakeCandidate::new(name, 500.0, us * 1e3);
        fake_run(&FakeRun {
            name: name.into(),
            seed,
            blocks: 10,
            candidates: vec![of("ext4", ext4), of("xfs", xfs), of("btrfs", btrfs)],
            reference: "ext4".into(),
            syncs: vec!["fdatasync".into()],
            ..FakeRun::default()
        })
    }

    fn judge(before: &RunRecord, now: &RunRecord) -> RunComparison {
        let all = [before, now].map(|run| (run, findings(run)));
        let named = all.each_ref().map(|(run, findings)| Named { name: &run.name, run, findings });
        compare(&named)
    }

    fn only(found: &RunComparison) -> &EarlierChoice {
        assert_eq!(found.choices.len(), 1, "{found:?}");
        &found.choices[0]
    }

    #[test]
    fn the_same_truth_holds_and_shows_both_intervals() {
        let (before, mut now) =
            (run("then", 1, [200.0, 100.0, 400.0]), run("now", 2, [200.0, 100.0, 400.0]));
        now.environment.put("kernel.release", "7.0");
        let found = judge(&before, &now);
        let choice = only(&found);
        assert_eq!(
            (choice.standing, &*choice.before),
            (ChoiceStanding::Holds, &["xfs".to_string()][..])
        );
        assert_eq!(choice.why, "xfs is still best");
        assert_eq!(found.steps[0].changed[0].key, "kernel.release");
        let twice = choice.comparisons.iter().find(|c| c.before.other == "xfs").expect("xfs");
        let now = twice.now.as_ref().expect("compared again");
        assert!(twice.before.interval.is_some() && now.interval.is_some());
        assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
    }

    #[test]
    fn a_choice_that_fell_behind_has_changed() {
        let (before, now) =
            (run("then", 1, [200.0, 100.0, 400.0]), run("now", 2, [60.0, 100.0, 400.0]));
        let found = judge(&before, &now);
        assert_eq!(only(&found).standing, ChoiceStanding::Changed);
        assert_eq!(only(&found).why, "xfs is behind ext4 now");
    }

    #[test]
    fn a_choice_that_is_open_now_cannot_be_told() {
        let (before, now) =
            (run("then", 1, [200.0, 100.0, 400.0]), run("now", 2, [100.0, 100.0, 400.0]));
        let found = judge(&before, &now);
        assert_eq!(only(&found).standing, ChoiceStanding::CannotTell);
        assert!(
            only(&found).why.starts_with("NO ANSWER 10 blocks do not decide between ext4 and xfs ")
        );
    }

    #[test]
    fn what_the_later_run_does_not_say_cannot_be_told() {
        let before = run("then", 1, [200.0, 100.0, 400.0]);
        let mut short = run("short", 2, [200.0, 100.0, 400.0]);
        short.trials.retain(|trial| trial.block <= 2);
        let found = judge(&before, &short);
        assert_eq!(only(&found).standing, ChoiceStanding::CannotTell);
        assert!(only(&found).why.starts_with("NO ANSWER 2 blocks are too few to compare by "));

        let mut failed = run("failed", 3, [200.0, 100.0, 400.0]);
        let xfs = failed.cells[1].id.clone();
        let trials = failed.trials.iter_mut().filter(|trial| trial.cell == xfs);
        trials.for_each(|trial| {
            trial.outcome = pickfs_record::Outcome::Failed { reason: "no space left".into() };
        });
        let found = judge(&before, &failed);
        assert_eq!(only(&found).why, "xfs has no result now: no space left");

        let mut ram = run("ram", 4, [200.0, 100.0, 400.0]);
        ram.trials.iter_mut().for_each(|trial| trial.backing = BackingKind::RamImage);
        let found = judge(&before, &ram);
        assert_eq!(only(&found).standing, ChoiceStanding::CannotTell);
        assert!(only(&found).why.contains("now on loop image in RAM"), "{}", only(&found).why);

        let mut other = run("other", 5, [200.0, 100.0, 400.0]);
        other.trials.clear();
        assert_eq!(only(&judge(&before, &other)).why, "it was not measured now");
    }

    #[test]
    fn a_row_of_which_nothing_is_claimed_is_not_called_behind() {
        let before = run("then", 1, [200.0, 100.0, 400.0]);
        let mut now = run("now", 2, [200.0, 100.0, 400.0]);
        let xfs = now.cells[1].id.clone();
        now.trials.retain(|trial| trial.cell != xfs || trial.block <= 3);
        let found = judge(&before, &now);
        let choice = only(&found);
        assert_eq!(choice.standing, ChoiceStanding::CannotTell, "{choice:?}");
        assert!(choice.why.starts_with("NO ANSWER 10 blocks do not decide between ext4 and xfs "));
    }

    #[test]
    fn a_run_without_a_choice_has_none_to_judge() {
        let mut short = run("short", 2, [200.0, 100.0, 400.0]);
        short.trials.retain(|trial| trial.block <= 2);
        assert!(judge(&short, &run("now", 1, [200.0, 100.0, 400.0])).choices.is_empty());
    }
}
