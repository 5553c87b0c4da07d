//! With few rows the percentile curves tell it better.

use std::fmt::Display;

use pickfs_record::{
    finding::{OpSummary, Panel},
    quantity::{duration_text, significant},
};

use super::{Axis, Canvas, Frame, Look, Rows, Scene, Unit, axis::Tick};
use crate::{
    Subject,
    subject::summary,
    wording::{op_name, view_name},
};

const ROWS_MIN: usize = 5;
const STATISTICS: [(&str, Statistic); 10] = [
    ("min", Statistic::Min),
    ("mean", Statistic::Mean),
    ("SD", Statistic::Deviation),
    ("p50", Statistic::Quantile(0.5)),
    ("p90", Statistic::Quantile(0.9)),
    ("p95", Statistic::Quantile(0.95)),
    ("p99", Statistic::Quantile(0.99)),
    ("p99.9", Statistic::Quantile(0.999)),
    ("p99.99", Statistic::Quantile(0.9999)),
    ("largest", Statistic::Max),
];

#[derive(Debug, Clone, Copy)]
enum Statistic {
    Min,
    Mean,
    Deviation,
    Quantile(f64),
    Max,
}

type Value = (f64, bool);

impl Statistic {
    fn of(self, op: &OpSummary) -> Option<Value> {
        let value = match self {
            Statistic::Min => (op.min_ns as f64, true),
            Statistic::Mean => (op.mean_ns.median, true),
            Statistic::Deviation => (op.sd_ns.median, true),
            Statistic::Max => (op.max_ns as f64, false),
            Statistic::Quantile(q) => {
                let found = op.quantiles.iter().find(|row| (row.q - q).abs() < 1e-9)?;
                (found.value_ns.median, found.carried)
            }
        };
        (value.0 > 0.0).then_some(value)
    }
}

pub fn draw(subject: &Subject, panel: &Panel, look: Look) -> Option<Scene> {
    let metric = subject.headline(panel);
    let rows: Vec<_> = panel
        .rows
        .iter()
        .filter_map(|row| Some((row.label.as_str(), summary(row, &metric)?)))
        .collect();
    if rows.len() < ROWS_MIN {
        return None;
    }
    let columns: Vec<Column> = STATISTICS
        .iter()
        .filter_map(|(name, statistic)| Column::new(name, *statistic, &rows))
        .collect();
    let ratios = || columns.iter().flat_map(|column| column.ratios()).map(|(ratio, _)| ratio);
    let frame = Frame {
        look,
        title: super::titled(
            subject,
            &format!("{}: how many times the lowest?", super::capital(op_name(&metric.op))),
            panel,
        ),
        hint: format!(
            "Lower is better; 1 is the lowest of all rows. Median over trials; hollow where too few slow episodes \
             carry the value. Smallest and largest are of all trials, the largest is never ranked.{}",
            super::at_own_rate(panel)
        ),
        x: names(&columns),
        y: Axis::log(Unit::Count, ratios()),
        x_title: "statistic".into(),
        y_title: format!("{}, {}, times the lowest", op_name(&metric.op), view_name(metric.view)),
        legend: rows.iter().map(|(label, _)| (label.to_string(), subject.slot(label))).collect(),
        rows: Rows::Marks,
    };
    let mut canvas = frame.open();
    canvas.scene.scales = None;
    for (at, (label, _)) in rows.iter().enumerate() {
        line(&mut canvas, subject, label, at, &columns);
    }
    Some(canvas.scene)
}

struct Column {
    name: &'static str,
    values: Vec<Option<Value>>,
    lowest: f64,
}

impl Column {
    fn new(name: &'static str, statistic: Statistic, rows: &[(&str, &OpSummary)]) -> Option<Self> {
        let values: Vec<_> = rows.iter().map(|(_, op)| statistic.of(op)).collect();
        let lowest = values.iter().flatten().map(|(value, _)| *value).fold(f64::INFINITY, f64::min);
        lowest.is_finite().then_some(Column { name, values, lowest })
    }

    fn ratios(&self) -> impl Iterator<Item = Value> {
        self.values.iter().flatten().map(|(value, carried)| (value / self.lowest, *carried))
    }
}

fn names(columns: &[Column]) -> Axis {
    let text = |name: &dyn Display| name.to_string();
    let ticks = columns.iter().enumerate();
    let ticks = ticks.map(|(at, it)| Tick { value: at as f64, text: text(&it.name) }).collect();
    let (low, high) = (-0.5, columns.len().max(1) as f64 - 0.5);
    Axis { low, high, ticks, minor: Vec::new(), ..Axis::between(Unit::Count, 0.0, 1.0) }
}

fn line(canvas: &mut Canvas, subject: &Subject, label: &str, row: usize, columns: &[Column]) {
    let slot = subject.slot(label);
    let points: Vec<_> = columns
        .iter()
        .enumerate()
        .filter_map(|(at, column)| Some((at as f64, column, column.values[row]?)))
        .collect();
    let ratios: Vec<_> = points.iter().map(|(at, it, (ns, _))| (*at, ns / it.lowest)).collect();
    if ratios.len() > 1 {
        canvas.line(label, slot, slot.dash(), &ratios);
    }
    for ((at, column, (value_ns, carried)), (_, ratio)) in points.into_iter().zip(ratios) {
        let (name, times) = (column.name, significant(ratio));
        let tip = format!("{label}: {name} {}, {times} times the lowest", duration_text(value_ns));
        canvas.marker(label, slot, (at, ratio), !carried, tip);
    }
}
