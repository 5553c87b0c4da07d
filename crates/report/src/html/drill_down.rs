use std::collections::BTreeMap;

use pickfs_model::{
    Durability, TrialRecord,
    finding::{OpSummary, Panel, Row},
    plan::{Metric, View},
    quantity::{duration_text, grouped, significant},
    record::Spike,
};

use super::markup::Page;
use crate::{
    Subject,
    chart::trial_lines,
    document, notes,
    phases::{self, is_phased},
    stalls,
    subject::trial_value,
    svg::{Setting, escape, svg},
    wording::{
        metric_name, metric_value, op_name, outcome_text, quantile_name, range_text, view_name,
    },
};

const SPIKES_MAX: usize = 8;

pub fn write(page: &mut Page, subject: &Subject) {
    page.section("cells", "Every cell");
    for panel in &subject.findings.panels {
        if !panel.title.is_empty() {
            page.element("h3", &panel.title);
        }
        for row in &panel.rows {
            cell(page, subject, panel, row);
        }
    }
    page.raw("</section>\n");
}

fn cell(page: &mut Page, subject: &Subject, panel: &Panel, row: &Row) {
    let metric = subject.headline(panel);
    page.raw(&format!("<details id=\"cell-{}\">", escape(&row.cell.0)));
    let value = phases::details::headline(panel, row, &metric);
    let own = || Some(metric_value(&metric, subject.value(row, &metric)?.median));
    let value = value.or_else(own).unwrap_or_else(|| "no value".into());
    page.element("summary", &format!("{}: {} {value}", row.label, metric_name(&metric)));
    let survives = match row.durability {
        Durability::Unknown => String::new(),
        known => format!("{known}, "),
    };
    page.element("p class=\"muted\"", &format!("{survives}on {}.", row.backing));
    for note in notes::all_words(row) {
        page.element("p", &note);
    }
    match is_phased(panel) {
        true => document::html::write(page, &phases::details::nodes(subject, panel, row)),
        false => loop_figures(page, subject, row, &metric),
    }
    document::html::write(page, &stalls::ledger::slowest(subject, &row.cell));
    trials(page, subject, row, &metric);
    spikes(page, subject, row);
    page.raw("<div class=\"pair\">");
    steps(page, subject.trials(&row.cell));
    environment(page, subject.trials(&row.cell));
    page.raw("</div></details>\n");
}

fn loop_figures(page: &mut Page, subject: &Subject, row: &Row, metric: &Metric) {
    page.raw("<div class=\"pair\">");
    for op in row.ops.iter().filter(|op| op.count > 0) {
        page.raw("<div>");
        quantiles(page, op);
        page.raw("</div>");
        if op.view == first_view(row, op) {
            let beside = stalls::ledger::beside(subject, &row.cell, &op.op);
            if let Some(nodes) = beside {
                page.raw("<div>");
                document::html::write(page, &nodes);
                page.raw("</div>");
            }
        }
    }
    page.raw("</div>\n");
    counts(page, row);
    if let Some(scene) = trial_lines(subject, row, metric) {
        page.raw("<figure>");
        page.raw(&svg(&scene, Setting::Page));
        page.raw("</figure>\n");
    }
}

fn first_view(row: &Row, op: &OpSummary) -> View {
    row.ops.iter().find(|known| known.op == op.op).map_or(op.view, |first| first.view)
}

fn quantiles(page: &mut Page, op: &OpSummary) {
    page.element("h3", &format!("{}, {}", op_name(&op.op), view_name(op.view)));
    let text = format!(
        "{} laps in {} s; mean {}, standard deviation {}, smallest {}, largest {}.",
        grouped(op.count as i64),
        significant(op.measured_s),
        duration_text(op.mean_ns.median),
        duration_text(op.sd_ns.median),
        duration_text(op.min_ns as f64),
        duration_text(op.max_ns as f64)
    );
    page.element("p", &text);
    page.open_table(&["share", "median over trials", "range over trials", "slow episodes"]);
    let upper = op.quantiles.iter().filter(|row| row.q >= 0.5);
    // Of those that too few episodes carry the first says so for all beyond it.
    let carried = upper.clone().take_while(|row| row.carried).count();
    for row in upper.take(carried + 1) {
        let carried = |text: String| if row.carried { text } else { "-".into() };
        page.raw("<tr>");
        page.element("td", &quantile_name(row.q));
        page.element("td", &carried(duration_text(row.value_ns.median)));
        page.element("td", &carried(range_text(row.value_ns)));
        page.element("td", &grouped(row.episodes as i64));
        page.raw("</tr>\n");
    }
    page.close_table();
}

fn counts(page: &mut Page, row: &Row) {
    let sums = row.counts.iter().filter(|(name, _)| !name.ends_with("_per_s"));
    let texts: Vec<_> = sums
        .map(|(name, value)| format!("{} {}", name.replace('_', " "), significant(*value)))
        .collect();
    if !texts.is_empty() {
        page.element("p", &format!("Counted over all trials: {}.", texts.join(", ")));
    }
}

fn trials(page: &mut Page, subject: &Subject, row: &Row, metric: &Metric) {
    let headline = metric_name(metric);
    page.open_table(&[
        "trial",
        "block",
        &headline,
        "raw p50",
        "late: driver",
        "late: queue",
        "outcome",
        "doubts",
    ]);
    for trial in subject.trials(&row.cell) {
        page.raw("<tr>");
        page.element("td", &trial.number.to_string());
        page.element("td", &trial.block.to_string());
        let value = phases::details::trial_headline(trial, metric);
        let own = || Some(metric_value(metric, trial_value(trial, metric)?));
        let value = value.or_else(own);
        page.element("td", value.as_deref().unwrap_or("-"));
        let raw = trial.raw.as_ref().map(|raw| duration_text(raw.p50_ns as f64));
        page.element("td", raw.as_deref().unwrap_or("-"));
        let late = trial.load.as_ref().map_or((0, 0), |load| (load.late_driver, load.late_queue));
        page.element("td", &grouped(late.0 as i64));
        page.element("td", &grouped(late.1 as i64));
        page.element("td class=\"text\"", &outcome_text(&trial.outcome));
        let doubts: Vec<_> =
            trial.flags.iter().map(|flag| &flag.text).chain(&trial.notes).cloned().collect();
        page.element("td class=\"text\"", &doubts.join("; "));
        page.raw("</tr>\n");
    }
    page.close_table();
}

fn spikes(page: &mut Page, subject: &Subject, row: &Row) {
    let mut worst: Vec<(&TrialRecord, &str, &Spike)> = subject
        .trials(&row.cell)
        .iter()
        .flat_map(|trial| trial.ops.iter().map(move |op| (*trial, op)))
        .flat_map(|(trial, op)| op.spikes.iter().map(move |s| (trial, op.op.as_str(), s)))
        .collect();
    worst.sort_by_key(|(_, _, s)| std::cmp::Reverse(s.end_ns.saturating_sub(s.start_ns)));
    worst.truncate(SPIKES_MAX);
    if worst.is_empty() {
        return;
    }
    page.element("h3", "Slowest calls");
    page.open_table(&["operation", "trial", "after", "lasted", "began late by", "offset"]);
    for (trial, op, spike) in worst {
        let began = trial.load.as_ref().map_or(0, |load| load.began_ns);
        page.raw("<tr>");
        page.element("td", op_name(op));
        page.element("td", &trial.number.to_string());
        let after_s = spike.start_ns.saturating_sub(began) as f64 / 1e9;
        page.element("td", &format!("{after_s:.3} s"));
        let lasted = spike.end_ns.saturating_sub(spike.start_ns);
        page.element("td", &duration_text(lasted as f64));
        let late = spike.start_ns.saturating_sub(spike.due_ns);
        page.element("td", &duration_text(late as f64));
        page.element("td", &grouped(spike.offset_bytes as i64));
        page.raw("</tr>\n");
    }
    page.close_table();
}

fn steps(page: &mut Page, trials: &[&TrialRecord]) {
    let Some(trial) = trials.iter().find(|trial| !trial.steps.is_empty()) else { return };
    page.raw("<div>");
    page.element("h3", &format!("Exact commands (trial {})", trial.number));
    let lines: Vec<_> = trial
        .steps
        .iter()
        .map(|record| {
            let failed = if record.succeeded { "" } else { "   # failed" };
            let output = record.output.trim();
            let output = if record.succeeded || output.is_empty() {
                String::new()
            } else {
                format!("\n# {}", output.replace('\n', "\n# "))
            };
            format!("# {}\n{}{failed}{output}", record.step.purpose, record.step.action)
        })
        .collect();
    page.element("pre tabindex=\"0\"", &lines.join("\n"));
    page.raw("</div>");
}

fn environment(page: &mut Page, trials: &[&TrialRecord]) {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, value) in trials.iter().flat_map(|trial| &trial.environment.0) {
        let known = values.entry(key).or_default();
        if !known.contains(&value.as_str()) && known.len() < 4 {
            known.push(value);
        }
    }
    if values.is_empty() {
        return;
    }
    page.raw("<div>");
    page.element("h3", "As the kernel reported it");
    page.raw("<dl class=\"facts\">\n");
    for (key, values) in values {
        page.fact(key, &values.join(" | "));
    }
    page.raw("</dl></div>\n");
}
