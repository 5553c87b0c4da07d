use crate::pickfs::pickfs;
use pickfs_record::{Plan, plan::StopRule};

fn planned(words: &[&str]) -> Plan {
    let words = [&["plan", "quick", "--json"], words].concat();
    let said = pickfs(&words);
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

fn budget_s(plan: &Plan) -> f64 {
    match plan.design.stop {
        StopRule::Decided { budget_s, .. } => budget_s,
        StopRule::Blocks => panic!("no race: {:?}", plan.design),
    }
}

#[test]
fn either_flag_races_and_the_budget_is_what_was_said() {
    assert_eq!(planned(&["--blocks", "9"]).design.stop, StopRule::Blocks);
    assert_eq!(budget_s(&planned(&[])), 300.0, "the plan's own");
    let budget = planned(&["--budget", "10m"]);
    assert_eq!((budget_s(&budget), budget.design.blocks), (600.0, 1_000));
    assert_eq!(budget_s(&planned(&["--until-decided"])), 300.0);
    let both = planned(&["--until-decided", "--budget", "90s", "--blocks", "12"]);
    assert_eq!((budget_s(&both), both.design.blocks), (90.0, 12));
}

#[test]
fn the_matrix_says_that_it_is_a_race() {
    let said = pickfs(&["plan", "quick", "--budget", "2m"]);
    assert!(said.out.contains(" cells x blocks until decided, at most "), "{said:?}");
}
