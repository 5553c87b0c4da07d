use super::{
    Anchor, Axis, Dash, Ink, Item, Part, Scene, Shape, Slot, Spacing,
    lettering::{cut, width, wrap},
    scene::{ScaleMap, words},
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    pub width: f32,
    /// Height of the plotted area in picture units, before charts ask for more.
    pub plot: f32,
    pub font: f32,
    /// Whether a title names its panel: where the picture stands alone.
    pub alone: bool,
}

impl Look {
    pub const PAGE: Look = Look { width: 480.0, plot: 235.0, font: 13.0, alone: false };
    pub const SHEET: Look = Look { width: 900.0, plot: 400.0, font: 15.0, alone: true };
    pub const SMALL: Look = Look { width: 480.0, plot: 110.0, font: 12.0, alone: false };
    /// The first picture of a page, on a screen and on a telephone.
    pub const WIDE: Look = Look { width: 960.0, plot: 300.0, font: 14.0, alone: true };
    pub const NARROW: Look = Look { width: 380.0, plot: 235.0, font: 13.0, alone: true };
}

#[derive(Debug, Clone)]
pub struct Frame {
    pub look: Look,
    pub title: String,
    pub hint: String,
    pub x: Axis,
    pub y: Axis,
    pub x_title: String,
    pub y_title: String,
    pub legend: Vec<(String, Slot)>,
    pub rows: Rows,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Rows {
    Marks,
    /// Names, and room for what stands behind each row.
    Names(Vec<String>, f32),
}

#[derive(Debug, Clone)]
pub struct Canvas {
    pub scene: Scene,
    pub x: Axis,
    pub y: Axis,
    pub left: f32,
    pub top: f32,
    pub right: f32,
    pub bottom: f32,
    pub font: f32,
}

impl Frame {
    pub fn open(self) -> Canvas {
        let scene = Scene {
            width: self.look.width,
            height: 0.0,
            description: format!("{}. {}", self.title, self.hint),
            items: Vec::new(),
            x: None,
            y: None,
        };
        let font = self.look.font;
        let (x, y) = (self.x.clone(), self.y.clone());
        let behind = if let Rows::Names(_, behind) = self.rows { behind } else { 0.0 };
        let (left, right) = (0.0, self.look.width - font * 1.4 - behind);
        let mut canvas = Canvas { scene, x, y, left, top: 0.0, right, bottom: 0.0, font };
        canvas.left = self.left_margin();
        let head = self.draw_head(&mut canvas.scene);
        let gap = if self.y_title.is_empty() { 0.6 } else { 2.3 };
        canvas.top = self.draw_legend(&mut canvas.scene, head) + font * gap;
        canvas.bottom = canvas.top + self.look.plot;
        canvas.scene.height = canvas.bottom + font * 3.4;
        self.draw_axes(&mut canvas);
        if self.rows == Rows::Marks {
            canvas.scene.x = Some(scale(&canvas.x, canvas.left, canvas.right));
            canvas.scene.y = Some(scale(&canvas.y, canvas.bottom, canvas.top));
        }
        canvas
    }

    fn left_margin(&self) -> f32 {
        let font = self.look.font;
        let widest = match &self.rows {
            Rows::Marks => self.y.ticks.iter().map(|t| width(&t.text, font)).fold(0.0, f32::max),
            Rows::Names(names, _) => names.iter().map(|n| width(n, font)).fold(0.0, f32::max),
        };
        font * 1.2 + widest.min(self.look.width * 0.32)
    }

    fn draw_head(&self, scene: &mut Scene) -> f32 {
        let font = self.look.font;
        let limit = self.look.width - font * 1.4;
        let mut y = font * 0.4;
        // Bold letters are wider than those that are measured.
        for line in wrap(&self.title, font * 1.25, limit) {
            y += font * 1.4;
            scene.bold((font * 0.7, y), font * 1.1, Ink::Text, &line);
        }
        for line in wrap(&self.hint, font * 0.92, limit) {
            y += font * 1.3;
            scene.words((font * 0.7, y), font * 0.92, Anchor::Start, Ink::Muted, &line);
        }
        y + font * 0.4
    }

    fn draw_legend(&self, scene: &mut Scene, top: f32) -> f32 {
        let font = self.look.font;
        let (mut x, mut y) = (font * 0.7, top);
        if !self.legend.is_empty() {
            y += font * 1.25;
        }
        for (label, slot) in &self.legend {
            let text = cut(label, font, self.look.width - font * 4.5);
            let wide = font * 2.6 + width(&text, font);
            if x + wide > self.look.width - font * 0.5 && x > font {
                (x, y) = (font * 0.7, y + font * 1.45);
            }
            draw_entry(scene, (x, y), font, (label, &text), *slot);
            x += wide + font * 1.1;
        }
        y
    }

    fn draw_axes(&self, canvas: &mut Canvas) {
        let font = canvas.font;
        draw_vertical_marks(self, canvas);
        match &self.rows {
            Rows::Marks => draw_horizontal_marks(self, canvas),
            Rows::Names(names, _) => draw_names(names, canvas),
        }
        let base = (canvas.left, canvas.bottom);
        canvas.rule(base, (canvas.right, canvas.bottom), Ink::Muted, 1.0);
        let under = canvas.bottom + font * 2.7;
        let middle = (canvas.left + canvas.right) / 2.0;
        canvas.scene.words((middle, under), font * 0.92, Anchor::Middle, Ink::Muted, &self.x_title);
        let above = (font * 0.7, canvas.top - font * 0.75);
        canvas.scene.words(above, font * 0.92, Anchor::Start, Ink::Muted, &self.y_title);
    }
}

fn draw_entry(
    scene: &mut Scene,
    at: (f32, f32),
    font: f32,
    (series, text): (&str, &str),
    slot: Slot,
) {
    let (ink, middle) = (Ink::Series(slot), at.1 - font * 0.35);
    let points = vec![(at.0, middle), (at.0 + font * 2.0, middle)];
    let line = Shape::Line { points, ink, width: 2.0, dash: slot.dash() };
    let x = at.0 + font;
    let radius = font * 0.27;
    let marker = Shape::Marker { x, y: middle, radius, form: slot.form(), ink, hollow: false };
    let words = words((at.0 + font * 2.4, at.1), font, Anchor::Start, Ink::Text, text);
    let tip = (series != text).then(|| series.to_string());
    for (shape, tip) in [(line, None), (marker, None), (words, tip)] {
        scene.items.push(Item { part: Part::Key(series.into()), tip, shape });
    }
}

fn draw_vertical_marks(frame: &Frame, canvas: &mut Canvas) {
    let font = canvas.font;
    let mut free_from = f32::MIN;
    let first = canvas.scene.items.len();
    for tick in &frame.x.ticks {
        let x = canvas.x_of(tick.value);
        canvas.rule((x, canvas.top), (x, canvas.bottom), Ink::Grid, 1.0);
        let half = width(&tick.text, font * 0.92) / 2.0;
        if x - half >= free_from {
            let shift = (x + half - canvas.scene.width + 2.0).max(0.0);
            let at = (x - shift, canvas.bottom + font * 1.25);
            canvas.scene.words(at, font * 0.92, Anchor::Middle, Ink::Text, &tick.text);
            free_from = x + half + font * 0.6;
        }
    }
    canvas.scene.items[first..].iter_mut().for_each(|item| item.part = Part::Along);
}

fn draw_horizontal_marks(frame: &Frame, canvas: &mut Canvas) {
    let font = canvas.font;
    let first = canvas.scene.items.len();
    let mut free_below = f32::MAX;
    for tick in &frame.y.ticks {
        let y = canvas.y_of(tick.value);
        canvas.rule((canvas.left, y), (canvas.right, y), Ink::Grid, 1.0);
        if y + font * 0.4 <= free_below {
            let at = (canvas.left - font * 0.5, y + font * 0.35);
            canvas.scene.words(at, font * 0.92, Anchor::End, Ink::Text, &tick.text);
            free_below = y - font * 0.6;
        }
    }
    canvas.scene.items[first..].iter_mut().for_each(|item| item.part = Part::Up);
}

fn draw_names(names: &[String], canvas: &mut Canvas) {
    let font = canvas.font;
    let row = (canvas.bottom - canvas.top) / names.len().max(1) as f32;
    for (index, name) in names.iter().enumerate() {
        let y = canvas.top + row * (index as f32 + 0.5) + font * 0.35;
        let text = cut(name, font, canvas.left - font * 0.6);
        let at = (canvas.left - font * 0.5, y);
        canvas.scene.words(at, font, Anchor::End, Ink::Text, &text);
    }
}

impl Canvas {
    pub fn x_of(&self, value: f64) -> f32 {
        self.left + (self.right - self.left) * self.x.place(value) as f32
    }

    pub fn y_of(&self, value: f64) -> f32 {
        self.bottom - (self.bottom - self.top) * self.y.place(value) as f32
    }

    pub fn rule(&mut self, from: (f32, f32), to: (f32, f32), ink: Ink, width: f32) {
        let points = vec![from, to];
        self.scene.add(Shape::Line { points, ink, width, dash: Dash::Solid });
    }

    pub fn line(&mut self, series: &str, slot: Slot, dash: Dash, values: &[(f64, f64)]) {
        let points: Vec<_> = values.iter().map(|(x, y)| (self.x_of(*x), self.y_of(*y))).collect();
        let line = Shape::Line { points, ink: Ink::Series(slot), width: 1.8, dash };
        self.scene.add_series(series, None, line);
    }

    pub fn marker(&mut self, series: &str, slot: Slot, at: (f64, f64), hollow: bool, tip: String) {
        let (x, y, radius) = (self.x_of(at.0), self.y_of(at.1), self.font * 0.26);
        let marker =
            Shape::Marker { x, y, radius, form: slot.form(), ink: Ink::Series(slot), hollow };
        self.scene.add_series(series, Some(tip), marker);
    }
}

pub(super) fn scale(axis: &Axis, from: f32, to: f32) -> ScaleMap {
    let kind = match axis.spacing {
        Spacing::Linear => "linear",
        Spacing::Log => "log",
        Spacing::Nines => "nines",
    };
    ScaleMap { kind, low: axis.low, high: axis.high, from, to, unit: axis.unit.name() }
}
