//! A scene as PNG bytes, painted here: no font and no program of the machine is needed.
//!
//! Letters are outlines of the font inside the program, so a picture looks the
//! same everywhere.

use thiserror::Error;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};
use ttf_parser::OutlineBuilder;

use crate::{
    chart::{
        Anchor, Form, Ink, Scene, Shape,
        lettering::{letters, outline, units_per_height},
    },
    svg::ink_colour,
};

#[derive(Debug, Clone, PartialEq, Error)]
pub enum PngError {
    #[error("picture of {width} x {height} pixels not painted; use a scale between 0.1 and 8")]
    Size { width: f32, height: f32 },
    #[error("picture not encoded: {reason}; write SVG instead")]
    Encoding { reason: String },
}

/// Paints a scene on white paper; `scale` is pixels per picture unit (2 for print and
/// dense screens).
pub fn png(scene: &Scene, scale: f32) -> Result<Vec<u8>, PngError> {
    let (width, height) = ((scene.width * scale).ceil(), (scene.height * scale).ceil());
    let sane = |v: f32| (1.0..=16_384.0).contains(&v);
    let pixmap = (sane(width) && sane(height)).then(|| Pixmap::new(width as u32, height as u32));
    let mut pixmap = pixmap.flatten().ok_or(PngError::Size { width, height })?;
    pixmap.fill(colour(Ink::Paper));
    let mut painter = Painter { pixmap, transform: Transform::from_scale(scale, scale) };
    for item in &scene.items {
        painter.shape(&item.shape);
    }
    painter.pixmap.encode_png().map_err(|e| PngError::Encoding { reason: e.to_string() })
}

struct Painter {
    pixmap: Pixmap,
    transform: Transform,
}

impl Painter {
    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Line { points, ink, width, dash } => {
                let dash = StrokeDash::new(dash.lengths().to_vec(), 0.0);
                self.stroke(polygon(points, false), *ink, *width, dash);
            }
            Shape::Bar { x, y, width, height, ink } => {
                let rect = Rect::from_xywh(*x, *y, width.max(0.01), height.max(0.01));
                self.fill(rect.map(PathBuilder::from_rect), *ink);
            }
            Shape::Marker { x, y, radius, form, ink, hollow } => {
                let path = match form {
                    Form::Disc => PathBuilder::from_circle(*x, *y, *radius),
                    Form::Cross => cross(*x, *y, *radius),
                    form => polygon(&form.corners(*x, *y, *radius), true),
                };
                self.fill(path.clone(), if *hollow { Ink::Paper } else { *ink });
                self.stroke(path, *ink, 1.4, None);
            }
            Shape::Cells { cells, height, ink, share } => {
                let mut paint = paint(*ink);
                paint.set_color(faint(*ink, *share));
                for (x, y, width) in cells {
                    let rect = Rect::from_xywh(*x, y - height / 2.0, width.max(0.01), *height);
                    if let Some(rect) = rect {
                        self.pixmap.fill_rect(rect, &paint, self.transform, None);
                    }
                }
            }
            Shape::Words { x, y, size, anchor, ink, bold, text } => {
                self.words((*x, *y), *size, *anchor, (*ink, *bold), text);
            }
        }
    }

    fn words(&mut self, at: (f32, f32), size: f32, anchor: Anchor, how: (Ink, bool), text: &str) {
        let (letters, width) = letters(text);
        let start = match anchor {
            Anchor::Start => at.0,
            Anchor::Middle => at.0 - width * size / 2.0,
            Anchor::End => at.0 - width * size,
        };
        let mut pen =
            Pen { builder: PathBuilder::new(), x: 0.0, y: at.1, unit: size / units_per_height() };
        for letter in letters {
            pen.x = start + letter.offset * size;
            outline(letter.glyph, &mut pen);
        }
        let path = pen.builder.finish();
        if how.1 {
            self.stroke(path.clone(), how.0, size * 0.05, None);
        }
        self.fill(path, how.0);
    }

    fn fill(&mut self, path: Option<Path>, ink: Ink) {
        if let Some(path) = path {
            let paint = paint(ink);
            self.pixmap.fill_path(&path, &paint, FillRule::Winding, self.transform, None);
        }
    }

    fn stroke(&mut self, path: Option<Path>, ink: Ink, width: f32, dash: Option<StrokeDash>) {
        let Some(path) = path else { return };
        let line_join = LineJoin::Round;
        let stroke =
            Stroke { width, dash, line_join, line_cap: LineCap::Butt, ..Stroke::default() };
        self.pixmap.stroke_path(&path, &paint(ink), &stroke, self.transform, None);
    }
}

fn paint(ink: Ink) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(colour(ink));
    paint
}

fn colour(ink: Ink) -> Color {
    faint(ink, 1.0)
}

fn faint(ink: Ink, share: f32) -> Color {
    let [r, g, b] = ink_colour(ink).parts();
    Color::from_rgba8(r, g, b, (share * 255.0).round() as u8)
}

fn cross(x: f32, y: f32, r: f32) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for side in [r, -r] {
        builder.move_to(x - r, y - side);
        builder.line_to(x + r, y + side);
    }
    builder.finish()
}

fn polygon(points: &[(f32, f32)], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    let (first, rest) = points.split_first()?;
    builder.move_to(first.0, first.1);
    for (x, y) in rest {
        builder.line_to(*x, *y);
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

/// Moves outlines from font units (y up) to picture units (y down).
struct Pen {
    builder: PathBuilder,
    x: f32,
    y: f32,
    unit: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.unit, self.y - y * self.unit)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> Scene {
        let mut scene = Scene {
            width: 60.0,
            height: 20.0,
            description: String::new(),
            items: Vec::new(),
            x: None,
            y: None,
        };
        scene.words((2.0, 15.0), 12.0, Anchor::Start, Ink::Text, "p99.9");
        scene
    }

    #[test]
    fn letters_are_painted_without_a_font_on_the_machine() {
        let bytes = png(&scene(), 2.0).expect("painted");
        let picture = Pixmap::decode_png(&bytes).expect("a PNG");
        assert_eq!((picture.width(), picture.height()), (120, 40));
        let dark = picture.pixels().iter().filter(|p| p.red() < 100).count();
        assert!(dark > 50, "{dark} dark pixels");
    }

    #[test]
    fn a_picture_of_no_size_says_what_to_do() {
        let error = png(&scene(), 0.0).expect_err("no size");
        assert!(error.to_string().contains("use a scale"));
    }
}
