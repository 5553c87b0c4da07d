//! The clock's own share of a figure: a call that takes a few of its readings or steps is at its limit.

use pickfs_record::{
    RunRecord,
    finding::{Notice, Panel},
    plan::View,
    quantity::duration_text,
};

use crate::wording::list;

pub const READ_KEY: &str = "clock.read_at_start_ns";
pub const STEP_KEY: &str = "clock.step_at_start_ns";
/// Readings or steps under which a median is named: the clock is over a tenth of it.
const FEW: f64 = 10.0;

pub fn notices(run: &RunRecord, panels: &[Panel]) -> Vec<Notice> {
    let number = |key| run.environment.get(key)?.parse::<f64>().ok();
    let Some((read_ns, step_ns)) = number(READ_KEY).zip(number(STEP_KEY)) else { return vec![] };
    let mut near: Vec<(&str, Vec<String>)> = Vec::new();
    for row in panels.iter().flat_map(|panel| &panel.rows) {
        for op in row.ops.iter().filter(|op| op.view == View::Service) {
            let median = op.quantiles.iter().find(|quantile| quantile.q == 0.5);
            let is_near = |ns: f64| ns <= FEW * read_ns.max(step_ns);
            if !median.is_some_and(|median| is_near(median.value_ns.median)) {
                continue;
            }
            match near.iter_mut().find(|(name, _)| *name == op.op) {
                Some((_, labels)) if labels.contains(&row.label) => {}
                Some((_, labels)) => labels.push(row.label.clone()),
                None => near.push((&op.op, vec![row.label.clone()])),
            }
        }
    }
    let (read, step) = (duration_text(read_ns), duration_text(step_ns));
    let told = |(op, labels): (&str, Vec<String>)| Notice {
        kind: "clock-step".into(),
        text: format!(
            "{op} p50 of {} is at the clock's step: a reading takes {read}, the step is {step}",
            list(&labels)
        ),
        trials: 0,
    };
    near.into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use pickfs_testkit::{FakeRun, fake_run};

    use super::*;
    use crate::findings;

    #[test]
    fn a_median_of_a_few_readings_is_named_and_others_are_not() {
        let mut run = fake_run(&FakeRun::default());
        let told = |run: &RunRecord| -> Vec<String> {
            let notices = findings(run).notices.into_iter();
            notices.filter(|n| n.kind == "clock-step").map(|notice| notice.text).collect()
        };
        assert!(told(&run).is_empty(), "an old run does not say");
        run.environment.put(READ_KEY, 2);
        run.environment.put(STEP_KEY, 1);
        assert!(told(&run).is_empty());
        run.environment.put(STEP_KEY, 200);
        let found = told(&run);
        let first = "append p50 of ext4:noatime, xfs:noatime, btrfs:noatime and tmpfs is at the clock's step: \
                     a reading takes 2.00 ns, the step is 0.20 us";
        assert_eq!(found.first().map(String::as_str), Some(first), "{found:?}");
        assert!(found[1..].iter().all(|text| text.contains(" p50 of tmpfs is ")), "{found:?}");
    }
}
