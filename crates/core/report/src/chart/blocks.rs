//! Shows what a median hides: drift of the machine (all lines bend together), two
//! states of a device (dots in two rows), and how the pairs of a comparison lie.

use pickfs_record::{TrialRecord, finding::Panel, plan::Statistic};

use super::{Axis, Canvas, Frame, Look, Rows, Scene, Unit};
use crate::{
    Subject,
    subject::trial_value,
    wording::{metric_name, metric_value},
};

pub fn draw(subject: &Subject, panel: &Panel, look: Look, linear: bool) -> Option<Scene> {
    let metric = subject.headline(panel);
    let rows: Vec<(&str, Vec<(&TrialRecord, f64)>)> = panel
        .rows
        .iter()
        .map(|row| {
            let trials = subject.finished(&row.cell);
            let mut dots: Vec<_> =
                trials.filter_map(|trial| Some((trial, trial_value(trial, &metric)?))).collect();
            dots.sort_by_key(|(trial, _)| (trial.block, trial.attempt));
            (row.label.as_str(), dots)
        })
        .filter(|(_, dots)| !dots.is_empty())
        .collect();
    let values = || rows.iter().flat_map(|(_, dots)| dots).map(|(_, value)| *value);
    if values().count() < 2 {
        return None;
    }
    let unit = match metric.statistic {
        Statistic::Rate | Statistic::Figure(_) => Unit::Count,
        _ => Unit::Nanoseconds,
    };
    let blocks = rows.iter().flat_map(|(_, dots)| dots).map(|(trial, _)| trial.block);
    let frame = Frame {
        look,
        title: super::titled(subject, &format!("Every trial: {}", metric_name(&metric)), panel),
        hint: "Lines that bend together: the machine drifts. Lines that cross: no clear order. \
               Hollow: a doubt is noted."
            .into(),
        x: block_axis(blocks.max().unwrap_or(1)),
        y: if linear { Axis::linear(unit, values()) } else { Axis::log(unit, values()) },
        x_title: "block".into(),
        y_title: metric_name(&metric),
        legend: rows.iter().map(|(label, _)| (label.to_string(), subject.slot(label))).collect(),
        rows: Rows::Marks,
    };
    let mut canvas = frame.open();
    for (label, dots) in &rows {
        draw_row(&mut canvas, subject, label, dots, &|value| metric_value(&metric, value));
    }
    Some(canvas.scene)
}

fn draw_row(
    canvas: &mut Canvas,
    subject: &Subject,
    label: &str,
    dots: &[(&TrialRecord, f64)],
    text: &dyn Fn(f64) -> String,
) {
    let slot = subject.slot(label);
    let points: Vec<_> = dots.iter().map(|(t, value)| (f64::from(t.block), *value)).collect();
    canvas.line(label, slot, slot.dash(), &points);
    for ((trial, value), at) in dots.iter().zip(&points) {
        let doubt = trial.flags.first().map(|flag| format!(" ({})", flag.text)).unwrap_or_default();
        let tip = format!("{label}, block {}: {}{doubt}", trial.block, text(*value));
        canvas.marker(label, slot, *at, !trial.flags.is_empty(), tip);
    }
}

fn block_axis(last: u32) -> Axis {
    let mut axis = Axis::between(Unit::Count, 0.5, f64::from(last) + 0.5);
    (axis.low, axis.high) = (0.5, f64::from(last) + 0.5);
    let step = last.div_ceil(12).max(1) as usize;
    axis.ticks = (1..=last)
        .step_by(step)
        .map(|block| super::axis::Tick { value: f64::from(block), text: block.to_string() })
        .collect();
    axis
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_lies_inside_and_few_are_named() {
        let axis = block_axis(60);
        assert!(axis.ticks.len() <= 12);
        assert!(axis.place(1.0) > 0.0 && axis.place(60.0) < 1.0);
        assert_eq!(block_axis(5).ticks.len(), 5);
    }
}
