//! Each point is the median over trials of that trial's quantile; histograms of
//! different trials are never merged. The line goes on in dots where too few
//! slow episodes carry a quantile.

use pickfs_record::{
    finding::{OpSummary, Panel, QuantileSummary},
    quantity::duration_text,
};

use super::{Axis, Canvas, Dash, Frame, Look, Rows, Scene, Slot, Unit, axis::share_text};
use crate::{
    Subject,
    subject::summary,
    wording::{op_name, view_name},
};

pub fn draw(subject: &Subject, panel: &Panel, look: Look, linear: bool) -> Option<Scene> {
    let metric = subject.headline(panel);
    let rows: Vec<_> = panel
        .rows
        .iter()
        .filter_map(|row| Some((row.label.as_str(), summary(row, &metric)?)))
        .filter(|(_, op)| !op.quantiles.is_empty())
        .collect();
    let highest = rows.iter().flat_map(|(_, op)| &op.quantiles).map(|q| q.q).fold(0.0, f64::max);
    let values = || rows.iter().flat_map(|(_, op)| &op.quantiles).map(|q| q.value_ns.median);
    values().next()?;
    let y = if linear {
        Axis::linear(Unit::Nanoseconds, values())
    } else {
        Axis::log(Unit::Nanoseconds, values())
    };
    let frame = Frame {
        look,
        title: super::titled(
            subject,
            &format!("{}: how slow are the slowest?", super::capital(op_name(&metric.op))),
            panel,
        ),
        hint: format!(
            "Lower is better. Right of 99 % lies the slowest call in a hundred. Median over \
             trials; dotted where too few slow episodes carry the value.{}",
            super::at_own_rate(panel)
        ),
        x: Axis::nines(highest),
        y,
        x_title: "share of calls at or below (each step one more nine)".into(),
        y_title: format!("{}, {}", op_name(&metric.op), view_name(metric.view)),
        legend: rows.iter().map(|(label, _)| (label.to_string(), subject.slot(label))).collect(),
        rows: Rows::Marks,
    };
    let mut canvas = frame.open();
    for (label, op) in rows {
        curve(&mut canvas, label, subject.slot(label), op);
    }
    Some(canvas.scene)
}

fn curve(canvas: &mut Canvas, label: &str, slot: Slot, op: &OpSummary) {
    let at = |q: &QuantileSummary| (q.q, q.value_ns.median);
    let carried = op.quantiles.iter().take_while(|q| q.carried).count();
    let (firm, faint) = op.quantiles.split_at(carried);
    let firm: Vec<_> = firm.iter().map(at).collect();
    let joint = firm.last().copied().into_iter();
    let faint: Vec<_> = joint.chain(faint.iter().map(at)).collect();
    if firm.len() > 1 {
        canvas.line(label, slot, slot.dash(), &firm);
    }
    if faint.len() > 1 {
        canvas.line(label, slot, Dash::Dotted, &faint);
    }
    for q in op.quantiles.iter().filter(|q| is_marked(q.q)) {
        let tip = format!("{label}: {} at {}", duration_text(q.value_ns.median), share_text(q.q));
        canvas.marker(label, slot, at(q), !q.carried, tip);
    }
}

fn is_marked(q: f64) -> bool {
    [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999].iter().any(|mark| (q - mark).abs() < 1e-9)
}
