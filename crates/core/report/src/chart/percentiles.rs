//! Each point is the median over trials of that trial's quantile; histograms of
//! different trials are never merged. A line ends where too few slow episodes carry it.

use pickfs_record::{
    finding::{OpSummary, Panel, QuantileSummary},
    quantity::duration_text,
};

use super::{Axis, Frame, Look, Rows, Scene, Unit, axis::share_text};
use crate::{
    Subject,
    subject::summary,
    wording::{op_name, view_name},
};

pub fn draw(subject: &Subject, panel: &Panel, look: Look) -> Option<Scene> {
    let metric = subject.headline(panel);
    let carried = |op: &OpSummary| -> Vec<QuantileSummary> {
        op.quantiles.iter().take_while(|q| q.carried).copied().collect()
    };
    let rows = panel.rows.iter().filter_map(|row| Some((row, carried(summary(row, &metric)?))));
    let rows: Vec<_> = rows.filter(|(_, quantiles)| quantiles.len() > 1).collect();
    let all = || rows.iter().flat_map(|(_, quantiles)| quantiles);
    let values = || all().map(|q| q.value_ns.median);
    let highest = all().map(|q| q.q).reduce(f64::max)?;
    let frame = Frame {
        look,
        title: super::titled(
            subject,
            &format!("{}: how slow are the slowest?", super::capital(op_name(&metric.op))),
            panel,
            look,
        ),
        hint: format!(
            "Lower is better. Right of 99 % lies the slowest call in a hundred. Median over \
             trials; a line ends where too few slow episodes carry it.{}",
            super::at_own_rate(panel)
        ),
        x: Axis::nines(highest),
        y: Axis::log(Unit::Nanoseconds, values()),
        x_title: "share of calls at or below".into(),
        y_title: format!("{}, {}", op_name(&metric.op), view_name(metric.view)),
        legend: rows.iter().map(|(row, _)| (row.label.clone(), subject.slot(&row.label))).collect(),
        rows: Rows::Marks,
    };
    let mut canvas = frame.open();
    for (row, quantiles) in &rows {
        let (label, slot) = (&row.label, subject.slot(&row.label));
        let points: Vec<_> = quantiles.iter().map(|q| (q.q, q.value_ns.median)).collect();
        canvas.line(label, slot, slot.dash(), &points);
        for (q, value) in points.into_iter().filter(|(q, _)| is_marked(*q)) {
            let tip = format!("{label}: {} at {}", duration_text(value), share_text(q));
            canvas.marker(label, slot, (q, value), false, tip);
        }
    }
    Some(canvas.scene)
}

fn is_marked(q: f64) -> bool {
    [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999].iter().any(|mark| (q - mark).abs() < 1e-9)
}
