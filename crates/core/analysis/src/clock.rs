//! The clock's own share of a figure: a call that takes a few of its readings or steps is at its limit.

use std::collections::BTreeMap;

use pickfs_record::{
    RunRecord,
    finding::{Notice, Panel},
    plan::View,
    quantity::duration_text,
};

use crate::wording::{list, quantile_name};

pub const READ_KEY: &str = "clock.read_at_start_ns";
pub const STEP_KEY: &str = "clock.step_at_start_ns";
/// Readings or steps under which a quantile is named: the clock is over a tenth of it.
const FEW: f64 = 10.0;

pub fn notices(run: &RunRecord, panels: &[Panel]) -> Vec<Notice> {
    let number = |key| run.environment.get(key)?.parse::<f64>().ok();
    let Some((read_ns, step_ns)) = number(READ_KEY).zip(number(STEP_KEY)) else { return vec![] };
    let is_near = |ns: f64| ns <= FEW * read_ns.max(step_ns);
    // The highest quantile that is near, by operation and row. A response is no shorter: what is named holds for both.
    let mut near: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
    for row in panels.iter().flat_map(|panel| &panel.rows) {
        for op in row.ops.iter().filter(|op| op.view == View::Service) {
            let from_median = op.quantiles.iter().filter(|quantile| quantile.q >= 0.5);
            let few = from_median.take_while(|quantile| is_near(quantile.value_ns.median));
            let Some(highest) = few.last() else { continue };
            let rows = near.entry(&op.op).or_default();
            match rows.iter_mut().find(|(label, _)| *label == row.label) {
                Some((_, q)) => *q = q.max(highest.q),
                None => rows.push((&row.label, highest.q)),
            }
        }
    }
    let (read, step) = (duration_text(read_ns), duration_text(step_ns));
    let told = |(op, rows): (&str, Vec<(&str, f64)>)| {
        let up_to = |(label, q): &(&str, f64)| format!("{label} up to {}", quantile_name(*q));
        let rows: Vec<String> = rows.iter().map(up_to).collect();
        let rows = list(&rows);
        Notice {
            kind: "clock-step".into(),
            text: format!(
                "{op} is near the clock's step ({rows}): a reading takes {read}, the step is {step}"
            ),
            trials: 0,
        }
    };
    near.into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use pickfs_testkit::{FakeRun, fake_run};

    use super::*;
    use crate::findings;

    #[test]
    fn quantiles_of_a_few_readings_are_named_and_others_are_not() {
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
        let first = "append is near the clock's step (ext4:noatime up to p99.995, xfs:noatime up to p99.98, \
                     btrfs:noatime up to p75 and tmpfs up to p99.999): a reading takes 2.00 ns, the step is 0.20 us";
        assert_eq!(found.first().map(String::as_str), Some(first), "{found:?}");
        assert!(found[1..].iter().all(|text| text.contains("(tmpfs up to ")), "{found:?}");
    }
}
