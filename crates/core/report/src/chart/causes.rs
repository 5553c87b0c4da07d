//! The causes of the slowest operations, beside their spikes in charts over time; only where a run was explained.

use pickfs_record::CellId;

use super::{
    Anchor, Canvas, Form, Ink, Shape,
    lettering::{cut, width},
    words,
};
use crate::{
    Subject,
    stalls::causes::{Causes, told},
    subject::timed_op,
};

pub struct Mark {
    pub second: f64,
    pub value_ns: f64,
    cause: String,
    tip: String,
}

pub fn worst(subject: &Subject, cell: &CellId, op: &str, most: usize) -> Vec<Mark> {
    let causes = Causes::of(&subject.stalls);
    let tables = subject.stalls.iter().filter(|table| table.cell.as_ref() == Some(cell));
    let own = tables.flat_map(|table| &table.ops).filter(|own| own.op == timed_op(op));
    let mark = |worst: &pickfs_analysis::stalls::WorstOperation| {
        let (cause, tip) = told(worst, &causes)?;
        let (second, value_ns) = (worst.at_ns as f64 / 1e9, worst.operation.length_ns() as f64);
        Some(Mark { second, value_ns, cause: causes.title(cause).into(), tip })
    };
    own.flat_map(|op| op.worst.iter().filter_map(mark).take(most)).collect()
}

/// A diamond for each, with its cause where that covers no other.
pub fn draw(canvas: &mut Canvas, marks: &[Mark], y_of: impl Fn(&Canvas, f64) -> f32) {
    let font = canvas.font * 0.85;
    let mut taken: Vec<(f32, f32, f32)> = Vec::new();
    for mark in marks {
        let (x, y) = (canvas.x_of(mark.second), y_of(canvas, mark.value_ns));
        let (ink, form, radius) = (Ink::Text, Form::Diamond, canvas.font * 0.25);
        let marker = Shape::Marker { x, y, radius, form, ink, hollow: true };
        canvas.scene.add_series("causes", Some(mark.tip.clone()), marker);
        let room = (canvas.right - x).max(x - canvas.left) - font;
        let text = cut(&mark.cause, font, room);
        let wide = width(&text, font) + font;
        let (from, at, anchor) = match canvas.right - x > wide {
            true => (x, x + font * 0.6, Anchor::Start),
            false => (x - wide, x - font * 0.6, Anchor::End),
        };
        let covers = |(left, right, other): &(f32, f32, f32)| {
            from < *right && from + wide > *left && (other - y).abs() < font * 1.2
        };
        if !taken.iter().any(covers) {
            taken.push((from, from + wide, y));
            let label = words((at, y + font * 0.35), font, anchor, Ink::Text, text);
            canvas.scene.add_series("causes", Some(mark.tip.clone()), label);
        }
    }
}
