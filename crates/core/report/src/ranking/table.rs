//! The ranking of a panel: values with their ranges, ratios where they are claimed, intervals beside them, notes.

use pickfs_analysis::ending::best;
use pickfs_record::{
    finding::{Panel, Row, Spread},
    plan::{Metric, Statistic, View},
    quantity::{duration_text, grouped, significant},
    trial::{SUSTAINED, WITH_FINAL_SYNC},
};

use super::{
    against, compared, is_any_uncarried, is_one_number, label, number_head, numbers, quantile,
    quantile_text, ranked_by, rate_head, ratios_text, service_quantile, service_text, shown,
    value_cell, verdict_cell,
};
use crate::{
    Subject,
    conditions::rate_text,
    document::{Cell, Column, Kind, Node, Role, Row as Line, RowKind, Table, Text},
    notes::Notes,
    operations, program,
    subject::{is_capacity, is_floor, is_mixed, summary, with_durability},
    wording::{
        metric_name, op_name, percent, quantile_name, range_text, survives_text, view_meaning,
        view_name,
    },
};

/// All panels with what stands beside them, and what lies under all of them.
pub(crate) fn nodes(subject: &Subject) -> Vec<Node> {
    let mut nodes = Vec::new();
    for panel in &subject.findings.panels {
        nodes.extend(of_panel(subject, panel));
        nodes.extend(program::beside(subject, panel));
    }
    nodes.extend(floors(subject));
    nodes
}

/// A heading, what the numbers are, and the table; of operations that are done once several.
pub(crate) fn of_panel(subject: &Subject, panel: &Panel) -> Vec<Node> {
    let tables = operations::nodes(subject, panel);
    if !tables.is_empty() {
        return tables;
    }
    panel_nodes(subject, panel, &subject.headline(panel), &compared(subject, panel))
}

/// The same of one operation's time, which nothing is claimed of; nothing where the panel has none.
pub(crate) fn of_op(subject: &Subject, panel: &Panel, op: &str) -> Vec<Node> {
    let has_op = panel.rows.iter().any(|row| row.ops.iter().any(|own| own.op == op));
    let metric = Metric { view: View::Service, ..Metric::new(op, Statistic::Quantile(0.5)) };
    if has_op { panel_nodes(subject, panel, &metric, &[]) } else { Vec::new() }
}

fn panel_nodes(subject: &Subject, panel: &Panel, metric: &Metric, metrics: &[Metric]) -> Vec<Node> {
    let notes = Notes::new(subject, panel);
    let mut under: Vec<Text> = Vec::new();
    let ran = || panel.rows.iter().filter(|row| row.trials > 0);
    let has_it = |row: &Row| summary(row, metric).is_some();
    let lacks_it = ran().any(has_it) && !ran().all(has_it);
    let dash = match (is_any_uncarried(panel, metric, shown(metric)), lacks_it) {
        (true, true) => {
            Some("fewer than ten slow episodes over three trials, or the row has no such operation")
        }
        (true, false) => Some("fewer than ten slow episodes over three trials"),
        (false, true) => Some("the row has no such operation"),
        (false, false) => None,
    };
    under.extend(dash.map(|why| format!("A dash: {why}.").into()));
    under.extend(notes.of_all.iter().map(|note| format!("All rows: {note}.").into()));
    let source = Source { subject, panel, metric, metrics };
    let rows = ranked_by(subject, panel, metric).into_iter().map(|row| Line {
        kind: source.kind(row),
        cells: source.parts(Some(row)).into_iter().map(|(_, cell)| cell).collect(),
        note: notes.words(row),
    });
    let table = Table {
        rows: rows.collect(),
        columns: source.parts(None).into_iter().map(|(column, _)| column).collect(),
        notes: under,
        has_ranges: true,
        ..Table::default()
    };
    let about = Node::Note(about(panel, metric, metrics).into());
    vec![Node::Heading(3, title(panel, metric).into()), about, Node::Table(table)]
}

fn title(panel: &Panel, metric: &Metric) -> String {
    let levels = if panel.title.is_empty() { "" } else { &format!(", {}", panel.title) };
    let rate = match panel.rows.iter().find_map(|row| row.rate_asked) {
        Some(rate) => format!(", {}/s asked", significant(rate)),
        None if is_capacity(panel) => ", at the highest rate held".into(),
        None => String::new(),
    };
    let what = match is_one_number(metric) {
        true => format!("{}{levels}", metric_name(metric)),
        false => format!("{}{levels}{rate}, {}", op_name(&metric.op), view_name(metric.view)),
    };
    with_durability(&what, panel)
}

/// What the numbers of a table are.
fn about(panel: &Panel, metric: &Metric, metrics: &[Metric]) -> String {
    let ratios = ratios_text(panel, metrics);
    let meaning = match is_one_number(metric) {
        true => String::new(),
        false => format!("{} ", view_meaning(metric.view)),
    };
    let share = match metric.op.ends_with(WITH_FINAL_SYNC) {
        true => "With final sync: each call with a share of the sync at the end of its trial. ",
        false => "",
    };
    // The journal alone has an operation that ends with the sync.
    let has_durable = panel.rows.iter().flat_map(|row| &row.ops).any(|op| op.op == "durable");
    let not_yet = match metric.op == "append" && is_mixed(panel) && has_durable {
        true => {
            "Where a row syncs apart from its appends, a record survives what the row says once that sync has ended. "
        }
        false => "",
    };
    format!("{meaning}{share}{not_yet}Median over trials, range beside it. {ratios}")
        .trim_end()
        .into()
}

struct Source<'t> {
    subject: &'t Subject<'t>,
    panel: &'t Panel,
    metric: &'t Metric,
    metrics: &'t [Metric],
}

impl Source<'_> {
    fn kind(&self, row: &Row) -> RowKind {
        let mut answers = self.subject.findings.answers.iter();
        let answer = answers.find(|answer| answer.panel == self.panel.title);
        match answer.is_some_and(|answer| best(answer).contains(&row.label)) {
            _ if is_floor(row) => RowKind::Floor,
            true => RowKind::Best,
            false => RowKind::Plain,
        }
    }

    /// Each column with the cell of a row; the cells are empty where there is no row.
    fn parts(&self, row: Option<&Row>) -> Vec<(Column, Cell)> {
        let (panel, metric) = (self.panel, self.metric);
        let op = row.and_then(|row| summary(row, metric));
        let is_rate = metric.statistic == Statistic::Rate;
        let mut parts = Vec::new();
        let mut part = |head: String, priority, cell: &dyn Fn(&Row) -> Cell| {
            let column = Column { priority, ..Column::new(head, Kind::Number) };
            parts.push((column, row.map(cell).unwrap_or_default()));
        };
        part(self.subject.compares().into(), 0, &|row| self.label(row));
        if is_rate {
            part(rate_head(panel).into(), 0, &|row| self.value(row, metric));
        }
        let numbers = numbers(panel, metric, self.metrics);
        for (index, number) in numbers.iter().enumerate() {
            let priority = if index == 0 { 0 } else { 3 };
            let head = number_head(number);
            // Of one number two views are two columns.
            let same = numbers.iter().filter(|other| number_head(other) == head).count();
            let head = if same > 1 { metric_name(number) } else { head };
            part(head, priority, &|row| self.value(row, number));
        }
        for (&q, priority) in shown(metric).iter().zip([0, 1, 2, 6]) {
            part(quantile_name(q), priority, &|row| {
                let found = op.and_then(|op| quantile(op, q)).filter(|found| found.carried);
                let range = found.filter(|_| row.trials > 1);
                ranged((quantile_text(op, q), range.map(|found| range_text(found.value_ns))))
            });
        }
        if !is_one_number(metric) {
            part("largest of n".into(), 4, &|_| {
                let largest = op.map_or_else(|| "-".into(), |op| duration_text(op.max_ns as f64));
                ranged((largest, op.map(|op| format!("of {}", grouped(op.count as i64)))))
            });
        }
        if let Some(q) = service_quantile(metric) {
            let head = format!("service {}", quantile_name(q));
            part(head, 3, &|row| service_text(row, metric, q).into());
        }
        if is_mixed(panel) {
            part("survives".into(), 0, &|row| survives_text(row.durability).into());
        }
        for (index, ratio) in self.metrics.iter().enumerate() {
            part(against(panel, ratio, self.metrics), index.min(1) as u8 * 2, &|row| {
                let (words, interval) = verdict_cell(panel, row, ratio);
                Cell::from(words).under(interval)
            });
        }
        if !is_rate && !is_one_number(metric) {
            part("rate held".into(), 5, &|row| rate_text(row).into());
        }
        if metric.op != SUSTAINED && panel.rows.iter().any(|row| row.sustained.is_some()) {
            let sustained = Metric::new(SUSTAINED, Statistic::Rate);
            part("sustains".into(), 2, &|row| self.value(row, &sustained));
        }
        part("trials".into(), 0, &|row| trials(row).into());
        parts
    }

    fn value(&self, row: &Row, metric: &Metric) -> Cell {
        let found = value_cell(self.subject, self.panel, row, metric);
        ranged(found.map_or_else(|| ("-".into(), None), |(_, value, range)| (value, range)))
    }

    fn label(&self, row: &Row) -> Cell {
        let name = Role::Candidate(self.subject.slot(&row.label)).of(label(row));
        Cell { link: format!("cell-{}", row.cell.0), ..Cell::from(name) }
    }
}

fn ranged((value, range): (String, Option<String>)) -> Cell {
    Cell::from(value).range(range.unwrap_or_default())
}

/// Trials that count, of how many where some have no result.
fn trials(row: &Row) -> String {
    match row.failed + row.skipped {
        0 => row.trials.to_string(),
        missing => format!("{} of {}", row.trials, row.trials + missing),
    }
}

/// The loop with nothing to do: what the clock and the machine add to every operation; and the raw device.
fn floors(subject: &Subject) -> Vec<Node> {
    let spread = |value: Spread| Cell::from(duration_text(value.median)).range(range_text(value));
    let mut table = Table::new([
        ("panel", Kind::Word),
        ("without I/O p50", Kind::Number),
        ("p99", Kind::Number),
        ("largest", Kind::Number),
    ]);
    for (panel, no_io) in subject.findings.panels.iter().filter_map(|p| Some((p, p.no_io?))) {
        let title = if panel.title.is_empty() { "all" } else { &panel.title };
        let largest = duration_text(no_io.ns_max).into();
        table.row([title.into(), spread(no_io.p50_ns), spread(no_io.p99_ns), largest]);
    }
    let mut raw = Table::new([
        ("backing", Kind::Word),
        ("write + flush p50", Kind::Number),
        ("p99", Kind::Number),
        ("half spread", Kind::Number),
        ("probes", Kind::Number),
    ]);
    for row in &subject.findings.noise {
        let half = format!("+-{} %", percent(row.half_width)).into();
        let (backing, probes) = (row.backing.to_string().into(), row.probes.to_string().into());
        raw.row([backing, spread(row.p50_ns), spread(row.p99_ns), half, probes]);
    }
    let both = [("The same loop without I/O", table), ("The raw device under all of them", raw)];
    let both = both.into_iter().filter(|(_, table)| !table.rows.is_empty());
    let ranged = both.map(|(title, table)| (title, Table { has_ranges: true, ..table }));
    ranged.flat_map(|(title, table)| [Node::Heading(3, title.into()), Node::Table(table)]).collect()
}
