//! Runs beside each other on the terminal: what changed in the machine, what became of each choice, then the ratios.
//! The words and rows are the page's too.

use pickfs_analysis::compare::{
    CellRatio, Changed, ChoiceStanding, EarlierChoice, RunComparison, RunRatio,
};
use pickfs_record::{
    finding::{Comparison, Spread},
    plan::{Metric, Statistic},
    quantity::significant,
};

use crate::{
    terminal::{
        grid::{Align, Grid},
        paragraph::hanging,
        plain,
    },
    wording::{
        claim_text, claim_word, factors, interval_text, metric_name, metric_value, percent,
        range_text, rate_range_text,
    },
};

const MARGIN: usize = 13;

/// Writes the screen of a comparison.
pub fn comparison_screen(comparison: &RunComparison, columns: usize) -> String {
    let columns = columns.max(60);
    let say = |name: &str, text: &str| hanging(name, &plain(text), MARGIN, columns);
    let mut out = String::new();
    for (number, run) in (1..).zip(&comparison.runs) {
        out.push_str(&say(&format!("run {number}"), run));
    }
    for (number, step) in (1..).zip(&comparison.steps) {
        let is_pair = comparison.steps.len() == 1;
        let mut name =
            if is_pair { "changed".into() } else { format!("{number} -> {}", number + 1) };
        for line in changes(&step.changed) {
            out.push_str(&say(&name, &line));
            name.clear();
        }
        step.warning.iter().for_each(|warning| out.push_str(&say("doubt", warning)));
    }
    comparison.warnings.iter().for_each(|warning| out.push_str(&say("doubt", warning)));
    for choice in &comparison.choices {
        out.push('\n');
        out.push_str(&say(standing_word(choice.standing), &choice_text(choice)));
        for line in grid(&choice_rows(choice), Align::Left).lines().concat() {
            out.push_str(&format!("{:MARGIN$}{line}\n", ""));
        }
    }
    out.push('\n');
    out.push_str(&say("", &result_text(&comparison.cells)));
    if !comparison.cells.is_empty() {
        let mut table = rows(comparison);
        // The name of a row stands above its numbers: beside them they would not fit.
        let names: Vec<_> = table.iter_mut().map(|row| row.remove(0).join(", ")).collect();
        for (name, lines) in names.iter().zip(grid(&table, Align::Right).lines()) {
            out.push_str(&hanging("", &plain(name), 1, columns));
            lines.iter().for_each(|line| out.push_str(&format!("  {line}\n")));
        }
        out.push_str(&say("", &how_to_read(comparison)));
    }
    for (cell, why) in &comparison.uncompared {
        out.push_str(&say("left out", &format!("{cell}: {why}")));
    }
    out
}

/// What changed, a fact a line.
fn changes(changed: &[Changed]) -> Vec<String> {
    let or_absent = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".into());
    let line = |fact: &Changed| {
        format!("{}: {} -> {}", fact.key, or_absent(&fact.here), or_absent(&fact.there))
    };
    match changed {
        [] => vec!["nothing that is recorded".into()],
        changed => changed.iter().map(line).collect(),
    }
}

/// `HOLDS`, `CHANGED`, `CANNOT TELL`.
pub(crate) fn standing_word(standing: ChoiceStanding) -> &'static str {
    match standing {
        ChoiceStanding::Holds => "HOLDS",
        ChoiceStanding::Changed => "CHANGED",
        ChoiceStanding::CannotTell => "CANNOT TELL",
    }
}

/// What became of a choice, as a sentence.
pub(crate) fn choice_text(choice: &EarlierChoice) -> String {
    let place = match choice.panel.as_str() {
        "" => String::new(),
        title => format!("{title}: "),
    };
    format!("{place}{}.", choice.why.trim_end_matches('.'))
}

/// Rows of a table: cells of lines.
pub(crate) type Rows = Vec<Vec<Vec<String>>>;

fn one(text: impl Into<String>) -> Vec<String> {
    vec![text.into()]
}

/// The comparisons of a choice, then and now, each with its interval; nothing where there are none.
pub(crate) fn choice_rows(choice: &EarlierChoice) -> Rows {
    let found = |comparison: &Comparison| {
        let interval = interval_text(comparison).map(|text| format!(" {text}"));
        format!("{}{}", claim_text(comparison), interval.unwrap_or_default())
    };
    let rows = choice.comparisons.iter().map(|twice| {
        let c = &twice.before;
        vec![
            one(format!("{} / {}", c.other, c.reference)),
            one(metric_name(&c.metric)),
            one(found(c)),
            one(twice.now.as_ref().map_or_else(|| "not compared".into(), found)),
        ]
    });
    let head = ["against", "metric", "then", "now"].map(one).to_vec();
    if choice.comparisons.is_empty() {
        Vec::new()
    } else {
        [head].into_iter().chain(rows).collect()
    }
}

/// The ratios with the line of their names: a row a cell and metric.
pub(crate) fn rows(comparison: &RunComparison) -> Rows {
    let count = comparison.runs.len();
    let mut head = vec![one("")];
    head.extend((1..=count).map(|run| one(format!("run {run}"))));
    head.extend((2..=count).map(|run| one(format!("{run} / {}", run - 1))));
    head.extend((count > 2).then(|| one(format!("{count} / 1"))));
    head.push(one("slower in"));
    [head].into_iter().chain(comparison.cells.iter().map(row)).collect()
}

fn row(cell: &CellRatio) -> Vec<Vec<String>> {
    let name = format!("{} {}", cell.labels.join(" -> "), cell.levels);
    let mut row = vec![vec![name.trim().to_owned(), metric_name(&cell.metric)]];
    let value = |value: &Spread| {
        vec![metric_value(&cell.metric, value.median), range(&cell.metric, *value)]
    };
    row.extend(cell.values.iter().map(value));
    let is_chain = cell.steps.len() > 1;
    row.extend(cell.steps.iter().enumerate().map(|(at, step)| {
        let share = cell.shares.as_ref().map(|shares| format!("{} %", percent(shares[at])));
        let share = share.unwrap_or_else(|| "-".into());
        ratio_lines(step).into_iter().chain(is_chain.then_some(share)).collect()
    }));
    row.extend(is_chain.then(|| ratio_lines(&cell.whole)));
    let apart = if cell.apart { "apart" } else { "overlap" };
    let slower = format!("{} of {}", cell.whole.slower, cell.whole.blocks);
    row.push(vec![slower, apart.into()]);
    row
}

fn ratio_lines(ratio: &RunRatio) -> Vec<String> {
    let interval = ratio.interval.map_or_else(|| "-".into(), |(low, high)| factors(low, high));
    vec![significant(ratio.ratio), claim_word(ratio.claim).into(), interval]
}

fn range(metric: &Metric, value: Spread) -> String {
    match metric.statistic {
        Statistic::Rate => rate_range_text(value),
        Statistic::Figure(_) => format!("{}-{}", significant(value.low), significant(value.high)),
        _ => range_text(value),
    }
}

/// How the table is read.
pub(crate) fn how_to_read(comparison: &RunComparison) -> String {
    let shares = match comparison.runs.len() {
        ..=2 => "",
        _ => {
            " Then the share of a step: the logarithm of its ratio over that of the whole. No share where trials of \
             the first and the last run overlap."
        }
    };
    format!(
        "Medians over trials, range below them. A ratio is later / earlier; below it what the blocks say of the later \
         run, and the interval of their ratios.{shares} Last the blocks in which the last run was slower than the first, \
         and whether trials of the two overlap."
    )
}

/// What differs in the results, in a sentence.
pub(crate) fn result_text(cells: &[CellRatio]) -> String {
    let far = |cell: &CellRatio| cell.whole.ratio.ln().abs();
    let apart = cells.iter().filter(|cell| cell.apart);
    let count = apart.clone().count();
    match (cells.len(), apart.max_by(|a, b| far(a).total_cmp(&far(b)))) {
        (0, _) => "No cell was measured in every run.".into(),
        (all, None) => format!("Results: in all {all} rows the ranges of the trials overlap."),
        (all, Some(cell)) => format!(
            "Results: in {count} of {all} rows the ranges of the trials do not overlap; farthest \
             apart is {}, {}: last / first {}.",
            format!("{} {}", cell.labels.join(" -> "), cell.levels).trim(),
            metric_name(&cell.metric),
            significant(cell.whole.ratio)
        ),
    }
}

fn grid(rows: &Rows, align: Align) -> Grid {
    let cell =
        |lines: &Vec<String>| lines.iter().map(|line| plain(line)).collect::<Vec<_>>().join("\n");
    Grid {
        columns: vec![align; rows.first().map_or(0, Vec::len)],
        rows: rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_analysis::{
        compare::{Named, compare},
        findings,
    };
    use pickfs_record::RunRecord;
    use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

    fn run(name: &str, seed: u64, candidates: &[(&str, f64)]) -> RunRecord {
        let of = |(name, us): &(&str, f64)| FakeCandidate::new(name, 500.0, us * 1e3);
        let mut run = fake_run(&FakeRun {
            name: name.into(),
            seed,
            blocks: 10,
            candidates: candidates.iter().map(of).collect(),
            reference: "ext4".into(),
            syncs: vec!["fdatasync".into()],
            ..FakeRun::default()
        });
        run.environment.put("kernel.release", name);
        run
    }

    fn compared(runs: &[RunRecord]) -> RunComparison {
        let all: Vec<_> = runs.iter().map(|run| (run, findings(run))).collect();
        let named = all.iter().map(|(run, findings)| Named { name: &run.name, run, findings });
        compare(&named.collect::<Vec<_>>())
    }

    fn at(screen: &str, words: &str) -> usize {
        screen.find(words).unwrap_or_else(|| panic!("{words}\n{screen}"))
    }

    #[test]
    fn the_machine_comes_first_and_each_choice_shows_both_intervals() {
        let runs = [
            run("6.1", 1, &[("ext4", 200.0), ("xfs", 100.0)]),
            run("7.0", 2, &[("ext4", 200.0), ("xfs", 400.0)]),
        ];
        let screen = comparison_screen(&compared(&runs), 100);
        assert!(at(&screen, "kernel.release: 6.1 -> 7.0") < at(&screen, "CHANGED"));
        assert!(at(&screen, "xfs is behind ext4 now.") < at(&screen, "xfs / ext4"));
        let line = screen.lines().find(|line| line.contains("xfs / ext4")).expect("a row");
        assert!(line.contains("faster [1.") && line.contains("slower [1."), "{screen}");
        assert!(at(&screen, "10 of 10") > at(&screen, "2 / 1"), "{screen}");
    }

    #[test]
    fn what_changed_stands_before_what_came_of_it() {
        let runs = [("6.1", 400.0), ("6.12", 200.0), ("6.18", 100.0)];
        let runs = runs.map(|(name, us)| run(name, name.len() as u64 + us as u64, &[("ext4", us)]));
        let chain = compared(&runs);
        let screen = comparison_screen(&chain, 100);
        assert!(
            at(&screen, "kernel.release: 6.1 -> 6.12")
                < at(&screen, "kernel.release: 6.12 -> 6.18")
        );
        assert!(at(&screen, "kernel.release: 6.12 -> 6.18") < at(&screen, "3 / 1"));
        let shares = chain.cells[0].shares.as_ref().expect("apart");
        assert!(screen.contains(&format!("{} %", percent(shares[0]))), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    }
}
