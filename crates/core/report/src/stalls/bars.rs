//! Every bar has the same length, as a picture of shares; how long the operation was stands left of it.

use pickfs_analysis::stalls::{OpTable, WorstOperation};
use pickfs_record::{
    quantity::duration_text,
    stall::{OperationPart, PartKind},
};

use super::causes::Causes;
use crate::{
    chart::{Axis, Canvas, Frame, Ink, Look, Rows, Scene, Shape, Unit},
    wording::op_name,
};

/// Height of a row in heights of the font.
const ROW: f32 = 1.9;
/// Parts that are narrower, in picture units, are not drawn.
const NARROW: f32 = 0.2;

pub fn draw(op: &OpTable, causes: &Causes, operations: usize, look: Look) -> Option<Scene> {
    let shown = &op.worst[..op.worst.len().min(operations)];
    if shown.is_empty() {
        return None;
    }
    let parts = shown.iter().flat_map(|worst| &worst.operation.parts);
    let frame = Frame {
        look: Look { plot: look.font * ROW * shown.len() as f32, ..look },
        title: format!("{}: the slowest operations, from start to end", op_name(&op.op)),
        hint: "Each bar is one operation; its length in time stands left of it. High: blocked; half: waiting for a \
               processor; low: on one.".into(),
        x: Axis::span(Unit::Count, 0.0, 100.0),
        y: Axis::between(Unit::Count, 0.0, shown.len() as f64),
        x_title: "share of the operation (%)".into(),
        y_title: String::new(),
        legend: causes.legend(parts.map(|part| part.cause.as_str())),
        rows: Rows::Names(shown.iter().map(name).collect(), 0.0),
    };
    let mut canvas = frame.open();
    shown.iter().enumerate().for_each(|(row, worst)| bar(&mut canvas, row, worst, causes));
    Some(canvas.scene)
}

fn name(worst: &WorstOperation) -> String {
    let length = duration_text(worst.operation.length_ns() as f64);
    match worst.trial {
        0 => length,
        trial => format!("{length}, trial {trial}"),
    }
}

fn bar(canvas: &mut Canvas, row: usize, worst: &WorstOperation, causes: &Causes) {
    let font = canvas.font;
    let total_ns: u64 = worst.operation.parts.iter().map(|part| part.length_ns).sum();
    let y = canvas.top + font * ROW * row as f32 + font * 0.35;
    let mut passed_ns = 0;
    for part in &worst.operation.parts {
        let share = |ns: u64| 100.0 * ns as f64 / total_ns.max(1) as f64;
        let (from, to) = (share(passed_ns), share(passed_ns + part.length_ns));
        passed_ns += part.length_ns;
        let (x, end) = (canvas.x_of(from), canvas.x_of(to));
        if end - x < NARROW {
            continue;
        }
        let ink = Ink::Series(causes.slot(&part.cause));
        // A part that waits stands full, one that works or is not known stands lower: the kinds
        // are told apart without colour.
        let height = match part.kind {
            PartKind::Blocked => font * 1.2,
            PartKind::CpuWait => font * 0.8,
            PartKind::OnCpu | PartKind::Unexplained => font * 0.4,
        };
        let shape = Shape::Bar { x, y: y + font * 1.2 - height, width: end - x, height, ink };
        canvas.scene.add_series(causes.series(&part.cause), Some(tip(part, causes)), shape);
    }
}

fn tip(part: &OperationPart, causes: &Causes) -> String {
    let by = if part.who.is_empty() { String::new() } else { format!(", by {}", part.who) };
    format!("{} {}{by}", duration_text(part.length_ns as f64), causes.title(&part.cause))
}
