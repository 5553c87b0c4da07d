use pickfs_analysis::stalls::{CauseLine, OpTable, StallTable};
use pickfs_model::{CellId, quantity::duration_text, quantity::grouped, stall::CauseRow};

use super::{
    causes::Causes,
    opened,
    words::{self, is_many},
};
use crate::{
    Subject,
    chart::{Chart, ChartKind, Look},
    html::markup::Page,
    svg::{Setting, svg},
    wording::percent,
};

/// Causes with a smaller share of the slow time share one row.
const SHARE_MIN: f64 = 0.005;
const HOLDERS: usize = 3;
const OPEN: usize = 4;

pub fn section(page: &mut Page, subject: &Subject) {
    if subject.stalls.is_empty() {
        return;
    }
    page.section("slow", "Why laps were slow");
    let text = "What the kernel was doing meanwhile, for each lap above the threshold: its time is \
                split without a gap. A share is of the time of slow laps, not of all laps.";
    page.element("p class=\"muted\"", text);
    advice(page, &subject.stalls);
    let charts = ChartKind::SlowLaps.draw(subject, Look::PAGE, false);
    let mut tables: Vec<_> = subject.stalls.iter().enumerate().collect();
    tables.sort_by_key(|(_, table)| std::cmp::Reverse(slow_ns(table)));
    for (place, (index, table)) in tables.into_iter().enumerate() {
        let open = if place < OPEN && table.ops.iter().any(is_many) { " open" } else { "" };
        page.raw(&format!("<details class=\"panel\"{open}>"));
        let slow = duration_text(slow_ns(table) as f64);
        page.element("summary", &format!("{}: {slow} in slow laps", table.subject));
        let mut charts = charts.iter().filter(|chart| chart.panel == Some(index));
        for op in &table.ops {
            match is_many(op) {
                true => picture_and_ledger(page, subject, (table, op), charts.next()),
                false => few(page, table, op),
            }
        }
        ending(page, table);
        page.raw("</details>\n");
    }
    page.raw("</section>\n");
}

fn slow_ns(table: &StallTable) -> u64 {
    table.ops.iter().map(|op| op.sums.total_ns).sum()
}

fn picture_and_ledger(
    page: &mut Page,
    subject: &Subject,
    (table, op): (&StallTable, &OpTable),
    chart: Option<&Chart>,
) {
    page.raw("<div class=\"pair\">");
    if let Some(chart) = chart {
        page.raw(&format!("<figure id=\"chart-{}\">", chart.name));
        page.raw(&svg(&chart.scene, Setting::Page));
        page.raw("</figure>\n");
    }
    page.raw("<div>");
    ledger(page, subject, table, op);
    page.raw("</div></div>\n");
}

fn few(page: &mut Page, table: &StallTable, op: &OpTable) {
    page.element("p", &format!("{}: {}.", words::about(table, op), words::shares(op)));
}

fn advice(page: &mut Page, tables: &[StallTable]) {
    let advice = words::advice(tables);
    if advice.is_empty() {
        return;
    }
    page.element("h3", "What to change");
    page.raw("<dl class=\"facts wrap\">\n");
    advice.iter().for_each(|(title, advice)| page.fact(title, advice));
    page.raw("</dl>\n");
}

fn ending(page: &mut Page, table: &StallTable) {
    if table.ops.is_empty() {
        let above = duration_text(table.above_ns as f64);
        page.element("p", &format!("No lap took longer than {above}."));
    }
    words::seen(table).iter().for_each(|text| page.element("p class=\"muted\"", text));
    if let Some(cell) = table.cell.as_ref().filter(|_| !table.ops.is_empty()) {
        let id = crate::svg::escape(&cell.0);
        page.raw(&format!("<p><a href=\"#cell-{id}\">The slowest laps, opened</a></p>\n"));
    }
}

fn ledger(page: &mut Page, subject: &Subject, table: &StallTable, op: &OpTable) {
    let causes = Causes::of(&subject.stalls);
    page.element("p", &format!("{}.", words::about(table, op)));
    page.open_table(&["cause", "share", "total", "times", "longest"]);
    let (shown, small): (Vec<_>, Vec<_>) =
        op.causes.iter().partition(|line| line.share >= SHARE_MIN);
    shown.into_iter().for_each(|line| row(page, line, &causes));
    if !small.is_empty() {
        let mut sum = CauseRow::default();
        for line in &small {
            sum.total_ns += line.sum.total_ns;
            sum.times += line.sum.times;
            sum.max_ns = sum.max_ns.max(line.sum.max_ns);
        }
        let share = small.iter().map(|line| line.share).sum();
        page.raw("<tr>");
        let plural = if small.len() == 1 { "" } else { "s" };
        page.element("td", &format!("{} smaller cause{plural}", small.len()));
        figures(page, share, &sum);
        page.raw("</tr>\n");
    }
    page.close_table();
    if let Some(text) = words::samples(op) {
        page.element("p", &capital(&text));
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

fn row(page: &mut Page, line: &CauseLine, causes: &Causes) {
    let slot = causes.slot(&line.words.cause).class();
    page.raw(&format!("<tr><td><span class=\"swatch\" style=\"background:var(--{slot})\"></span>"));
    page.text(&line.words.title);
    let holders = holders(line);
    if !holders.is_empty() {
        page.element("small class=\"by\"", &format!("by {holders}"));
    }
    page.raw("</td>");
    figures(page, line.share, &line.sum);
    page.raw("</tr>\n");
}

fn figures(page: &mut Page, share: f64, sum: &CauseRow) {
    page.element("td", &format!("{} %", percent(share)));
    page.element("td", &duration_text(sum.total_ns as f64));
    page.element("td", &grouped(sum.times as i64));
    page.element("td", &duration_text(sum.max_ns as f64));
}

pub fn holders(line: &CauseLine) -> String {
    let named: Vec<_> = line.by.iter().filter(|row| !row.who.is_empty()).collect();
    let share = |row: &CauseRow| percent(row.total_ns as f64 / line.sum.total_ns.max(1) as f64);
    let mut texts: Vec<String> = named
        .iter()
        .take(HOLDERS)
        .map(|row| match named.len() {
            1 => row.who.clone(),
            _ => format!("{} ({} %)", row.who, share(row)),
        })
        .collect();
    if named.len() > HOLDERS {
        texts.push(format!("{} others", named.len() - HOLDERS));
    }
    texts.join(", ")
}

pub fn beside(page: &mut Page, subject: &Subject, cell: &CellId, op: &str) -> bool {
    let Some(table) = table_of(subject, cell) else { return false };
    let Some(found) = table.ops.iter().find(|known| known.op == op) else { return false };
    page.raw("<div>");
    page.element("h3", "Why it was slow");
    ledger(page, subject, table, found);
    page.raw("</div>");
    true
}

pub fn slowest(page: &mut Page, subject: &Subject, cell: &CellId) {
    let Some(table) = table_of(subject, cell) else { return };
    for op in table.ops.iter().filter(|op| !op.worst.is_empty()) {
        opened::write(page, subject, op);
    }
}

fn table_of<'a>(subject: &'a Subject, cell: &CellId) -> Option<&'a StallTable> {
    subject.stalls.iter().find(|table| table.cell.as_ref() == Some(cell))
}
