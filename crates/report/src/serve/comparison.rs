use pickfs_analysis::compare::{CellRatio, RunComparison};
use pickfs_model::quantity::significant;

use super::{frame, link};
use crate::{
    html::markup::Page,
    wording::{metric_name, metric_value, range_text},
};

pub fn comparison_page(comparison: &RunComparison, names: [&str; 2]) -> String {
    let mut page = frame::open("compare");
    let links = [
        (link::run(names[0]), names[0]),
        (link::run(names[1]), names[1]),
        (link::cells(names[0], names[1]), "Two cells side by side"),
    ];
    frame::bar(&mut page, &links);
    page.element("h1", &format!("{} against {}", names[1], names[0]));
    summary(&mut page, comparison);
    doubts(&mut page, &comparison.warnings);
    changed(&mut page, comparison, names);
    page.section("ratios", "What differs in the results");
    ratios(&mut page, &comparison.cells, names);
    left_out(&mut page, &comparison.uncompared);
    page.raw("</section>\n");
    frame::close(page, None)
}

fn summary(page: &mut Page, comparison: &RunComparison) {
    let keys: Vec<&str> = comparison.changed.iter().map(|change| change.key.as_str()).collect();
    page.raw("<div class=\"article\">\n");
    page.element("p", &around_text(&keys));
    page.element("p", &result_text(&comparison.cells));
    page.raw("</div>\n");
}

const NAMED: usize = 4;

pub(super) fn around_text(keys: &[&str]) -> String {
    if keys.is_empty() {
        return "Nothing that is recorded of machine and plan differs.".into();
    }
    let (count, named) = (keys.len(), keys[..keys.len().min(NAMED)].join(", "));
    let verb = if count == 1 { "fact" } else { "facts" };
    let differ = if count == 1 { "differs" } else { "differ" };
    let more = match count.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{count} recorded {verb} of machine and plan {differ}: {named}{more}.")
}

fn result_text(cells: &[CellRatio]) -> String {
    let farthest =
        |a: &&CellRatio, b: &&CellRatio| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs());
    let apart = cells.iter().filter(|cell| cell.apart);
    let count = apart.clone().count();
    match (cells.len(), apart.max_by(farthest)) {
        (0, _) => "No cell was measured in both runs.".into(),
        (all, None) => format!("Results: in all {all} rows the ranges of the trials overlap."),
        (all, Some(cell)) => format!(
            "Results: in {count} of {all} rows the ranges of the trials do not overlap; farthest \
             apart is {}, {}: second / first {}.",
            format!("{} {}", cell.label, cell.levels).trim(),
            metric_name(&cell.metric),
            significant(cell.ratio)
        ),
    }
}

pub(super) fn doubts(page: &mut Page, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    page.raw("<div class=\"doubt\">");
    page.element("h3", "Before you believe a ratio");
    warnings.iter().for_each(|warning| page.element("p", &sentence(warning)));
    page.raw("</div>\n");
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    let end = if words.ends_with('.') { "" } else { "." };
    first.into_iter().chain(letters).chain(end.chars()).collect()
}

fn changed(page: &mut Page, comparison: &RunComparison, names: [&str; 2]) {
    page.section("changed", "What differs in the machines and plans");
    if comparison.changed.is_empty() {
        page.element("p", "Nothing that is recorded.");
    } else {
        let rows = comparison.changed.iter();
        let rows: Vec<_> = rows.map(|c| (&*c.key, c.here.as_deref(), c.there.as_deref())).collect();
        facts(page, names, &rows);
    }
    page.raw("</section>\n");
}

pub(super) fn facts(
    page: &mut Page,
    names: [&str; 2],
    rows: &[(&str, Option<&str>, Option<&str>)],
) {
    page.raw(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Facts that differ\">",
    );
    page.raw("<table><thead><tr><th>fact</th>");
    names.iter().for_each(|name| page.element("th class=\"value\"", name));
    page.raw("</tr></thead><tbody>\n");
    for (key, here, there) in rows {
        page.raw("<tr>");
        page.element("td", key);
        for value in [here, there] {
            page.element("td class=\"value\"", value.unwrap_or("absent"));
        }
        page.raw("</tr>\n");
    }
    page.close_table();
}

fn ratios(page: &mut Page, cells: &[CellRatio], names: [&str; 2]) {
    if cells.is_empty() {
        page.element("p", "No cell was measured in both runs.");
        return;
    }
    let text = "Median over trials, range below it. The runs share no block: a ratio is not a \
                finding, and no interval belongs to it.";
    page.element("p class=\"muted\"", text);
    page.open_table(&["cell", names[0], names[1], "second / first", "trials"]);
    for cell in cells {
        page.raw("<tr>");
        page.raw("<td>");
        let label = match &cell.label_there {
            Some(there) => format!("{} -> {there}", cell.label),
            None => cell.label.clone(),
        };
        page.text(format!("{label} {}", cell.levels).trim());
        page.element("small", &metric_name(&cell.metric));
        page.raw("</td>");
        for side in [cell.here, cell.there] {
            page.raw("<td>");
            page.text(&metric_value(&cell.metric, side.median));
            page.element("small", &range_text(side));
            page.raw("</td>");
        }
        page.element("td", &significant(cell.ratio));
        page.element("td", if cell.apart { "none overlaps" } else { "overlap" });
        page.raw("</tr>\n");
    }
    page.close_table();
}

pub(super) fn left_out(page: &mut Page, uncompared: &[(String, String)]) {
    if uncompared.is_empty() {
        return;
    }
    page.element("h3", "Left out");
    page.raw("<dl class=\"facts\">\n");
    uncompared.iter().for_each(|(cell, why)| page.fact(cell, why));
    page.raw("</dl>\n");
}
