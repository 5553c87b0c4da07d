//! Which choices of an earlier run hold, changed, or cannot be told.
//!
//! A choice is the best of a panel as the first run's own blocks support it; it is
//! judged by what the last run's own blocks support, and their blocks are not mixed here. The environment's changes are
//! told beside, and are not named as the cause.

use pickfs_record::{
    Findings,
    finding::{Answer, AnswerEnd, Comparison, Ending, Panel, Row},
};
use serde::Serialize;

use super::Named;
use crate::{ending::best, wording::list};

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

/// The earlier run's choices by the later run, one a panel; none of another workload.
pub(super) fn judged(before: &Named<'_>, now: &Named<'_>) -> Vec<EarlierChoice> {
    if before.run.plan.workload != now.run.plan.workload {
        return Vec::new();
    }
    let first = |panel: &Panel| before.findings.answers.iter().find(|a| a.panel == panel.title);
    let chosen = before.findings.panels.iter().filter_map(|panel| Some((panel, first(panel)?)));
    let chosen = chosen.filter(|(_, answer)| !best(answer).is_empty());
    chosen.map(|(panel, answer)| choice(panel, answer, now.findings)).collect()
}

fn choice(before: &Panel, answer: &Answer, findings: &Findings) -> EarlierChoice {
    let now = findings.panels.iter().find(|panel| panel.title == before.title);
    let same = |later: &&Answer| later.panel == answer.panel && later.metric == answer.metric;
    let later = findings.answers.iter().find(same);
    let (then, here) = (best(answer), later.map(best).unwrap_or_default());
    let (standing, why) = match unsaid(&then, later, (before, now), findings) {
        Some(why) => (ChoiceStanding::CannotTell, why),
        None => compared(&then, &here),
    };
    EarlierChoice {
        panel: before.title.clone(),
        before: then,
        now: here,
        standing,
        why,
        comparisons: twice(before, now),
    }
}

fn row<'p>(panel: &'p Panel, label: &str) -> Option<&'p Row> {
    panel.rows.iter().find(|row| row.label == label)
}

fn unsaid(
    best_then: &[String],
    later: Option<&Answer>,
    (before, now): (&Panel, Option<&Panel>),
    findings: &Findings,
) -> Option<String> {
    let Some(now) = now else { return Some("it was not measured now".into()) };
    for label in best_then {
        let (then, here) = (row(before, label), row(now, label));
        match then.zip(here) {
            Some((then, here)) if then.backing != here.backing => {
                return Some(format!("then on {}, now on {}", then.backing, here.backing));
            }
            _ => {}
        }
        if here.is_none_or(|row| row.trials == 0) {
            let absent = findings.absent.iter().find(|absent| absent.label == *label);
            let why = absent.map(|absent| absent.reason.clone());
            let why = why.or_else(|| here.and_then(|row| row.failure.clone()));
            let why = why.unwrap_or_else(|| "it was not run".into());
            return Some(format!("{label} has no result now: {why}"));
        }
    }
    let mut endings = findings.endings.iter();
    let is_here = |ending: &&Ending| ending.panel == now.title || ending.panel.is_empty();
    let open = endings.find(|e| e.end == AnswerEnd::NoAnswer && is_here(e)).map(Ending::line);
    let Some(later) = later.filter(|later| !best(later).is_empty()) else {
        return Some(open.unwrap_or_else(|| "this run supports no choice".into()));
    };
    let stays = best_then.iter().all(|label| later.left.contains(label));
    let is_wider = later.end == AnswerEnd::NoAnswer && later.left.len() > best_then.len();
    open.filter(|_| stays && is_wider)
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

fn twice(before: &Panel, now: Option<&Panel>) -> Vec<ComparedTwice> {
    let same = |one: &Comparison, other: &&Comparison| {
        other.primary
            && other.metric == one.metric
            && other.reference == one.reference
            && other.other == one.other
    };
    let later = |one: &Comparison| now?.comparisons.iter().find(|other| same(one, other)).cloned();
    let planned = before.comparisons.iter().filter(|comparison| comparison.primary);
    planned.map(|one| ComparedTwice { before: one.clone(), now: later(one) }).collect()
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
        assert!(choice.why.starts_with("NO ANSWER 3 blocks do not decide between ext4 and xfs "));
    }

    #[test]
    fn a_run_without_a_choice_has_none_to_judge() {
        let mut short = run("short", 2, [200.0, 100.0, 400.0]);
        short.trials.retain(|trial| trial.block <= 2);
        assert!(judge(&short, &run("now", 1, [200.0, 100.0, 400.0])).choices.is_empty());
    }
}
