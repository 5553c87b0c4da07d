//! A scene knows nothing of files or formats.

use super::Slot;

/// One picture unit is one pixel at scale 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scene {
    pub width: f32,
    pub height: f32,
    pub description: String,
    pub items: Vec<Item>,
    /// How points translate back to values, for hovering and zooming; absent where a side has none.
    pub x: Option<ScaleMap>,
    pub y: Option<ScaleMap>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub part: Part,
    pub tip: Option<String>,
    pub shape: Shape,
}

/// What a page may move, hide or draw anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Part {
    #[default]
    Plain,
    /// Marks of the axis that runs along, or up.
    Along,
    Up,
    /// The entry of a legend, by its series.
    Key(String),
    Data(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    Line {
        points: Vec<(f32, f32)>,
        ink: Ink,
        width: f32,
        dash: Dash,
    },
    Bar {
        x: f32,
        y: f32,
        width: f32,
        height: f32,
        ink: Ink,
    },
    Marker {
        x: f32,
        y: f32,
        radius: f32,
        form: Form,
        ink: Ink,
        hollow: bool,
    },
    /// Dashes from left to right, each with its start and width: a part of a picture of densities.
    Cells {
        cells: Vec<(f32, f32, f32)>,
        height: f32,
        ink: Ink,
        share: f32,
    },
    Words {
        x: f32,
        y: f32,
        size: f32,
        anchor: Anchor,
        ink: Ink,
        bold: bool,
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Paper,
    Text,
    Muted,
    Grid,
    Series(Slot),
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
    /// Two strokes, for what does not count.
    Cross,
}

impl Form {
    pub fn corners(self, x: f32, y: f32, r: f32) -> Vec<(f32, f32)> {
        let t = r * 1.25;
        match self {
            Form::Disc | Form::Cross => Vec::new(),
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
    /// All of it at another place.
    pub fn moved(mut self, dx: f32, dy: f32) -> Scene {
        for item in &mut self.items {
            match &mut item.shape {
                Shape::Line { points, .. } => {
                    points.iter_mut().for_each(|at| *at = (at.0 + dx, at.1 + dy));
                }
                Shape::Cells { cells, .. } => {
                    cells.iter_mut().for_each(|at| *at = (at.0 + dx, at.1 + dy, at.2));
                }
                Shape::Bar { x, y, .. }
                | Shape::Marker { x, y, .. }
                | Shape::Words { x, y, .. } => {
                    (*x, *y) = (*x + dx, *y + dy);
                }
            }
        }
        self
    }

    pub fn add(&mut self, shape: Shape) {
        self.items.push(Item { part: Part::Plain, tip: None, shape });
    }

    pub fn add_series(&mut self, series: &str, tip: Option<String>, shape: Shape) {
        self.items.push(Item { part: Part::Data(series.into()), tip, shape });
    }

    pub fn words(&mut self, at: (f32, f32), size: f32, anchor: Anchor, ink: Ink, text: &str) {
        self.add(words(at, size, anchor, ink, text));
    }

    pub fn bold(&mut self, at: (f32, f32), size: f32, ink: Ink, text: &str) {
        let (x, y, text) = (at.0, at.1, text.to_string());
        self.add(Shape::Words { x, y, size, anchor: Anchor::Start, ink, bold: true, text });
    }
}

pub fn words(
    at: (f32, f32),
    size: f32,
    anchor: Anchor,
    ink: Ink,
    text: impl Into<String>,
) -> Shape {
    Shape::Words { x: at.0, y: at.1, size, anchor, ink, bold: false, text: text.into() }
}
