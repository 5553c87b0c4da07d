use pickfs_analysis::chain::{CellChain, Chain};
use pickfs_model::quantity::significant;

use crate::{
    terminal::{
        grid::{Align, Grid},
        paragraph::hanging,
        plain,
    },
    wording::{metric_name, metric_value, percent, range_text},
};

const MARGIN: usize = 11;

pub fn chain_screen(chain: &Chain, columns: usize) -> String {
    let columns = columns.max(60);
    let mut out = hanging("chain", &plain(&chain.runs.join(" -> ")), MARGIN, columns);
    for (number, step) in chain.steps.iter().enumerate() {
        let comparison = &step.comparison;
        let title = format!("{} -> {}", comparison.here, comparison.there);
        out.push('\n');
        out.push_str(&hanging(&format!("step {}", number + 1), &plain(&title), MARGIN, columns));
        for line in changes(chain, number) {
            out.push_str(&hanging("  changed", &plain(&line), MARGIN, columns));
        }
        for warning in &comparison.warnings[1.min(comparison.warnings.len())..] {
            out.push_str(&hanging("  doubt", &plain(warning), MARGIN, columns));
        }
    }
    out.push('\n');
    out.push_str(&hanging("doubt", UNPAIRED, MARGIN, columns));
    out.push('\n');
    if chain.cells.is_empty() {
        out.push_str(&hanging("", "No cell was measured in every run.", MARGIN, columns));
    } else {
        for line in table(chain).lines().concat() {
            out.push_str(&line);
            out.push('\n');
        }
        out.push('\n');
        out.push_str(&hanging("", HOW_TO_READ, MARGIN, columns));
    }
    for (cell, why) in &chain.uncompared {
        out.push_str(&hanging("left out", &plain(&format!("{cell}: {why}")), MARGIN, columns));
    }
    out
}

pub(crate) const UNPAIRED: &str =
    "the runs share no blocks: a ratio holds the drift between them, and nothing is claimed";

pub(crate) const HOW_TO_READ: &str = "Medians over trials, range below them; a step is later / earlier, with its share of the whole: \
     the logarithm of its ratio over that of the whole. No share where trials of the first and \
     the last run overlap.";

pub(crate) fn changes(chain: &Chain, step: usize) -> Vec<String> {
    let changed = &chain.steps[step].comparison.changed;
    let absent = || "absent".to_string();
    let lines = changed.iter().map(|fact| {
        let (here, there) = (fact.here.clone(), fact.there.clone());
        format!("{}: {} -> {}", fact.key, here.unwrap_or_else(absent), there.unwrap_or_else(absent))
    });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() { vec!["nothing that is recorded".into()] } else { lines }
}

pub(crate) fn step_text(cell: &CellChain, step: usize) -> (String, Option<String>) {
    let share = cell.shares.as_ref().map(|shares| format!("{} %", percent(shares[step])));
    (significant(cell.ratios[step]), share)
}

fn table(chain: &Chain) -> Grid {
    let mut head = vec![String::new()];
    head.extend(chain.runs.iter().map(|run| plain(run)));
    head.extend((1..chain.runs.len()).map(|step| format!("step {step}")));
    head.push("whole".into());
    let columns = head.iter().enumerate();
    let columns = columns.map(|(at, _)| if at == 0 { Align::Left } else { Align::Right }).collect();
    let mut rows = vec![head];
    rows.extend(chain.cells.iter().map(row));
    Grid { columns, rows }
}

fn row(cell: &CellChain) -> Vec<String> {
    let name = format!("{} {}", cell.labels.join(" -> "), cell.levels);
    let mut row = vec![format!("{}\n{}", plain(name.trim()), metric_name(&cell.metric))];
    row.extend(cell.values.iter().map(|value| {
        format!("{}\n{}", metric_value(&cell.metric, value.median), range_text(*value))
    }));
    row.extend((0..cell.ratios.len()).map(|step| {
        let (ratio, share) = step_text(cell, step);
        format!("{ratio}\n{}", share.unwrap_or_else(|| "-".into()))
    }));
    row.push(significant(cell.whole));
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

    #[test]
    fn what_changed_stands_before_what_came_of_it() {
        let run = |name: &str, durable_ns: f64, seed: u64| {
            let mut run = fake_run(&FakeRun {
                name: name.into(),
                seed,
                candidates: vec![FakeCandidate::new("ext4", 500.0, durable_ns)],
                reference: "ext4".into(),
                syncs: vec!["fdatasync".into()],
                ..FakeRun::default()
            });
            run.environment.put("kernel.release", name);
            run
        };
        let runs = [run("6.1", 400e3, 1), run("6.12", 200e3, 2), run("6.18", 100e3, 3)];
        let chain = pickfs_analysis::chain::chain(&runs.each_ref());
        let screen = chain_screen(&chain, 100);
        let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("{words}\n{screen}"));
        assert!(at("kernel.release: 6.1 -> 6.12") < at("kernel.release: 6.12 -> 6.18"));
        assert!(at("kernel.release: 6.12 -> 6.18") < at("step 1  step 2  whole"));
        let shares = chain.cells[0].shares.as_ref().expect("apart");
        assert!(screen.contains(&format!("{} %", percent(shares[0]))), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    }
}
