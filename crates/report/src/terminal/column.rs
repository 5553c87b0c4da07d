use pickfs_model::{
    finding::{NoIo, NoiseRow, Panel, Row},
    plan::{Metric, Statistic},
    quantity::{duration_text, grouped},
};

use super::{grid::Align, plain};
use crate::{
    Subject,
    ranking::{self, is_one_number},
    subject::{is_capacity, is_mixed, summary},
    wording::{metric_value, quantile_name, range_text, statistic_name, survives_text},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub range: bool,
    pub one_line: bool,
    pub largest: bool,
    pub all_ratios: bool,
}

pub const ROOMS: [Room; 6] = [
    Room { range: true, one_line: true, largest: true, all_ratios: true },
    Room { range: true, one_line: false, largest: true, all_ratios: true },
    Room { range: false, one_line: true, largest: true, all_ratios: true },
    Room { range: false, one_line: false, largest: true, all_ratios: true },
    Room { range: false, one_line: false, largest: false, all_ratios: true },
    Room { range: false, one_line: false, largest: false, all_ratios: false },
];

#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    Rate,
    Value(Metric),
    Range,
    Quantile(f64),
    Largest,
    Service(f64),
    Survives,
    Ratio(Metric),
}

pub fn shown(metric: &Metric) -> &'static [f64] {
    if is_one_number(metric) {
        return &[];
    }
    if metric.statistic == Statistic::Rate { &[0.5, 0.99] } else { &[0.5, 0.99, 0.999] }
}

pub fn columns(panel: &Panel, metric: &Metric, ratios: &[Metric], room: Room) -> Vec<Column> {
    if is_one_number(metric) {
        return whole_columns(panel, metric, ratios, room);
    }
    let is_rate = metric.statistic == Statistic::Rate;
    let kept = match (is_rate, room.largest, room.all_ratios) {
        (false, ..) | (true, true, _) => shown(metric),
        (true, false, true) => &shown(metric)[1..],
        (true, false, false) => &[],
    };
    let mut quantiles = kept.iter().map(|q| Column::Quantile(*q));
    let mut columns =
        if is_rate { vec![Column::Rate] } else { quantiles.next().into_iter().collect() };
    if room.range {
        columns.push(Column::Range);
    }
    columns.extend(quantiles);
    if room.largest && !is_rate {
        columns.push(Column::Largest);
    }
    let service = ranking::service_quantile(metric).filter(|_| room.all_ratios);
    columns.extend(service.map(Column::Service));
    if is_mixed(panel) {
        columns.push(Column::Survives);
    }
    let kept = if room.all_ratios { ratios.len() } else { ratios.len().min(1) };
    columns.extend(ratios[..kept].iter().cloned().map(Column::Ratio));
    columns
}

fn whole_columns(panel: &Panel, metric: &Metric, ratios: &[Metric], room: Room) -> Vec<Column> {
    let mut numbers = ranking::numbers(panel, metric, ratios).into_iter().map(Column::Value);
    let mut columns: Vec<Column> = numbers.next().into_iter().collect();
    columns.extend(room.range.then_some(Column::Range));
    columns.extend(numbers.filter(|_| room.largest));
    if is_mixed(panel) {
        columns.push(Column::Survives);
    }
    let kept = if room.all_ratios { ratios.len() } else { ratios.len().min(1) };
    columns.extend(ratios[..kept].iter().cloned().map(Column::Ratio));
    columns
}

pub struct Cells<'t> {
    pub subject: &'t Subject<'t>,
    pub panel: &'t Panel,
    pub metric: &'t Metric,
}

impl Cells<'_> {
    pub fn head(&self, column: &Column) -> String {
        match column {
            Column::Rate if is_capacity(self.panel) => "highest\nrate held".into(),
            Column::Rate => "\nrate held".into(),
            Column::Value(metric) => format!("\n{}", plain(&ranking::number_head(metric))),
            Column::Range => "range\nof trials".into(),
            Column::Quantile(q) => format!("\n{}", quantile_name(*q)),
            Column::Largest => {
                let count = self.shared_count().map(|count| grouped(count as i64));
                format!("largest\nof {}", count.as_deref().unwrap_or("n"))
            }
            Column::Service(q) => format!("service\n{}", quantile_name(*q)),
            Column::Survives => "\nsurvives".into(),
            Column::Ratio(metric) => self.ratio_head(metric),
        }
    }

    fn ratio_head(&self, metric: &Metric) -> String {
        let op = if metric.op == self.metric.op { "" } else { &format!("{} ", metric.op) };
        let level = if ranking::has_intervals(self.panel, metric) { " [95 %]" } else { "" };
        let against = plain(ranking::reference(self.panel));
        if is_one_number(metric) {
            return format!("against {against}\n{}{level}", plain(&ranking::number_head(metric)));
        }
        let statistic = statistic_name(metric.statistic);
        format!("against {against}\n{op}{statistic}{level}")
    }

    pub fn shared_count(&self) -> Option<u64> {
        let rows = self.panel.rows.iter();
        let mut counts = rows.filter_map(|row| summary(row, self.metric)).map(|op| op.count);
        let first = counts.next()?;
        counts.all(|count| count == first).then_some(first)
    }

    pub fn cell(&self, row: &Row, column: &Column, room: Room) -> String {
        let op = summary(row, self.metric);
        match column {
            Column::Rate => self
                .subject
                .value(row, self.metric)
                .map_or_else(|| "-".into(), |value| metric_value(self.metric, value.median)),
            Column::Value(metric) => ranking::number_cell(row, metric).0,
            Column::Range => self.range(row),
            Column::Quantile(q) => ranking::quantile_text(op, *q),
            Column::Largest => op.map_or_else(|| "-".into(), |op| duration_text(op.max_ns as f64)),
            Column::Service(q) => ranking::service_text(row, self.metric, *q),
            Column::Survives => survives_text(row.durability).into(),
            Column::Ratio(metric) => {
                let (words, interval) = ranking::verdict_cell(self.panel, row, metric);
                let gap = if room.one_line { " " } else { "\n" };
                interval.map_or(words.clone(), |i| format!("{words}{gap}{i}"))
            }
        }
    }

    fn range(&self, row: &Row) -> String {
        if is_one_number(self.metric) {
            return ranking::number_cell(row, self.metric).1.unwrap_or_else(|| "-".into());
        }
        if self.metric.statistic == Statistic::Rate {
            let rate = self.subject.value(row, self.metric);
            return rate.map_or_else(|| "-".into(), crate::wording::rate_range_text);
        }
        let op = summary(row, self.metric);
        let first = op.and_then(|op| ranking::quantile(op, shown(self.metric)[0]));
        let first = first.filter(|quantile| quantile.carried);
        first.map_or_else(|| "-".into(), |quantile| range_text(quantile.value_ns))
    }

    pub fn no_io(&self, no_io: &NoIo, column: &Column) -> String {
        match column {
            Column::Quantile(q) if *q == 0.5 => duration_text(no_io.p50_ns.median),
            Column::Quantile(q) if *q == 0.99 => duration_text(no_io.p99_ns.median),
            Column::Range => range_text(no_io.p50_ns),
            Column::Largest => duration_text(no_io.ns_max),
            _ => String::new(),
        }
    }

    pub fn raw(&self, noise: &NoiseRow, column: &Column) -> String {
        match column {
            Column::Quantile(q) if *q == 0.5 => duration_text(noise.p50_ns.median),
            Column::Quantile(q) if *q == 0.99 => duration_text(noise.p99_ns.median),
            Column::Range if self.metric.statistic != Statistic::Rate => range_text(noise.p50_ns),
            _ => String::new(),
        }
    }
}

pub fn align(column: &Column) -> Align {
    match column {
        Column::Survives | Column::Ratio(_) => Align::Left,
        Column::Rate
        | Column::Value(_)
        | Column::Range
        | Column::Quantile(_)
        | Column::Largest
        | Column::Service(_) => Align::Right,
    }
}
