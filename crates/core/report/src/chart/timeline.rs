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

use super::{
    Axis, Frame, Ink, Look, Rows, Scene, Unit,
    thin::{Keep, thin},
};
use crate::{
    Subject,
    subject::operation,
    wording::{op_name, view_name},
};

const POINTS_MAX: usize = 240;

pub fn worst(subject: &Subject, panel: &Panel, look: Look, linear: bool) -> Option<Scene> {
    draw(subject, panel, look, linear, Keep::Largest)
}

pub fn best(subject: &Subject, panel: &Panel, look: Look, linear: bool) -> Option<Scene> {
    draw(subject, panel, look, linear, Keep::Smallest)
}

fn draw(subject: &Subject, panel: &Panel, look: Look, linear: bool, keep: Keep) -> Option<Scene> {
    let metric = subject.headline(panel);
    let lines: Vec<_> = panel
        .rows
        .iter()
        .map(|row| (row.label.as_str(), seconds(subject, &row.cell, &metric, keep)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let values = || lines.iter().flat_map(|(_, points)| points).map(|p| p.1);
    values().next()?;
    let last = lines.iter().flat_map(|(_, points)| points).map(|p| p.0).fold(1.0, f64::max);
    let y = if linear {
        Axis::linear(Unit::Nanoseconds, values())
    } else {
        Axis::log(Unit::Nanoseconds, values())
    };
    let (title, hint) = words(&metric, keep);
    let view = if keep == Keep::Largest { metric.view } else { View::Service };
    let frame = Frame {
        look,
        title: super::titled(subject, &title, panel),
        hint: format!("{hint}{}", super::at_own_rate(panel)),
        x: Axis::span(Unit::Seconds, 0.0, last),
        y,
        x_title: "second of the trial (s)".into(),
        y_title: format!("{}, {}", op_name(&metric.op), view_name(view)),
        legend: lines.iter().map(|(label, _)| (label.to_string(), subject.slot(label))).collect(),
        rows: Rows::Marks,
    };
    let mut canvas = frame.open();
    for (label, points) in &lines {
        let slot = subject.slot(label);
        let points = thin(points, POINTS_MAX, keep);
        canvas.line(label, slot, slot.dash(), &points);
        let marked = points.iter().copied().reduce(|a, b| match keep {
            Keep::Largest => {
                if b.1 > a.1 {
                    b
                } else {
                    a
                }
            }
            Keep::Smallest => {
                if b.1 < a.1 {
                    b
                } else {
                    a
                }
            }
        });
        if let Some(at) = marked {
            let tip = format!("{label}: {} in second {}", duration_text(at.1), at.0);
            canvas.marker(label, slot, at, false, tip);
        }
    }
    Some(canvas.scene)
}

fn words(metric: &Metric, keep: Keep) -> (String, &'static str) {
    match keep {
        Keep::Largest => (
            format!("{}: worst of every second", super::capital(op_name(&metric.op))),
            "Peaks at a fixed distance are periodic work. Largest over all trials of that second; \
             the marker is the largest of all. Look at the shape: maxima are never ranked.",
        ),
        Keep::Smallest => (
            format!("{}: best of every second", super::capital(op_name(&metric.op))),
            "What a call costs when nothing is in its way. Smallest over all trials of that \
             second; the marker is the smallest of all.",
        ),
    }
}

/// Second and largest lap of it in nanoseconds, over all finished trials of a cell.
pub fn worst_of_seconds(subject: &Subject, cell: &CellId, metric: &Metric) -> Vec<(f64, f64)> {
    thin(&seconds(subject, cell, metric, Keep::Largest), POINTS_MAX, Keep::Largest)
}

fn seconds(subject: &Subject, cell: &CellId, metric: &Metric, keep: Keep) -> Vec<(f64, f64)> {
    let mut seconds: BTreeMap<u32, u64> = BTreeMap::new();
    let ops = subject.finished(cell).filter_map(|trial| operation(trial, metric));
    for interval in ops.flat_map(|op| &op.intervals).filter(|interval| interval.count > 0) {
        let value = lap(interval, metric.view, keep);
        let entry = seconds.entry(interval.second).or_insert(value);
        *entry = match keep {
            Keep::Largest => value.max(*entry),
            Keep::Smallest => value.min(*entry),
        };
    }
    seconds.into_iter().map(|(second, value)| (f64::from(second), value as f64)).collect()
}

fn lap(interval: &Second, view: View, keep: Keep) -> u64 {
    match (keep, view) {
        (Keep::Smallest, _) => interval.service_min_ns,
        (Keep::Largest, View::Response | View::RawResponse) if interval.response_max_ns > 0 => {
            interval.response_max_ns
        }
        (Keep::Largest, _) => interval.service_max_ns,
    }
}

pub fn trial_lines(subject: &Subject, row: &Row, metric: &Metric) -> Option<Scene> {
    let trials: Vec<_> = subject
        .finished(&row.cell)
        .filter_map(|trial| Some((trial, trial_points(trial, metric)?)))
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
        let points: Vec<_> = thin(points, limit, Keep::Largest)
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

fn trial_points(trial: &TrialRecord, metric: &Metric) -> Option<Vec<(f64, f64)>> {
    let points: Vec<_> = operation(trial, metric)?
        .intervals
        .iter()
        .filter(|interval| interval.count > 0)
        .map(|i| (f64::from(i.second), lap(i, metric.view, Keep::Largest) as f64))
        .collect();
    (!points.is_empty()).then_some(points)
}
