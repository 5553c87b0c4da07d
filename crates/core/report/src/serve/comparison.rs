//! Runs side by side: what differs in the machines before what differs in the results, then every quantile of each cell.

use pickfs_analysis::compare::{CellRatio, Named, RunComparison, RunStep};
use pickfs_record::{
    CellId, Findings, RunRecord,
    finding::{OpSummary, Panel, QuantileSummary, Row},
    quantity::{duration_text, grouped, significant},
};

use super::{frame, link};
use crate::{
    ChartKind, Look, Subject,
    comparison::{Rows, choice_rows, choice_text, how_to_read, result_text, rows, standing_word},
    html::markup::Page,
    svg::{Setting, svg},
    wording::{op_name, quantile_name, range_text, view_name},
};

/// Quantiles of the table.
const SHOWN: [f64; 7] = [0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

/// The comparison of these runs, which have their names in links.
pub fn comparison_page(comparison: &RunComparison, runs: &[Named<'_>]) -> String {
    let mut page = frame::open("compare");
    let links: Vec<_> = runs.iter().map(|one| (link::run(one.name), one.name)).collect();
    frame::bar(&mut page, &links);
    page.element("h1", &comparison.runs.join(" -> "));
    let keys = comparison.steps.iter().flat_map(|step| &step.changed).map(|fact| &*fact.key);
    page.raw("<div class=\"article\">\n");
    page.element("p", &around_text(&keys.collect::<Vec<_>>()));
    page.element("p", &result_text(&comparison.cells));
    page.raw("</div>\n");
    page.raw("<div class=\"doubt\">");
    page.element("h3", "Before you believe a ratio");
    let warnings = comparison.steps.iter().filter_map(|step| step.warning.as_ref());
    comparison.warnings.iter().chain(warnings).for_each(|text| page.element("p", &sentence(text)));
    page.raw("</div>\n");
    page.section("changed", "What differs in the machines and plans");
    comparison.steps.iter().zip(comparison.runs.windows(2)).for_each(|(step, names)| {
        changed(&mut page, step, names);
    });
    page.raw("</section>\n");
    if !comparison.choices.is_empty() {
        page.section("choices", "What became of the choices");
        for choice in &comparison.choices {
            let word = standing_word(choice.standing);
            page.element("p", &format!("{word}: {}", choice_text(choice)));
            table(&mut page, &choice_rows(choice));
        }
        page.raw("</section>\n");
    }
    page.section("ratios", "What differs in the results");
    if !comparison.cells.is_empty() {
        page.element("p class=\"muted\"", &how_to_read(comparison));
        table(&mut page, &rows(comparison));
    }
    left_out(&mut page, &comparison.uncompared);
    page.raw("</section>\n");
    quantiles(&mut page, comparison, runs);
    frame::close(page, None)
}

const NAMED: usize = 4;

/// `2 recorded facts of machine and plan differ: kernel.release, mount.options.`
fn around_text(keys: &[&str]) -> String {
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

/// Facts with a value on each side.
fn changed(page: &mut Page, step: &RunStep, names: &[String]) {
    if step.changed.is_empty() {
        page.element("p", &format!("{}: nothing that is recorded.", names.join(" -> ")));
        return;
    }
    page.raw(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Facts that differ\">",
    );
    page.raw("<table><thead><tr><th>fact</th>");
    names.iter().for_each(|name| page.element("th class=\"value\"", name));
    page.raw("</tr></thead><tbody>\n");
    for fact in &step.changed {
        page.raw("<tr>");
        page.element("td", &fact.key);
        for value in [&fact.here, &fact.there] {
            page.element("td class=\"value\"", value.as_deref().unwrap_or("absent"));
        }
        page.raw("</tr>\n");
    }
    page.close_table();
}

/// The first row names the columns; of a cell the lines after the first are small.
fn table(page: &mut Page, rows: &Rows) {
    let Some((head, rows)) = rows.split_first() else { return };
    page.open_table(&head.iter().map(|lines| &*lines[0]).collect::<Vec<_>>());
    for row in rows {
        page.raw("<tr>");
        for lines in row {
            page.raw("<td>");
            page.text(&lines[0]);
            lines[1..].iter().for_each(|line| page.element("small", line));
            page.raw("</td>");
        }
        page.raw("</tr>\n");
    }
    page.close_table();
}

/// Cells that could not be compared, with the reason.
fn left_out(page: &mut Page, uncompared: &[(String, String)]) {
    if uncompared.is_empty() {
        return;
    }
    page.element("h3", "Left out");
    page.raw("<dl class=\"facts\">\n");
    uncompared.iter().for_each(|(cell, why)| page.fact(cell, why));
    page.raw("</dl>\n");
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
fn quantiles(page: &mut Page, comparison: &RunComparison, runs: &[Named<'_>]) {
    let mut seen: Vec<&[String]> = Vec::new();
    for cell in &comparison.cells {
        let Some(rows) = found(cell, runs).filter(|_| !seen.contains(&&*cell.cells)) else {
            continue;
        };
        if seen.is_empty() {
            page.section("quantiles", "Every quantile");
        }
        seen.push(&cell.cells);
        page.raw("<details><summary>");
        page.text(format!("{} {}", cell.labels.join(" -> "), cell.levels).trim());
        page.raw("</summary>\n");
        for op in &rows[0].1.ops {
            let same = |other: &&OpSummary| other.op == op.op && other.view == op.view;
            let ops: Option<Vec<_>> =
                rows.iter().map(|(_, row)| row.ops.iter().find(same)).collect();
            ops.iter().for_each(|ops| numbers(page, ops, runs));
        }
        pictures(page, &rows, runs);
        page.raw("</details>\n");
    }
    if !seen.is_empty() {
        page.raw("</section>\n");
    }
}

/// One operation in each run, and the last run over the first.
fn numbers(page: &mut Page, ops: &[&OpSummary], runs: &[Named<'_>]) {
    page.element("h3", &format!("{}, {}", op_name(&ops[0].op), view_name(ops[0].view)));
    let names = runs.iter().map(|one| one.name);
    page.open_table(
        &["share"].into_iter().chain(names).chain(["last / first"]).collect::<Vec<_>>(),
    );
    for q in SHOWN {
        let of_op =
            |op: &&OpSummary| op.quantiles.iter().find(|row| (row.q - q).abs() < 1e-9).cloned();
        let Some(values) = ops.iter().map(of_op).collect::<Option<Vec<QuantileSummary>>>() else {
            continue;
        };
        page.raw("<tr>");
        page.element("td", &quantile_name(q));
        for row in &values {
            page.raw("<td>");
            page.text(&if row.carried { duration_text(row.value_ns.median) } else { "-".into() });
            page.element("small", &if row.carried { range_text(row.value_ns) } else { "".into() });
            page.raw("</td>");
        }
        let ratio = values[values.len() - 1].value_ns.median / values[0].value_ns.median;
        let carried = values.iter().all(|row| row.carried);
        page.element("td", &if carried { significant(ratio) } else { "-".into() });
        page.raw("</tr>\n");
    }
    page.raw("<tr>");
    page.element("td", "largest of n");
    for op in ops {
        let max = duration_text(op.max_ns as f64);
        page.element("td", &format!("{max} of {}", grouped(op.count as i64)));
    }
    page.element("td", "-");
    page.raw("</tr>\n");
    page.close_table();
    page.element("p class=\"muted\"", "- : fewer than ten slow episodes over three trials.");
}

/// The report's own charts, of the runs as the rows of one panel.
fn pictures(page: &mut Page, rows: &[(&Panel, &Row)], runs: &[Named<'_>]) {
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
    page.raw("<div class=\"charts\">\n");
    for kind in [ChartKind::Percentiles, ChartKind::WorstPerSecond, ChartKind::Blocks] {
        for chart in kind.draw(&subject, Look::PAGE, false) {
            page.raw("<figure>");
            page.raw(&svg(&chart.scene, Setting::Page));
            page.raw("</figure>\n");
        }
    }
    page.raw("</div>\n");
}
