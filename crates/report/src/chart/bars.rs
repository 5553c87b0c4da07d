//! Bars by candidate: one number per row, its range over trials, and the value in words.
//!
//! Bars start at zero: their lengths may be compared.

use pickfs_model::{
    finding::{Panel, Row, Spread},
    plan::{Metric, Statistic},
};

use super::{Anchor, Axis, Canvas, Dash, Frame, Ink, Look, Rows, Scene, Shape, Unit};
use crate::{
    Subject,
    subject::summary,
    wording::{metric_name, metric_value},
};

/// The headline of every row of a panel.
pub fn draw(subject: &Subject, panel: &Panel, look: Look) -> Option<Scene> {
    let metric = subject.headline(panel);
    let rows: Vec<_> = panel
        .rows
        .iter()
        .filter_map(|row| Some((row.label.as_str(), row_value(row, &metric)?)))
        .collect();
    let better = match metric.statistic {
        Statistic::Rate => "Longer is better.",
        _ => "Shorter is better.",
    };
    let hint = format!("{better} Median over trials; the thin line is the range over trials.");
    let unit = match metric.statistic {
        Statistic::Rate => Unit::Count,
        _ => Unit::Nanoseconds,
    };
    let title =
        super::titled(&format!("{} by candidate", super::capital(&metric_name(&metric))), panel);
    let words = Words { title, hint, x_title: metric_name(&metric), unit };
    bars(subject, look, &rows, words, &|value| metric_value(&metric, value))
}

/// The highest rate that each row held, where a run looked for it.
pub fn capacity(subject: &Subject, panel: &Panel, look: Look) -> Option<Scene> {
    let rows: Vec<_> = panel
        .rows
        .iter()
        .filter_map(|row| Some((row.label.as_str(), capacity_of(subject, row)?)))
        .collect();
    let words = Words {
        title: super::titled("Highest rate that was held", panel),
        hint: "Longer is better. Above it the schedule slips. Median over trials; the thin line is their range.".into(),
        x_title: "operations per second".into(),
        unit: Unit::Count,
    };
    let text = |value| format!("{}/s", pickfs_model::quantity::significant(value));
    bars(subject, look, &rows, words, &text)
}

/// The rates that the trials of a row held: the median, and the range.
fn capacity_of(subject: &Subject, row: &Row) -> Option<Spread> {
    let trials = subject.finished(&row.cell);
    let mut held: Vec<f64> =
        trials.filter_map(|trial| trial.counts.get("capacity_per_s").copied()).collect();
    held.sort_by(f64::total_cmp);
    let (low, high) = (*held.first()?, *held.last()?);
    let median = (held[(held.len() - 1) / 2] + held[held.len() / 2]) / 2.0;
    Some(Spread { median, low, high })
}

/// The value of a metric over the trials of a row.
pub fn row_value(row: &Row, metric: &Metric) -> Option<Spread> {
    match metric.statistic {
        Statistic::Rate => row.rate,
        Statistic::Mean => summary(row, metric).map(|op| op.mean_ns),
        Statistic::Quantile(q) => {
            let quantiles = &summary(row, metric)?.quantiles;
            quantiles.iter().find(|row| (row.q - q).abs() < 1e-9).map(|row| row.value_ns)
        }
    }
}

struct Words {
    title: String,
    hint: String,
    x_title: String,
    unit: Unit,
}

fn bars(
    subject: &Subject,
    look: Look,
    rows: &[(&str, Spread)],
    words: Words,
    text: &dyn Fn(f64) -> String,
) -> Option<Scene> {
    if rows.is_empty() {
        return None;
    }
    let highest = rows.iter().map(|(_, value)| value.high).fold(0.0, f64::max);
    let frame = Frame {
        look: Look { plot: look.font * 2.4 * rows.len() as f32, ..look },
        title: words.title,
        hint: words.hint,
        x: Axis::span(words.unit, 0.0, highest.max(1e-9) * 1.18),
        y: Axis::between(Unit::Count, 0.0, rows.len() as f64),
        x_title: words.x_title,
        y_title: String::new(),
        legend: Vec::new(),
        rows: Rows::Names(rows.iter().map(|(label, _)| label.to_string()).collect()),
    };
    let mut canvas = frame.open();
    canvas.scene.scales = None;
    for (index, (label, value)) in rows.iter().enumerate() {
        bar(&mut canvas, subject, (index, label), *value, text);
    }
    Some(canvas.scene)
}

fn bar(
    canvas: &mut Canvas,
    subject: &Subject,
    (index, label): (usize, &str),
    value: Spread,
    text: &dyn Fn(f64) -> String,
) {
    let font = canvas.font;
    let middle = canvas.top + font * 2.4 * (index as f32 + 0.5);
    let ink = Ink::Series(subject.slot(label));
    let (from, to) = (canvas.left, canvas.x_of(value.median));
    let tip =
        format!("{label}: {} ({} to {})", text(value.median), text(value.low), text(value.high));
    let (x, y) = (from, middle - font * 0.7);
    let shape = Shape::Bar { x, y, width: (to - from).max(1.5), height: font * 1.4, ink };
    canvas.scene.add_series(label, Some(tip), shape);
    let (low, high) = (canvas.x_of(value.low), canvas.x_of(value.high));
    if high - low > 1.0 {
        let points = vec![(low, middle), (high, middle)];
        let whisker = Shape::Line { points, ink: Ink::Text, width: 1.2, dash: Dash::Solid };
        canvas.scene.add_series(label, None, whisker);
        for x in [low, high] {
            let points = vec![(x, middle - 4.0), (x, middle + 4.0)];
            let end = Shape::Line { points, ink: Ink::Text, width: 1.2, dash: Dash::Solid };
            canvas.scene.add_series(label, None, end);
        }
    }
    let words = Shape::Words {
        x: high.max(to) + font * 0.5,
        y: middle + font * 0.35,
        size: font,
        anchor: Anchor::Start,
        ink: Ink::Text,
        text: text(value.median),
    };
    canvas.scene.add_series(label, None, words);
}
