//! Each statistic of an operation over the lowest of all rows: who diverges, and from where on.

use pickfs_record::finding::{OpSummary, Panel};

use super::{
    Axis, Frame, Look, Rows, Scene, Spacing, Unit,
    axis::{Tick, share_text},
};
use crate::{
    Subject,
    subject::summary,
    wording::{op_name, ratio_number, view_name},
};

const QUANTILES: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// Name, value, and whether enough slow episodes carry it.
type Told = (String, f64, bool);

pub fn draw(subject: &Subject, panel: &Panel, look: Look) -> Option<Scene> {
    let metric = subject.headline(panel);
    let rows = panel.rows.iter();
    let rows = rows.filter_map(|row| Some((row.label.as_str(), told(summary(row, &metric)?))));
    let rows: Vec<(&str, Vec<Told>)> = rows.collect();
    let names: Vec<&String> = rows.first()?.1.iter().map(|(name, ..)| name).collect();
    let lowest = |at: usize| rows.iter().map(|(_, told)| told[at].1).fold(f64::INFINITY, f64::min);
    let ratio = |told: &[Told], at: usize| told[at].1 / lowest(at);
    let ticks = names.iter().enumerate();
    let ticks = ticks.map(|(at, name)| Tick { value: at as f64, text: (*name).clone() });
    let (low, high) = (-0.3, names.len() as f64 - 0.7);
    let all = || rows.iter().flat_map(|(_, told)| (0..told.len()).map(|at| ratio(told, at)));
    let frame = Frame {
        look,
        title: super::titled(
            subject,
            &format!("{}: each statistic over the lowest", super::capital(op_name(&metric.op))),
            panel,
            look,
        ),
        hint: "1 is the lowest of all rows. Median over trials. Hollow: too few slow episodes carry it.".into(),
        x: Axis { spacing: Spacing::Linear, low, high, unit: Unit::Count, ticks: ticks.collect() },
        y: Axis::log(Unit::Count, all()),
        x_title: String::new(),
        y_title: format!("times the lowest, {}", view_name(metric.view)),
        legend: rows.iter().map(|(label, _)| (label.to_string(), subject.slot(label))).collect(),
        rows: Rows::Marks,
    };
    let mut canvas = frame.open();
    for (label, told) in &rows {
        let slot = subject.slot(label);
        let points: Vec<_> = (0..told.len()).map(|at| (at as f64, ratio(told, at))).collect();
        canvas.line(label, slot, slot.dash(), &points);
        for (at, (name, _, carried)) in points.into_iter().zip(told) {
            let tip = format!("{label}: {name} {} times the lowest", ratio_number(at.1));
            canvas.marker(label, slot, at, !carried, tip);
        }
    }
    Some(canvas.scene)
}

fn told(op: &OpSummary) -> Vec<Told> {
    let quantile = |q: &f64| {
        let found = op.quantiles.iter().find(|row| (row.q - q).abs() < 1e-9);
        let (value, carried) = found.map_or((0.0, false), |row| (row.value_ns.median, row.carried));
        (share_text(*q), value, carried)
    };
    let first = ("smallest".to_owned(), op.min_ns as f64, true);
    let last = [("mean", op.mean_ns.median), ("SD", op.sd_ns.median)];
    let last = last.map(|(name, value)| (name.to_owned(), value, true));
    let all = [first].into_iter().chain(QUANTILES.iter().map(quantile)).chain(last);
    // Nothing takes no time at all: a ratio needs a value.
    all.map(|(name, value, carried)| (name, value.max(1.0), carried)).collect()
}
