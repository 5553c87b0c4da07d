use pickfs_record::finding::{Panel, PhaseRow, Row};

use super::{
    footnotes::lost_word,
    words::{range_number, rate_text, unit_name},
};
use crate::{
    Subject,
    chart::{
        Anchor, Axis, Canvas, Dash, Frame, Ink, Look, Rows, Scene, Shape, Unit, lettering::width,
    },
};

/// Phases of which a panel may have so many before bars are kept to the ones that matter most.
const PHASES_MAX: usize = 32;

pub fn charted(panel: &Panel) -> Vec<&PhaseRow> {
    let few = panel.phases.len() <= PHASES_MAX;
    panel.phases.iter().filter(|phase| few || phase.is_high_impact || phase.is_derived).collect()
}

pub fn draw(subject: &Subject, panel: &Panel, phase: &PhaseRow, look: Look) -> Option<Scene> {
    let rates = phase.cells.iter().filter_map(|cell| cell.rate);
    let highest = rates.map(|rate| rate.high).reduce(f64::max)?;
    let at = if panel.title.is_empty() { "" } else { &format!(" · {}", panel.title) };
    let scale = if unit_name(phase.unit) == "MB/s" { 1e-6 } else { 1.0 };
    let names = panel.rows.iter().map(|row| row.label.clone()).collect();
    let frame = Frame {
        look: Look { plot: look.font * 2.2 * panel.rows.len() as f32, ..look },
        title: format!("{}, {}{at}", phase.phase, unit_name(phase.unit)),
        hint: "Longer is better. Median over trials; the thin line is the range over trials."
            .into(),
        x: Axis::span(Unit::Count, 0.0, (highest * scale).max(1e-9) * room(phase, look)),
        y: Axis::between(Unit::Count, 0.0, panel.rows.len() as f64),
        x_title: unit_name(phase.unit).into(),
        y_title: String::new(),
        legend: Vec::new(),
        rows: Rows::Names(names),
    };
    let mut canvas = frame.open();
    canvas.scene.scales = None;
    for (index, row) in panel.rows.iter().enumerate() {
        bar(&mut canvas, (subject, panel, phase), (index, row), scale);
    }
    Some(canvas.scene)
}

fn room(phase: &PhaseRow, look: Look) -> f64 {
    let texts =
        phase.cells.iter().filter_map(|cell| Some(rate_text(phase.unit, cell.rate?.median)));
    let widest = texts.map(|text| width(&text, look.font)).fold(0.0, f32::max) + look.font * 2.0;
    let plot = look.width * 0.7;
    f64::from(plot / (plot - widest).max(plot * 0.3))
}

fn bar(
    canvas: &mut Canvas,
    (subject, panel, phase): (&Subject, &Panel, &PhaseRow),
    (index, row): (usize, &Row),
    scale: f64,
) {
    let font = canvas.font;
    let middle = canvas.top + font * 2.2 * (index as f32 + 0.5);
    let cell = &phase.cells[index];
    let Some(rate) = cell.rate else {
        let word = lost_word(subject, panel, phase, index);
        let why = cell.failure.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        return words(canvas, row, (canvas.left, middle), Ink::Muted, &format!("{word}{why}"));
    };
    let ink = Ink::Series(subject.slot(&row.label));
    let (from, to) = (canvas.left, canvas.x_of(rate.median * scale));
    let text = rate_text(phase.unit, rate.median);
    let tip = format!("{}: {text} ({})", row.label, range_number(phase.unit, rate));
    let (x, y) = (from, middle - font * 0.65);
    let shape = Shape::Bar { x, y, width: (to - from).max(1.5), height: font * 1.3, ink };
    canvas.scene.add_series(&row.label, Some(tip), shape);
    let (low, high) = (canvas.x_of(rate.low * scale), canvas.x_of(rate.high * scale));
    if high - low > 1.0 {
        let points = vec![(low, middle), (high, middle)];
        let whisker = Shape::Line { points, ink: Ink::Text, width: 1.2, dash: Dash::Solid };
        canvas.scene.add_series(&row.label, None, whisker);
    }
    words(canvas, row, (high.max(to), middle), Ink::Text, &text);
}

fn words(canvas: &mut Canvas, row: &Row, (x, middle): (f32, f32), ink: Ink, text: &str) {
    let font = canvas.font;
    let limit = canvas.scene.width - x - font;
    let shape = Shape::Words {
        x: x + font * 0.5,
        y: middle + font * 0.35,
        size: font,
        anchor: Anchor::Start,
        ink,
        text: crate::chart::lettering::cut(text, font, limit),
    };
    let tip = (ink == Ink::Muted).then(|| format!("{}: {text}", row.label));
    canvas.scene.add_series(&row.label, tip, shape);
}
