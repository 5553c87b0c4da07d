//! The line is the extreme over all trials of that second, so it is read for its shape
//! and never ranked.

use std::collections::BTreeMap;

use pickfs_record::{
    CellId, TrialRecord,
    finding::{Panel, Row},
    plan::{Metric, View},
    quantity::{duration_text, grouped},
    record::Second,
};

use super::{Axis, ChartKind, Frame, Ink, Look, Rows, Scene, Unit, causes, thin::thin};
use crate::{
    Subject,
    subject::timed,
    wording::{op_name, view_name},
};

const POINTS_MAX: usize = 240;

/// Shorter trials have too few seconds for a line.
pub const SECONDS_MIN: usize = 10;

pub fn draw(subject: &Subject, panel: &Panel, look: Look, kind: ChartKind) -> Option<Scene> {
    let is_best = kind == ChartKind::BestPerSecond;
    let metric = subject.headline(panel);
    let of = |row: &Row| of_seconds(subject, &row.cell, &metric, is_best);
    let lines: Vec<_> = panel
        .rows
        .iter()
        .map(|row| (row.label.as_str(), of(row)))
        .filter(|(_, points)| points.len() >= SECONDS_MIN)
        .collect();
    let all = || lines.iter().flat_map(|(_, points)| points);
    all().next()?;
    let op = op_name(&metric.op);
    let rows = panel.rows.iter();
    let rows = rows.filter(|_| !is_best);
    let marks: Vec<_> =
        rows.flat_map(|row| causes::worst(subject, &row.cell, &metric.op, 1)).collect();
    let values = all().map(|p| p.1).chain(marks.iter().map(|m| m.value_ns));
    let which = match kind {
        ChartKind::BestPerSecond => "best of every second",
        ChartKind::WorstPerSecondLinear => "worst of every second, linear",
        _ => "worst of every second",
    };
    let frame = Frame {
        look,
        title: super::titled(subject, &format!("{}: {which}", super::capital(op)), panel, look),
        hint: match is_best {
            true => "Smallest over all trials of that second, service time.".into(),
            false => format!(
                "Peaks at a fixed distance are periodic work. Largest over all trials of that second; \
                 the marker is the largest of all. Look at the shape: maxima are never ranked.{}",
                super::at_own_rate(panel)
            ),
        },
        x: Axis::span(Unit::Seconds, 0.0, all().map(|p| p.0).fold(1.0, f64::max)),
        y: match kind {
            ChartKind::WorstPerSecondLinear => Axis::linear(Unit::Nanoseconds, values),
            _ => Axis::log(Unit::Nanoseconds, values),
        },
        x_title: "second of the trial (s)".into(),
        y_title: format!("{op}, {}", view_name(metric.view)),
        legend: lines.iter().map(|(label, _)| (label.to_string(), subject.slot(label))).collect(),
        rows: Rows::Marks,
    };
    let mut canvas = frame.open();
    for (label, points) in &lines {
        let slot = subject.slot(label);
        canvas.line(label, slot, slot.dash(), points);
        let largest = points.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
        if let Some(at) = largest.filter(|_| !is_best) {
            let tip = format!("{label}: {} in second {}", duration_text(at.1), at.0);
            canvas.marker(label, slot, at, false, tip);
        }
    }
    causes::draw(&mut canvas, &marks, |canvas, value_ns| canvas.y_of(value_ns));
    Some(canvas.scene)
}

/// Second and largest operation of it in nanoseconds, over all finished trials of a cell.
pub fn worst_of_seconds(subject: &Subject, cell: &CellId, metric: &Metric) -> Vec<(f64, f64)> {
    of_seconds(subject, cell, metric, false)
}

fn of_seconds(subject: &Subject, cell: &CellId, metric: &Metric, is_best: bool) -> Vec<(f64, f64)> {
    let mut seconds: BTreeMap<u32, f64> = BTreeMap::new();
    let points = subject.finished(cell).flat_map(|trial| trial_points(trial, metric, is_best));
    for (second, value) in points {
        let kept = seconds.entry(second as u32).or_insert(value);
        *kept = if is_best { kept.min(value) } else { kept.max(value) };
    }
    let points: Vec<_> = seconds.into_iter().map(|(second, ns)| (f64::from(second), ns)).collect();
    thin(&points, POINTS_MAX)
}

pub fn trial_lines(subject: &Subject, row: &Row, metric: &Metric) -> Option<Scene> {
    let trials: Vec<_> = subject
        .finished(&row.cell)
        .map(|trial| (trial, trial_points(trial, metric, false)))
        .filter(|(_, points)| points.len() >= SECONDS_MIN)
        .collect();
    let values = || trials.iter().flat_map(|(_, points)| points).map(|p| p.1);
    values().next()?;
    let lengths = trials.iter().map(|(_, points)| points.last().map_or(0.0, |p| p.0) + 1.0);
    let starts: Vec<f64> = lengths
        .scan(0.0, |at, length| {
            let start = *at;
            *at += length;
            Some(start)
        })
        .collect();
    let end = starts.last()? + trials.last()?.1.last()?.0 + 1.0;
    let frame = Frame {
        look: Look::SMALL,
        title: format!("{}: worst of every second", super::capital(op_name(&metric.op))),
        hint: format!("{} trials in the order in which they ran.", grouped(trials.len() as i64)),
        x: Axis::span(Unit::Seconds, 0.0, end),
        y: Axis::log(Unit::Nanoseconds, values()),
        x_title: "measured seconds, trials end to end (s)".into(),
        y_title: view_name(metric.view).into(),
        legend: Vec::new(),
        rows: Rows::Marks,
    };
    let mut canvas = frame.open();
    let limit = (360 / trials.len()).max(4);
    for ((trial, points), start) in trials.iter().zip(&starts) {
        let x = canvas.x_of(*start);
        canvas.rule((x, canvas.top), (x, canvas.bottom), Ink::Grid, 1.0);
        let points: Vec<_> = thin(points, limit)
            .into_iter()
            .map(|(second, value)| (second + start, value))
            .collect();
        canvas.line(
            &format!("trial {}", trial.number),
            subject.slot(&row.label),
            super::Dash::Solid,
            &points,
        );
    }
    Some(canvas.scene)
}

fn trial_points(trial: &TrialRecord, metric: &Metric, is_best: bool) -> Vec<(f64, f64)> {
    let seconds = timed(trial, metric).into_iter().flat_map(|op| &op.intervals);
    let of = |row: &Second| match metric.view {
        _ if is_best => row.service_min_ns,
        View::Response | View::RawResponse if row.response_max_ns > 0 => row.response_max_ns,
        _ => row.service_max_ns,
    };
    let seconds = seconds.filter(|row| row.count > 0);
    seconds.map(|row| (f64::from(row.second), of(row) as f64)).collect()
}
