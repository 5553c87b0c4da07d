use pickfs_analysis::chain::{CellChain, Chain};
use pickfs_model::quantity::significant;

use super::{
    comparison::{doubts, facts, left_out},
    frame, link,
};
use crate::{
    chain::{HOW_TO_READ, UNPAIRED, step_text},
    html::markup::Page,
    wording::{metric_name, metric_value, range_text},
};

pub fn chain_page(chain: &Chain, names: &[&str]) -> String {
    let mut page = frame::open("chain");
    let links: Vec<_> = names.iter().map(|name| (link::run(name), *name)).collect();
    frame::bar(&mut page, &links);
    page.element("h1", &names.join(" -> "));
    doubts(&mut page, &[UNPAIRED.to_string()]);
    for (number, step) in chain.steps.iter().enumerate() {
        let pair = [names[number], names[number + 1]];
        page.section(&format!("step-{}", number + 1), &format!("Step {}", number + 1));
        let changed = &step.comparison.changed;
        if changed.is_empty() {
            page.element("p", "Nothing that is recorded changed.");
        } else {
            let rows = changed.iter();
            let rows: Vec<_> =
                rows.map(|c| (&*c.key, c.here.as_deref(), c.there.as_deref())).collect();
            facts(&mut page, pair, &rows);
        }
        doubts(&mut page, &step.comparison.warnings[1.min(step.comparison.warnings.len())..]);
        page.raw("</section>\n");
    }
    page.section("shares", "What came of it");
    table(&mut page, chain, names);
    left_out(&mut page, &chain.uncompared);
    page.raw("</section>\n");
    frame::close(page, None)
}

fn table(page: &mut Page, chain: &Chain, names: &[&str]) {
    if chain.cells.is_empty() {
        page.element("p", "No cell was measured in every run.");
        return;
    }
    page.element("p class=\"muted\"", HOW_TO_READ);
    let steps: Vec<_> = (1..names.len()).map(|step| format!("step {step}")).collect();
    let steps = steps.iter().map(String::as_str);
    let head: Vec<&str> =
        ["cell"].into_iter().chain(names.iter().copied()).chain(steps).chain(["whole"]).collect();
    page.open_table(&head);
    chain.cells.iter().for_each(|cell| row(page, cell));
    page.close_table();
}

fn row(page: &mut Page, cell: &CellChain) {
    page.raw("<tr>");
    let name = format!("{} {}", cell.labels.join(" -> "), cell.levels);
    two(page, name.trim(), Some(metric_name(&cell.metric)));
    for value in &cell.values {
        two(page, &metric_value(&cell.metric, value.median), Some(range_text(*value)));
    }
    for step in 0..cell.ratios.len() {
        let (ratio, share) = step_text(cell, step);
        two(page, &ratio, share);
    }
    two(page, &significant(cell.whole), None);
    page.raw("</tr>\n");
}

fn two(page: &mut Page, words: &str, below: Option<String>) {
    page.raw("<td>");
    page.text(words);
    if let Some(below) = below {
        page.element("small", &below);
    }
    page.raw("</td>");
}
