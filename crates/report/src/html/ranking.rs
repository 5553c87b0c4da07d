//! The ranking: one table per panel, intervals beside every claim.

use pickfs_model::{
    finding::{Panel, Row},
    plan::Metric,
    quantity::grouped,
};

use super::markup::Page;
use crate::{
    Subject,
    conditions::rate_text,
    ranking::{self, SHOWN},
    subject::{is_floor, summary},
    wording::{metric_name, op_name, quantile_name, range_text, view_meaning, view_name},
};

/// All panels.
pub fn write(page: &mut Page, subject: &Subject) {
    page.section("ranking", "Ranking");
    for panel in &subject.findings.panels {
        table(page, subject, panel);
    }
    noise(page, subject);
    page.raw("</section>\n");
}

fn table(page: &mut Page, subject: &Subject, panel: &Panel) {
    let metric = subject.headline(panel);
    let metrics = ranking::compared(subject, panel);
    let title = if panel.title.is_empty() { "All cells" } else { &panel.title };
    page.element("h3", &format!("{title}: {}", panel.durability));
    page.element(
        "p class=\"muted\"",
        &format!(
            "{}, {}. {} Median over trials, range below it.",
            op_name(&metric.op),
            view_name(metric.view),
            view_meaning(metric.view)
        ),
    );
    let quantiles = SHOWN.map(quantile_name);
    let against: Vec<_> = metrics
        .iter()
        .map(|m| format!("against {}, {}", panel.reference, metric_name(m)))
        .collect();
    let mut header = vec!["candidate"];
    header.extend(quantiles.iter().map(String::as_str));
    header.push("largest of n");
    header.extend(against.iter().map(String::as_str));
    header.extend(["rate held", "trials", "notes"]);
    page.open_table(&header);
    for row in ranking::ranked(subject, panel) {
        write_row(page, subject, panel, (row, &metric, &metrics));
    }
    page.close_table();
    if ranking::is_any_uncarried(panel, &metric, &SHOWN) {
        let text = "- : fewer than ten slow episodes over three trials; the value is not shown.";
        page.element("p class=\"muted\"", text);
    }
}

fn write_row(
    page: &mut Page,
    subject: &Subject,
    panel: &Panel,
    (row, metric, metrics): (&Row, &Metric, &[Metric]),
) {
    let op = summary(row, metric);
    page.raw(if is_floor(row) { "<tr class=\"floor\">" } else { "<tr>" });
    page.raw(&format!(
        "<td><span class=\"swatch\" style=\"background:var(--{})\"></span>",
        subject.slot(&row.label).class()
    ));
    page.raw(&format!("<a href=\"#cell-{}\">", crate::svg::escape(&row.cell.0)));
    page.text(&ranking::label(row));
    page.raw("</a></td>");
    for q in SHOWN {
        let range = op.and_then(|op| ranking::quantile(op, q)).filter(|row| row.carried);
        let range = range.filter(|_| row.trials > 1).map(|row| range_text(row.value_ns));
        cell(page, &ranking::quantile_text(op, q), range.as_deref());
    }
    match op {
        Some(op) => {
            let of = format!("of {}", grouped(op.count as i64));
            let largest = pickfs_model::quantity::duration_text(op.max_ns as f64);
            cell(page, &largest, Some(&of));
        }
        None => cell(page, "-", None),
    }
    for metric in metrics {
        let (words, interval) = ranking::verdict_cell(panel, row, metric);
        let level = ranking::comparison(panel, row, metric).map_or(0.95, |c| c.level);
        let interval = interval.map(|i| format!("{i} at {:.0} %", level * 100.0));
        cell(page, &words, interval.as_deref());
    }
    cell(page, &rate_text(row), None);
    cell(page, &row.trials.to_string(), None);
    page.element("td class=\"text\"", &ranking::notes(panel, row).join("; "));
    page.raw("</tr>\n");
}

fn cell(page: &mut Page, words: &str, below: Option<&str>) {
    page.raw("<td>");
    page.text(words);
    if let Some(below) = below {
        page.element("small", below);
    }
    page.raw("</td>");
}

fn noise(page: &mut Page, subject: &Subject) {
    if subject.findings.noise.is_empty() {
        return;
    }
    page.element("h3", "The raw device under all of them");
    page.open_table(&["backing", "write + flush p50", "p99", "half spread", "probes"]);
    for row in &subject.findings.noise {
        page.raw("<tr>");
        cell(page, &row.backing.to_string(), None);
        for value in [row.p50_ns, row.p99_ns] {
            let median = pickfs_model::quantity::duration_text(value.median);
            cell(page, &median, Some(&range_text(value)));
        }
        cell(page, &format!("+-{} %", crate::wording::percent(row.half_width)), None);
        cell(page, &row.probes.to_string(), None);
        page.raw("</tr>\n");
    }
    page.close_table();
}
