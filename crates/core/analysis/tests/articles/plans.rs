//! Which runs of which plans answer a claim.

use super::*;

#[test]
fn a_claim_whose_plan_awaits_its_run_is_told_apart_from_one_that_none_answers() {
    let run = mean_run(700.0, 500.0, 16);
    let of = |plans: &str, fs: &str, plan: &str| {
        let claim = format!("plan = \"{plans}\"\n{}", XFS_MEAN.replace("xfs", fs));
        put(&claim, &[made_for(plan, &run)])
    };
    let unrun = of("roll|kernels", "xfs", "quick");
    assert_eq!((&unrun.outcome, unrun.runs.len()), (&Outcome::NotYetRun, 0));
    assert_eq!(unrun.takes, "a run of roll (12 min) or kernels");
    assert_eq!(of("roll|kernels", "xfs", "kernels").runs.len(), 1);
    assert_eq!(reason(&of("roll", "zfs", "roll")), "no row of zfs");
    let other = of("roll|kernels", "zfs", "roll");
    assert_eq!(other.outcome, Outcome::NotYetRun);
    assert_eq!(other.takes, "a run of kernels (in those given: no row of zfs)");
    let unknown = of("left-out", "xfs", "quick");
    assert_eq!(reason(&unknown), "no run of left-out with rows of journal was given");
    let never = put(&format!("plan = \"roll\"\ntakes = \"a time machine\"\n{XFS_MEAN}"), &[]);
    assert_eq!(reason(&never), "no run of roll answers it");
    assert_eq!(never.takes, "a time machine");
    let all = ask_all(articles(), &[]);
    let of = |id: &str| all.iter().find(|answer| answer.claim.id == id).expect("a claim");
    let links = of("004-supported-links");
    let wanted = "a table of their features: pickfs features --json FILE, then --features FILE";
    assert_eq!((&links.outcome, links.takes.as_str()), (&Outcome::NotYetRun, wanted));
    assert_eq!(of("003-advice-schedulers").outcome.words(), "not testable here");
}

/// A level that the plan does not hold is missed in each run of it; one that was typed away awaits another run.
#[test]
fn a_level_that_was_typed_away_leaves_its_plan_unrun() {
    let synced = XFS_MEAN.replace("\"none\"", "\"fdatasync\"");
    let mut run = made_for("roll", &mean_run(700.0, 500.0, 16));
    let of =
        |run: &RunRecord| put(&format!("plan = \"roll\"\n{synced}"), std::slice::from_ref(run));
    assert_eq!(of(&run).outcome.words(), "not testable here");
    run.plan.typed = ["pickfs", "run", "roll", "--set", "sync=none"].map(String::from).into();
    let unrun = of(&run);
    assert_eq!(unrun.outcome, Outcome::NotYetRun);
    assert!(
        unrun.takes.starts_with("a run of roll (12 min) (in those given: no row with sync="),
        "{}",
        unrun.takes
    );
}
