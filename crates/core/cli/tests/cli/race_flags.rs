use crate::pickfs::pickfs;
use pickfs_record::{Plan, plan::StopRule};

fn planned(words: &[&str]) -> Plan {
    planned_of("quick", words)
}

fn planned_of(plan: &str, words: &[&str]) -> Plan {
    let planned = pickfs(&[&["plan", plan, "--json"], words].concat()).json();
    serde_json::from_value(planned).expect("a plan")
}

fn budget_s(plan: &Plan) -> f64 {
    match plan.design.stop {
        StopRule::Decided { budget_s, .. } => budget_s,
        StopRule::Blocks { .. } => panic!("no race: {:?}", plan.design),
    }
}

#[test]
fn either_flag_races_and_the_budget_is_what_was_said() {
    let own = tempfile::NamedTempFile::with_suffix(".toml").expect("a file");
    let text = include_str!("../../../../../plans/quick.toml");
    let text = text.replace("until_decided", "tie_margin = 0.1\nuntil_decided");
    std::fs::write(own.path(), text).expect("written");
    let fixed = planned_of(&own.path().display().to_string(), &["--blocks", "9"]).design.stop;
    assert_eq!(fixed, StopRule::Blocks { tie_margin: 0.1 }, "the margin is kept");
    assert_eq!(budget_s(&planned(&[])), 300.0, "the plan's own");
    let budget = planned(&["--budget", "10m"]);
    assert_eq!((budget_s(&budget), budget.design.blocks), (600.0, 1_000));
    assert_eq!(budget_s(&planned(&["--until-decided"])), 300.0);
    let both = planned(&["--until-decided", "--budget", "90s", "--blocks", "12"]);
    assert_eq!((budget_s(&both), both.design.blocks), (90.0, 12));
    let said = pickfs(&["plan", "quick", "--budget", "2m"]);
    assert!(said.out.contains(" cells x blocks until decided, at most "), "{said:?}");
}
