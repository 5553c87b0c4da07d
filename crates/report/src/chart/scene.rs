//! A picture as data: lines, areas, bars, markers and words in picture units.
//!
//! A scene knows nothing of files or formats. [`crate::svg`] writes it as text,
//! [`crate::png`] paints it; both show the same thing, so a chart is drawn once.

use super::Slot;

/// A finished picture. One picture unit is one pixel at scale 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Width in picture units.
    pub width: f32,
    /// Height in picture units.
    pub height: f32,
    /// What the picture shows, for readers that cannot see it.
    pub description: String,
    /// What is drawn, lowest first.
    pub items: Vec<Item>,
    /// How points translate back to values, for hovering; absent for bars.
    pub scales: Option<Scales>,
}

/// One drawn thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The series that it belongs to: hidden together with its legend entry.
    pub series: Option<String>,
    /// The entry of a legend, not the data.
    pub legend: bool,
    /// Words that a pointer shows over it.
    pub tip: Option<String>,
    /// What it looks like.
    pub shape: Shape,
}

/// The geometry of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line through points.
    Line {
        /// Corners.
        points: Vec<(f32, f32)>,
        /// Colour.
        ink: Ink,
        /// Width of the stroke.
        width: f32,
        /// Dash pattern.
        dash: Dash,
    },
    /// A filled rectangle.
    Bar {
        /// Left edge.
        x: f32,
        /// Upper edge.
        y: f32,
        /// Width, not negative.
        width: f32,
        /// Height, not negative.
        height: f32,
        /// Colour.
        ink: Ink,
    },
    /// A marker around a point.
    Marker {
        /// Centre.
        x: f32,
        /// Centre.
        y: f32,
        /// Half of its size.
        radius: f32,
        /// Form.
        form: Form,
        /// Colour.
        ink: Ink,
        /// Only the outline: a doubtful value.
        hollow: bool,
    },
    /// Words on one line.
    Words {
        /// Anchor.
        x: f32,
        /// Baseline.
        y: f32,
        /// Height of the font.
        size: f32,
        /// Where the anchor lies.
        anchor: Anchor,
        /// Colour.
        ink: Ink,
        /// The words.
        text: String,
    },
}

/// A colour by its role; the page and the painter choose the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Behind everything.
    Paper,
    /// Words and axes.
    Text,
    /// Secondary words.
    Muted,
    /// Grid lines.
    Grid,
    /// A series.
    Series(Slot),
    /// A step of the heat map: below zero faster than the reference, above slower.
    Heat(i8),
}

/// Dash pattern of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    /// No gaps.
    Solid,
    /// Long dashes.
    Long,
    /// Short dashes.
    Short,
    /// Long and short in turn.
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

/// Form of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A triangle, tip up.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle, tip down.
    Wedge,
}

impl Form {
    /// Corners of the form around a centre; a disc has none.
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

/// Which part of the words sits on the anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The first letter.
    Start,
    /// The middle.
    Middle,
    /// The last letter.
    End,
}

/// How points translate back to values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scales {
    /// Across.
    pub x: ScaleMap,
    /// Up.
    pub y: ScaleMap,
}

/// One direction: `low` lies at `from`, `high` at `to`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaleMap {
    /// `linear`, `log` or `nines`.
    pub kind: &'static str,
    /// Value at `from`.
    pub low: f64,
    /// Value at `to`.
    pub high: f64,
    /// Picture unit.
    pub from: f32,
    /// Picture unit.
    pub to: f32,
    /// `ns` for durations, `s` and `min` for times, `q` for shares, empty for numbers.
    pub unit: &'static str,
}

impl Scene {
    /// Adds something that belongs to no series.
    pub fn add(&mut self, shape: Shape) {
        self.items.push(Item { series: None, legend: false, tip: None, shape });
    }

    /// Adds a part of a series.
    pub fn add_series(&mut self, series: &str, tip: Option<String>, shape: Shape) {
        self.items.push(Item { series: Some(series.into()), legend: false, tip, shape });
    }

    /// Adds words.
    pub fn words(&mut self, at: (f32, f32), size: f32, anchor: Anchor, ink: Ink, text: &str) {
        let text = text.to_string();
        self.add(Shape::Words { x: at.0, y: at.1, size, anchor, ink, text });
    }
}
