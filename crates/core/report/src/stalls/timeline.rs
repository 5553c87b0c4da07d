//! The grey line is the worst operation of every second, over all trials of the cell: a peak without a
//! marker is an operation that was not opened.

use pickfs_analysis::stalls::{OpTable, StallTable, WorstOperation};
use pickfs_record::{
    plan::{Metric, Statistic, View},
    quantity::{duration_text, grouped},
};

use super::{
    causes::{Causes, told},
    words::is_many,
};
use crate::{
    Subject,
    chart::{Axis, Frame, Look, Rows, Scene, Slot, Unit, worst_of_seconds},
    wording::op_name,
};

const OPS: usize = 2;
const OPERATIONS: usize = 160;
const WORST: &str = "worst of every second";

pub fn draw(subject: &Subject, table: &StallTable, look: Look) -> Vec<Scene> {
    let causes = Causes::of(&subject.stalls);
    let with_operations = table.ops.iter().filter(|op| is_many(op) && !op.worst.is_empty());
    with_operations.take(OPS).map(|op| picture(subject, table, op, &causes, look)).collect()
}

fn picture(
    subject: &Subject,
    table: &StallTable,
    op: &OpTable,
    causes: &Causes,
    look: Look,
) -> Scene {
    let operations: Vec<&WorstOperation> = op.worst.iter().take(OPERATIONS).collect();
    let line = line(subject, table, op);
    let seconds =
        operations.iter().map(|worst| worst.at_ns as f64 / 1e9).chain(line.iter().map(|p| p.0));
    let end = seconds.fold(1.0, f64::max);
    let values = operations
        .iter()
        .map(|worst| worst.operation.length_ns() as f64)
        .chain(line.iter().map(|p| p.1));
    let leaders = operations.iter().filter_map(|worst| Some(told(worst, causes)?.0));
    let mut legend = causes.legend(leaders);
    if !line.is_empty() {
        legend.push((WORST.into(), Slot::Floor(1)));
    }
    let frame = Frame {
        look,
        title: format!("Why {} was slow · {}", op_name(&op.op), table.subject),
        hint: hint(table, op, operations.len()),
        x: Axis::span(Unit::Seconds, 0.0, end),
        y: Axis::log(Unit::Nanoseconds, values.filter(|value| *value > 0.0)),
        x_title: "second of the trial (s)".into(),
        y_title: format!("{}, service time", op_name(&op.op)),
        legend,
        rows: Rows::Marks,
    };
    let mut canvas = frame.open();
    if !line.is_empty() {
        let slot = Slot::Floor(1);
        canvas.line(WORST, slot, slot.dash(), &line);
    }
    for worst in operations {
        let Some((cause, tip)) = told(worst, causes) else { continue };
        let at = (worst.at_ns as f64 / 1e9, worst.operation.length_ns() as f64);
        canvas.marker(causes.series(cause), causes.slot(cause), at, false, tip);
    }
    canvas.scene
}

fn hint(table: &StallTable, op: &OpTable, shown: usize) -> String {
    let which = match op.sums.operations > shown as u64 {
        true => format!("The {} slowest of {}", shown, grouped(op.sums.operations as i64)),
        false => format!("All {}", grouped(op.sums.operations as i64)),
    };
    format!(
        "{which} operations above {}, all trials over each other; colour and marker name the cause of \
         most of an operation's time.",
        duration_text(table.above_ns as f64)
    )
}

fn line(subject: &Subject, table: &StallTable, op: &OpTable) -> Vec<(f64, f64)> {
    let Some(cell) = &table.cell else { return Vec::new() };
    let metric = Metric {
        op: op.op.clone(),
        view: View::Service,
        statistic: Statistic::Quantile(0.5),
        at: Default::default(),
    };
    let points = worst_of_seconds(subject, cell, &metric);
    points.into_iter().map(|(second, value)| (second + 0.5, value)).collect()
}
