//! Bars start at zero: their lengths may be compared.

use pickfs_record::{
    finding::{Panel, Row, Spread},
    plan::{Metric, Statistic},
};

use pickfs_analysis::summary::{CAPACITY_KEY, spread};

use super::{Anchor, Axis, Canvas, Dash, Frame, Ink, Look, Rows, Scene, Shape, Unit};
use crate::{
    Subject,
    subject::{figure, is_capacity, is_mixed, summary},
    wording::{metric_name, metric_value, survives_text},
};

pub fn draw(subject: &Subject, panel: &Panel, look: Look) -> Option<Scene> {
    let metric = subject.headline(panel);
    if metric.statistic == Statistic::Rate && is_capacity(panel) {
        return None;
    }
    let rows: Vec<_> =
        panel.rows.iter().filter_map(|row| Some((row, subject.value(row, &metric)?))).collect();
    let better = match metric.statistic.is_better_higher() {
        true => "Longer is better.",
        false => "Shorter is better.",
    };
    let hint = format!("{better} Median over trials; the thin line is the range over trials.");
    let unit = match metric.statistic {
        Statistic::Rate | Statistic::Figure(_) => Unit::Count,
        _ => Unit::Nanoseconds,
    };
    let by = if subject.axis().is_none() { " by candidate" } else { "" };
    let title = format!("{}{by}", super::capital(&metric_name(&metric)));
    let title = super::titled(subject, &title, panel);
    let words = Words { title, hint, x_title: metric_name(&metric), unit };
    bars((subject, panel), look, &rows, words, &|value| metric_value(&metric, value))
}

pub fn capacity(subject: &Subject, panel: &Panel, look: Look) -> Option<Scene> {
    let rows: Vec<_> =
        panel.rows.iter().filter_map(|row| Some((row, capacity_of(subject, row)?))).collect();
    let words = Words {
        title: super::titled(subject, "Highest rate that was held", panel),
        hint: capacity_hint(panel),
        x_title: "operations per second".into(),
        unit: Unit::Count,
    };
    let text = |value| format!("{}/s", pickfs_record::quantity::significant(value));
    bars((subject, panel), look, &rows, words, &text)
}

fn capacity_of(subject: &Subject, row: &Row) -> Option<Spread> {
    let trials = subject.finished(&row.cell);
    let held: Vec<f64> =
        trials.filter_map(|trial| trial.counts.get(CAPACITY_KEY).copied()).collect();
    (!held.is_empty()).then(|| spread(&held))
}

pub fn row_value(row: &Row, metric: &Metric) -> Option<Spread> {
    match metric.statistic {
        Statistic::Rate => row.rate,
        Statistic::Figure(_) => figure(row, &metric.op),
        Statistic::Mean => summary(row, metric).map(|op| op.mean_ns),
        Statistic::Quantile(q) => {
            let quantiles = &summary(row, metric)?.quantiles;
            quantiles.iter().find(|row| (row.q - q).abs() < 1e-9).map(|row| row.value_ns)
        }
    }
}

fn capacity_hint(panel: &Panel) -> String {
    let survives = match is_mixed(panel) {
        true => " In brackets what survives: only rows that survive the same compete.",
        false => "",
    };
    format!(
        "Longer is better. Above it the schedule slips. Median over trials; the thin line is \
         their range.{survives}"
    )
}

fn name(panel: &Panel, row: &Row) -> String {
    match is_mixed(panel) {
        true => format!("{} ({})", row.label, survives_text(row.durability)),
        false => row.label.clone(),
    }
}

struct Words {
    title: String,
    hint: String,
    x_title: String,
    unit: Unit,
}

fn bars(
    (subject, panel): (&Subject, &Panel),
    look: Look,
    rows: &[(&Row, Spread)],
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
        rows: Rows::Names(rows.iter().map(|(row, _)| name(panel, row)).collect()),
    };
    let mut canvas = frame.open();
    canvas.scene.scales = None;
    for (index, (row, value)) in rows.iter().enumerate() {
        bar(&mut canvas, subject, (index, &row.label), *value, text);
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
