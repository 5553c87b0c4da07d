use pickfs_model::{
    finding::{Panel, Row, Spread},
    plan::{Metric, Statistic},
    quantity::{duration_text, grouped},
};

use super::markup::Page;
use crate::{
    Subject,
    conditions::rate_text,
    document::{self, Cell, Kind, Node, Table as Rows},
    notes::Notes,
    phases::{self, is_phased},
    program,
    ranking::{self, is_one_number},
    subject::{is_capacity, is_floor, is_mixed, summary, with_durability},
    wording::{
        metric_name, op_name, quantile_name, range_text, survives_text, view_meaning, view_name,
    },
};

pub fn write(page: &mut Page, subject: &Subject) {
    page.section("ranking", "Ranking");
    for panel in &subject.findings.panels {
        match is_phased(panel) {
            true => document::html::write(page, &phases::tables::nodes(subject, panel)),
            false => table(page, subject, panel),
        }
        document::html::write(page, &program::beside(subject, panel));
    }
    document::html::write(page, &floors(subject));
    page.raw("</section>\n");
}

fn table(page: &mut Page, subject: &Subject, panel: &Panel) {
    let metric = subject.headline(panel);
    let metrics = ranking::compared(subject, panel);
    let title = if panel.title.is_empty() { "All cells" } else { &panel.title };
    page.element("h3", &with_durability(title, panel));
    page.element("p class=\"muted\"", &about(panel, &metric, &metrics));
    let table = Table { subject, panel, notes: Notes::new(subject, panel), metric, metrics };
    let header = table.header();
    page.open_table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for row in ranking::ranked(subject, panel) {
        table.row(page, row, header.len());
    }
    page.close_table();
    let Table { notes, metric, .. } = table;
    for note in &notes.of_all {
        page.element("p class=\"muted\"", &format!("All rows: {note}."));
    }
    if ranking::is_any_uncarried(panel, &metric, ranking::shown(&metric)) {
        let text = "- : fewer than ten slow episodes over three trials; the value is not shown.";
        page.element("p class=\"muted\"", text);
    }
}

/// What the numbers of a table are.
fn about(panel: &Panel, metric: &Metric, metrics: &[Metric]) -> String {
    let rate = match metric.statistic {
        Statistic::Rate if is_capacity(panel) => " Latencies at the highest rate that was held.",
        _ => "",
    };
    if is_one_number(metric) {
        let ratios = ranking::ratios_text(panel, metrics);
        let what = metric_name(metric);
        return format!("{what}. Median over trials, range below it. {ratios}").trim_end().into();
    }
    let text = format!(
        "{}, {}. {}{rate} Median over trials, range below it. {}",
        op_name(&metric.op),
        view_name(metric.view),
        view_meaning(metric.view),
        ranking::ratios_text(panel, metrics)
    );
    text.trim_end().to_string()
}

struct Table<'t> {
    subject: &'t Subject<'t>,
    panel: &'t Panel,
    notes: Notes,
    metric: Metric,
    metrics: Vec<Metric>,
}

impl Table<'_> {
    fn is_rate(&self) -> bool {
        self.metric.statistic == Statistic::Rate
    }

    fn has_loop_rate(&self) -> bool {
        !self.is_rate() && !is_one_number(&self.metric)
    }

    fn columns(&self) -> Vec<Metric> {
        ranking::numbers(self.panel, &self.metric, &self.metrics)
    }

    fn header(&self) -> Vec<String> {
        let mut header = vec![self.subject.compares().to_string()];
        header.extend(self.is_rate().then(|| ranking::rate_head(self.panel).to_string()));
        header.extend(self.columns().iter().map(ranking::number_head));
        header.extend(ranking::shown(&self.metric).iter().map(|q| quantile_name(*q)));
        header.extend((!is_one_number(&self.metric)).then(|| "largest of n".to_string()));
        let service = ranking::service_quantile(&self.metric);
        header.extend(service.map(|q| format!("service {}", quantile_name(q))));
        header.extend(is_mixed(self.panel).then(|| "survives".to_string()));
        let metrics = self.metrics.iter();
        header.extend(metrics.map(|m| ranking::against(self.panel, m, &self.metrics)));
        header.extend(self.has_loop_rate().then(|| "rate held".to_string()));
        header.push("trials".into());
        header.extend(self.notes.has_own().then(|| "notes".to_string()));
        header
    }

    /// A row; its notes stand in the last column, or under it where the page is narrow.
    fn row(&self, page: &mut Page, row: &Row, columns: usize) {
        let words = self.notes.words(row);
        let floor = if is_floor(row) { " floor" } else { "" };
        let noted = if words.is_empty() { "" } else { " noted" };
        page.raw(&format!("<tr class=\"row{floor}{noted}\">"));
        self.label(page, row);
        self.numbers(page, row);
        if self.notes.has_own() {
            page.element("td class=\"text notes\"", &words);
        }
        page.raw("</tr>\n");
        if !words.is_empty() {
            page.raw(&format!("<tr class=\"below\"><td colspan=\"{columns}\">"));
            page.element("div", &words);
            page.raw("</td></tr>\n");
        }
    }

    fn label(&self, page: &mut Page, row: &Row) {
        page.raw(&format!(
            "<td><span class=\"swatch\" style=\"background:var(--{})\"></span>",
            self.subject.slot(&row.label).class()
        ));
        page.raw(&format!("<a href=\"#cell-{}\">", crate::svg::escape(&row.cell.0)));
        page.text(&ranking::label(row));
        page.raw("</a></td>");
    }

    fn numbers(&self, page: &mut Page, row: &Row) {
        let op = summary(row, &self.metric);
        if self.is_rate() {
            let (rate, range) = ranking::rate_cell(self.subject, row, &self.metric);
            cell(page, &rate, range.as_deref());
        }
        for metric in self.columns() {
            let (value, range) = ranking::number_cell(row, &metric);
            cell(page, &value, range.as_deref());
        }
        for &q in ranking::shown(&self.metric) {
            let range = op.and_then(|op| ranking::quantile(op, q)).filter(|row| row.carried);
            let range = range.filter(|_| row.trials > 1).map(|row| range_text(row.value_ns));
            cell(page, &ranking::quantile_text(op, q), range.as_deref());
        }
        if !is_one_number(&self.metric) {
            let largest = op.map_or_else(|| "-".into(), |op| duration_text(op.max_ns as f64));
            let of = op.map(|op| format!("of {}", grouped(op.count as i64)));
            cell(page, &largest, of.as_deref());
        }
        if let Some(q) = ranking::service_quantile(&self.metric) {
            cell(page, &ranking::service_text(row, &self.metric, q), None);
        }
        if is_mixed(self.panel) {
            cell(page, survives_text(row.durability), None);
        }
        for metric in &self.metrics {
            let (words, interval) = ranking::verdict_cell(self.panel, row, metric);
            cell(page, &words, interval.as_deref());
        }
        if self.has_loop_rate() {
            cell(page, &rate_text(row), None);
        }
        cell(page, &row.trials.to_string(), None);
    }
}

fn cell(page: &mut Page, words: &str, below: Option<&str>) {
    page.raw("<td>");
    page.text(words);
    if let Some(below) = below {
        page.element("small", below);
    }
    page.raw("</td>");
}

/// The loop with nothing to do: what the clock and the machine add to every lap; and the raw device.
fn floors(subject: &Subject) -> Vec<Node> {
    let spread = |value: Spread| Cell::from(duration_text(value.median)).range(range_text(value));
    let mut table = Rows::new([
        ("panel", Kind::Word),
        ("lap p50", Kind::Number),
        ("p99", Kind::Number),
        ("largest", Kind::Number),
    ]);
    for (panel, no_io) in subject.findings.panels.iter().filter_map(|p| Some((p, p.no_io?))) {
        let title = if panel.title.is_empty() { "all" } else { &panel.title };
        let largest = duration_text(no_io.ns_max).into();
        table.row([title.into(), spread(no_io.p50_ns), spread(no_io.p99_ns), largest]);
    }
    let mut raw = Rows::new([
        ("backing", Kind::Word),
        ("write + flush p50", Kind::Number),
        ("p99", Kind::Number),
        ("half spread", Kind::Number),
        ("probes", Kind::Number),
    ]);
    for row in &subject.findings.noise {
        let half = format!("+-{} %", crate::wording::percent(row.half_width)).into();
        let (backing, probes) = (row.backing.to_string().into(), row.probes.to_string().into());
        raw.row([backing, spread(row.p50_ns), spread(row.p99_ns), half, probes]);
    }
    let both = [("The same loop without I/O", table), ("The raw device under all of them", raw)];
    let both = both.into_iter().filter(|(_, table)| !table.rows.is_empty());
    both.flat_map(|(title, table)| [Node::Heading(3, title.into()), Node::Table(table)]).collect()
}
