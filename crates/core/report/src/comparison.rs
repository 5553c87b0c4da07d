//! Runs beside each other: what changed in the machine, what became of each choice, the ratios, then every quantile.

use std::collections::BTreeSet;

use pickfs_analysis::compare::{
    CellRatio, ChoiceStanding, EarlierChoice, Named, RunComparison, RunRatio,
};
use pickfs_record::{
    CellId, Findings, RunRecord,
    finding::{Claim, Comparison, OpSummary, Panel, QuantileSummary, Row},
    quantity::{duration_text, grouped, significant},
};

use crate::{
    ChartKind, Look, Subject,
    document::{Cell, Column, Document, Fold, Kind, Node, Role, Table, facts, list},
    fleet::fleet_nodes,
    ranking::quantile,
    wording::{
        claim_text, claim_word, factors, interval_text, metric_name, op_name, percent,
        quantile_name, range_text, value_range, value_text, view_name,
    },
};

/// Quantiles of the last tables.
const SHOWN: [f64; 7] = [0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];
/// Changed facts that the first sentence names.
const NAMED: usize = 4;

pub fn comparison_document(comparison: &RunComparison, runs: &[Named<'_>]) -> Document {
    let mut nodes = comparison.fleet.as_ref().map(fleet_nodes).unwrap_or_default();
    if comparison.fleet.is_some() && comparison.runs.len() > 2 {
        // Of many hosts none is the one before another.
        nodes.extend(doubts(&comparison.warnings));
        return Document { title: format!("{} runs of a fleet", comparison.runs.len()), nodes };
    }
    let named = (1..).zip(&comparison.runs).map(|(number, run)| (format!("run {number}"), run));
    nodes.push(facts(named));
    let said = [around_text(comparison), result_text(&comparison.cells)];
    nodes.push(Node::Box("article", said.map(|text| Node::Paragraph(text.into())).into()));
    let warnings = comparison.steps.iter().filter_map(|step| step.warning.as_ref());
    nodes.extend(doubts(comparison.warnings.iter().chain(warnings)));
    let changed = "What differs in the machines and plans".into();
    nodes.push(Node::Section("changed", changed, changes(comparison)));
    if !comparison.choices.is_empty() {
        let choices = comparison.choices.iter().flat_map(choice).collect();
        nodes.push(Node::Section("choices", "What became of the choices".into(), choices));
    }
    let mut ratios = Vec::new();
    if !comparison.cells.is_empty() {
        ratios.push(Node::Note(how_to_read(comparison).into()));
        ratios.push(Node::Table(ratio_table(comparison)));
    }
    if !comparison.uncompared.is_empty() {
        ratios.push(Node::Heading(3, "Left out".into()));
        ratios.push(facts(comparison.uncompared.iter().map(|(cell, why)| (cell, why.as_str()))));
    }
    nodes.push(Node::Section("ratios", "What differs in the results".into(), ratios));
    let every = every_quantile(comparison, runs);
    let is_any = !every.is_empty();
    nodes.extend(is_any.then(|| Node::Section("quantiles", "Every quantile".into(), every)));
    Document { title: comparison.runs.join(" -> "), nodes }
}

fn doubts<'w>(warnings: impl IntoIterator<Item = &'w String>) -> Option<Node> {
    let warnings: Vec<_> = warnings.into_iter().map(|warning| sentence(warning)).collect();
    let heading = Node::Heading(3, "Before you believe a ratio".into());
    (!warnings.is_empty()).then(|| Node::Box("doubt", vec![heading, list(warnings)]))
}

/// `2 recorded facts of machine and plan differ: kernel.release, mount.options.`
fn around_text(comparison: &RunComparison) -> String {
    let facts = comparison.steps.iter().flat_map(|step| &step.changed);
    let mut keys: Vec<_> = facts.map(|fact| fact.key.as_str()).collect();
    let mut seen = BTreeSet::new();
    keys.retain(|key| seen.insert(*key));
    let (count, named) = (keys.len(), keys[..keys.len().min(NAMED)].join(", "));
    let more = match count.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match count {
        0 => "Nothing that is recorded of machine and plan differs.".into(),
        1 => format!("1 recorded fact of machine and plan differs: {named}."),
        _ => format!("{count} recorded facts of machine and plan differ: {named}{more}."),
    }
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    let end = if words.ends_with('.') { "" } else { "." };
    first.into_iter().chain(letters).chain(end.chars()).collect()
}

/// What changed from each run to the next, a fact a line.
fn changes(comparison: &RunComparison) -> Vec<Node> {
    let or_absent = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".into());
    let step = |(step, names): (&pickfs_analysis::compare::RunStep, &[String])| {
        let rows = step.changed.iter().map(|fact| {
            (&fact.key, format!("{} -> {}", or_absent(&fact.here), or_absent(&fact.there)))
        });
        let rows = match step.changed.is_empty() {
            true => Node::Paragraph("Nothing that is recorded.".into()),
            false => facts(rows),
        };
        [Node::Heading(3, names.join(" -> ").into()), rows]
    };
    comparison.steps.iter().zip(comparison.runs.windows(2)).flat_map(step).collect()
}

/// What became of a choice, and its comparisons, then and now, each with its interval.
fn choice(choice: &EarlierChoice) -> Vec<Node> {
    let place = match choice.panel.as_str() {
        "" => String::new(),
        title => format!("{title}: "),
    };
    let (word, role) = match choice.standing {
        ChoiceStanding::Holds => ("HOLDS", Role::Winner),
        ChoiceStanding::Changed => ("CHANGED", Role::Opposite),
        ChoiceStanding::CannotTell => ("CANNOT TELL", Role::NoAnswer),
    };
    let text = format!("{place}{}.", choice.why.trim_end_matches('.'));
    let mut nodes = vec![facts([(word, role.of(text))])];
    let found = |comparison: &Comparison| {
        Cell::from(claim_text(comparison)).under(interval_text(comparison))
    };
    let mut table = Table::new(["against", "metric", "then", "now"].map(|head| (head, Kind::Word)));
    for twice in &choice.comparisons {
        let before = &twice.before;
        table.row([
            format!("{} / {}", before.other, before.reference).into(),
            metric_name(&before.metric).into(),
            found(before),
            twice.now.as_ref().map_or_else(|| "not compared".into(), found),
        ]);
    }
    nodes.extend((!table.rows.is_empty()).then_some(Node::Table(table)));
    nodes
}

/// A row a cell and metric: its value in each run, each run over the one before it, the last over the first.
fn ratio_table(comparison: &RunComparison) -> Table {
    let count = comparison.runs.len();
    let of =
        |part: usize, head: String| Column { part: Some(part), ..Column::new(head, Kind::Number) };
    let mut table = Table::new([("", Kind::Word)]);
    table.columns.extend((1..=count).map(|run| of(run, format!("run {run}"))));
    table.columns.extend((2..=count).map(|run| of(run, format!("{run} / {}", run - 1))));
    table.columns.extend((count > 2).then(|| of(count, format!("{count} / 1"))));
    table.columns.push(of(count, "slower in".into()));
    comparison.cells.iter().for_each(|cell| table.row(ratio_row(cell)));
    Table { has_ranges: true, ..table }
}

fn ratio_row(cell: &CellRatio) -> Vec<Cell> {
    let mut row = vec![Cell::from(format!("{}\n{}", name(cell), metric_name(&cell.metric)))];
    row.extend(cell.values.iter().map(|value| {
        let text = value_text(None, &cell.metric, value.median);
        Cell::from(text).range(value_range(None, &cell.metric, *value))
    }));
    let is_chain = cell.steps.len() > 1;
    let said = |ratio: &RunRatio, share: Option<String>| {
        let interval = ratio.interval.map_or_else(|| "-".into(), |(low, high)| factors(low, high));
        let value = ratio.ratio.map_or_else(|| "-".into(), significant);
        let word = match ratio.claim {
            Claim::Open => "undecided",
            other => claim_word(other),
        };
        let lines = [value, word.into(), interval];
        Cell::from(lines.into_iter().chain(share).collect::<Vec<_>>().join("\n"))
    };
    row.extend(cell.steps.iter().enumerate().map(|(at, step)| {
        let share = cell.shares.as_ref().map(|shares| format!("{} %", percent(shares[at])));
        said(step, is_chain.then(|| share.unwrap_or_else(|| "-".into())))
    }));
    row.extend(is_chain.then(|| said(&cell.whole, None)));
    row.push(format!("{} of {}", cell.whole.slower, cell.whole.blocks).into());
    row
}

fn name(cell: &CellRatio) -> String {
    format!("{} {}", cell.labels.join(" -> "), cell.levels).trim().to_owned()
}

/// How the table is read.
fn how_to_read(comparison: &RunComparison) -> String {
    let shares = match comparison.runs.len() {
        ..=2 => "",
        _ => {
            " Then the share of a step: the logarithm of its ratio over the sum of those of all steps. No share where the \
             last run is not told apart from the first."
        }
    };
    format!(
        "Medians over trials, range below them. A ratio is later / earlier, the median over blocks; below it what the \
         blocks say of the later run, and the interval of that median.{shares} Last the blocks in which the last run was \
         slower than the first."
    )
}

/// What differs in the results, as the blocks claim it, and what withholds a claim.
fn result_text(cells: &[CellRatio]) -> String {
    let far = |cell: &CellRatio| cell.whole.ratio.map_or(f64::INFINITY, |ratio| ratio.ln().abs());
    let told = cells.iter().filter(|cell| cell.whole.is_told_apart());
    let count = told.clone().count();
    let all = cells.len();
    let text = match (all, told.max_by(|a, b| far(a).total_cmp(&far(b)))) {
        (0, _) => "No cell was measured in every run.".into(),
        (_, None) => {
            format!("Results: between the first run and the last none of {all} rows changed.")
        }
        (_, Some(cell)) => {
            let ratio = cell.whole.ratio.map_or_else(|| "-".into(), significant);
            format!(
                "Results: between the first run and the last {count} of {all} rows changed; most of all {}, {}: \
                 last / first {ratio}.",
                name(cell),
                metric_name(&cell.metric)
            )
        }
    };
    let withheld: Vec<&String> = cells.iter().filter_map(|cell| cell.withheld.as_ref()).collect();
    let count = withheld.len();
    withheld.first().map_or(text.clone(), |first| {
        format!("{text} A verdict is withheld in {count} of {all} rows. In the first, {first}.")
    })
}

/// The rows of a cell in each run.
fn found<'a>(cell: &CellRatio, runs: &[Named<'a>]) -> Option<Vec<(&'a Panel, &'a Row)>> {
    let of_run = |(one, id): (&Named<'a>, &String)| {
        let panels = one.findings.panels.iter();
        let mut rows = panels.flat_map(|panel| panel.rows.iter().map(move |row| (panel, row)));
        rows.find(|(_, row)| row.cell.0 == *id)
    };
    runs.iter().zip(&cell.cells).map(of_run).collect()
}

/// Each cell once, folded: all its quantiles in each run, and the curves of the runs in one picture.
fn every_quantile(comparison: &RunComparison, runs: &[Named<'_>]) -> Vec<Node> {
    let mut seen: Vec<&[String]> = Vec::new();
    let mut nodes = Vec::new();
    for cell in &comparison.cells {
        let Some(rows) = found(cell, runs).filter(|_| !seen.contains(&&*cell.cells)) else {
            continue;
        };
        seen.push(&cell.cells);
        let mut inside = Vec::new();
        for op in &rows[0].1.ops {
            let same = |other: &&OpSummary| other.op == op.op && other.view == op.view;
            let ops = rows.iter().map(|(_, row)| row.ops.iter().find(same));
            let ops: Option<Vec<_>> = ops.collect();
            inside.extend(ops.into_iter().flat_map(|ops| numbers(&ops, runs)));
        }
        inside.push(pictures(&rows, runs));
        nodes.push(Node::Fold(Fold::closed(name(cell), inside)));
    }
    nodes
}

/// One operation in each run, and the last run over the first.
fn numbers(ops: &[&OpSummary], runs: &[Named<'_>]) -> [Node; 2] {
    let heading = format!("{}, {}", op_name(&ops[0].op), view_name(ops[0].view));
    let heads =
        ["share"].into_iter().chain(runs.iter().map(|one| one.name)).chain(["last / first"]);
    let columns = heads.map(|head| Column::new(head, Kind::Number)).collect();
    let mut table = Table { columns, has_ranges: true, ..Table::default() };
    for q in SHOWN {
        let values =
            ops.iter().map(|op| quantile(op, q)).collect::<Option<Vec<&QuantileSummary>>>();
        let Some(values) = values else { continue };
        let value = |row: &&QuantileSummary| match row.carried {
            true => Cell::from(duration_text(row.value_ns.median)).range(range_text(row.value_ns)),
            false => "-".into(),
        };
        let ratio = values[values.len() - 1].value_ns.median / values[0].value_ns.median;
        let carried = values.iter().all(|row| row.carried);
        let last = if carried { significant(ratio) } else { "-".into() };
        let cells = [Cell::from(quantile_name(q))].into_iter().chain(values.iter().map(value));
        table.row(cells.chain([last.into()]));
    }
    let largest = ops
        .iter()
        .map(|op| format!("{} of {}", duration_text(op.max_ns as f64), grouped(op.count as i64)));
    table.row(["largest of n".into()].into_iter().chain(largest).chain(["-".into()]));
    table.notes.push("- : fewer than ten slow episodes over three trials.".into());
    [Node::Heading(3, heading.into()), Node::Table(table)]
}

/// The report's own charts, of the runs as the rows of one panel.
fn pictures(rows: &[(&Panel, &Row)], runs: &[Named<'_>]) -> Node {
    let mut joined = RunRecord { trials: Vec::new(), ..runs[0].run.clone() };
    let mut drawn = Vec::new();
    for ((number, one), (_, row)) in (1..).zip(runs).zip(rows) {
        let cell = CellId(format!("run {number}"));
        let own = one.run.trials.iter().filter(|trial| trial.cell == row.cell).cloned();
        joined.trials.extend(own.map(|mut trial| {
            trial.cell = cell.clone();
            trial
        }));
        drawn.push(Row { cell, label: one.name.to_owned(), ..(*row).clone() });
    }
    let reference = drawn[0].label.clone();
    let (comparisons, phases, title) = (Vec::new(), Vec::new(), String::new());
    let panel = Panel { rows: drawn, reference, comparisons, phases, title, ..rows[0].0.clone() };
    let findings = Findings { panels: vec![panel], ..Findings::default() };
    let subject = Subject::new(&joined, &findings);
    let kinds = [ChartKind::Trials, ChartKind::Percentiles, ChartKind::WorstPerSecond];
    let drawn = kinds.into_iter().flat_map(|kind| kind.draw(&subject, Look::PAGE));
    let nodes = drawn.map(|chart| Node::Chart(String::new(), Box::new(chart.scene)));
    Node::Box("charts", nodes.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::terminal::terminal;
    use pickfs_analysis::{compare::compare, findings};
    use pickfs_record::record::Disturbance;
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

    fn screen(runs: &[RunRecord]) -> (RunComparison, String) {
        let all: Vec<_> = runs.iter().map(|run| (run, findings(run))).collect();
        let named = all.iter().map(|(run, findings)| Named { name: &run.name, run, findings });
        let named: Vec<_> = named.collect();
        let compared = compare(&named);
        let text = terminal(&comparison_document(&compared, &named), 100, false);
        (compared, text)
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
        let (_, screen) = screen(&runs);
        assert!(at(&screen, "kernel.release  6.1 -> 7.0") < at(&screen, "CHANGED"));
        assert!(at(&screen, "xfs is behind ext4 now.") < at(&screen, "xfs / ext4"));
        let (_, row) = screen.split_once("xfs / ext4").expect("a row");
        let row = row.lines().take(2).collect::<String>();
        assert!(at(&row, "x faster ") < at(&row, "x slower"), "{screen}");
        assert!(row.matches("[1.").count() == 2, "{screen}");
        assert!(at(&screen, "10 of 10") > at(&screen, "2 / 1"), "{screen}");
    }

    /// The headline is what the blocks claim, and says what withholds a claim.
    #[test]
    fn the_first_sentence_is_the_claim() {
        let [old, new] =
            [("6.1", 400.0), ("6.12", 500.0)].map(|(name, us)| run(name, 1, &[("ext4", us)]));
        let told = "between the first run and the last 1 of 1 rows changed; most of all ext4";
        let (compared, text) = screen(&[old.clone(), new.clone()]);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&text).contains(told), "{text}");
        let ratio = significant(compared.cells[0].whole.ratio.expect("ten blocks"));
        assert!(words(&text).contains(&format!("last / first {ratio}.")), "{text}");
        let mut busy = new;
        let taken = Disturbance { foreign_user_share: 0.9, ..Disturbance::default() };
        busy.trials.iter_mut().for_each(|trial| trial.disturbance = Some(taken.clone()));
        let text = words(&screen(&[old, busy]).1);
        assert!(
            text.contains("between the first run and the last none of 1 rows changed."),
            "{text}"
        );
        let why = "In the first, other programs took the CPU in 10 of 10 blocks of 6.1 and 6.12.";
        assert!(text.contains(why), "{text}");
    }

    #[test]
    fn what_changed_stands_before_what_came_of_it() {
        let runs = [("6.1", 400.0), ("6.12", 200.0), ("6.18", 100.0)];
        let runs = runs.map(|(name, us)| run(name, name.len() as u64 + us as u64, &[("ext4", us)]));
        let (chain, screen) = screen(&runs);
        let places = ["kernel.release  6.1 -> 6.12", "kernel.release  6.12 -> 6.18", "3 / 1"];
        assert!(places.map(|words| at(&screen, words)).is_sorted(), "{screen}");
        let shares = chain.cells[0].shares.as_ref().expect("apart");
        assert!(screen.contains(&format!("{} %", percent(shares[0]))), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    }
}
