//! A scene knows nothing of files or formats.

use super::Slot;

/// One picture unit is one pixel at scale 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    pub width: f32,
    pub height: f32,
    pub description: String,
    pub items: Vec<Item>,
    /// How points translate back to values, for hovering; absent for bars.
    pub scales: Option<Scales>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub series: Option<String>,
    /// The entry of a legend, not the data.
    pub legend: bool,
    pub tip: Option<String>,
    pub shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    Line { points: Vec<(f32, f32)>, ink: Ink, width: f32, dash: Dash },
    Bar { x: f32, y: f32, width: f32, height: f32, ink: Ink },
    Marker { x: f32, y: f32, radius: f32, form: Form, ink: Ink, hollow: bool },
    Words { x: f32, y: f32, size: f32, anchor: Anchor, ink: Ink, text: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Paper,
    Text,
    Muted,
    Grid,
    Series(Slot),
    /// A step of the heat map: below zero faster than the reference, above slower.
    Heat(i8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    Solid,
    Long,
    Short,
    Mixed,
    /// Dots: values that are not carried by enough episodes.
    Dotted,
}

impl Dash {
    /// Lengths of strokes and gaps in units of the picture; empty for a solid line.
    pub fn lengths(self) -> &'static [f32] {
        match self {
            Dash::Solid => &[],
            Dash::Long => &[9.0, 4.0],
            Dash::Short => &[4.0, 3.0],
            Dash::Mixed => &[10.0, 3.0, 2.0, 3.0],
            Dash::Dotted => &[1.0, 3.0],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Disc,
    Square,
    Triangle,
    Diamond,
    Wedge,
}

impl Form {
    pub fn corners(self, x: f32, y: f32, r: f32) -> Vec<(f32, f32)> {
        let t = r * 1.25;
        match self {
            Form::Disc => Vec::new(),
            Form::Square => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            Form::Triangle => vec![(x, y - t), (x + t, y + r), (x - t, y + r)],
            Form::Wedge => vec![(x, y + t), (x + t, y - r), (x - t, y - r)],
            Form::Diamond => vec![(x, y - t), (x + t, y), (x, y + t), (x - t, y)],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scales {
    pub x: ScaleMap,
    pub y: ScaleMap,
}

/// One direction: `low` lies at `from`, `high` at `to`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaleMap {
    /// `linear`, `log` or `nines`.
    pub kind: &'static str,
    pub low: f64,
    pub high: f64,
    pub from: f32,
    pub to: f32,
    /// `ns` for durations, `s` and `min` for times, `q` for shares, empty for numbers.
    pub unit: &'static str,
}

impl Scene {
    pub fn add(&mut self, shape: Shape) {
        self.items.push(Item { series: None, legend: false, tip: None, shape });
    }

    pub fn add_series(&mut self, series: &str, tip: Option<String>, shape: Shape) {
        self.items.push(Item { series: Some(series.into()), legend: false, tip, shape });
    }

    pub fn words(&mut self, at: (f32, f32), size: f32, anchor: Anchor, ink: Ink, text: &str) {
        let text = text.to_string();
        self.add(Shape::Words { x: at.0, y: at.1, size, anchor, ink, text });
    }
}
