use pickfs_analysis::phases::tables;
use pickfs_record::finding::{Panel, PhaseRow};

use super::{
    footnotes::lost_word,
    words::{
        interval_text, leaves_out_one, rate_number, rate_text, ratio_number, row_name, unit_name,
    },
};
use crate::{
    Subject,
    chart::{
        Anchor, Ink, Item, Look, Part, Scene, Shape,
        lettering::{cut, width, wrap},
        palette::HEAT_STEPS,
        words,
    },
};

/// Ratios at the two ends of the scale, the narrowest first; beyond the last the colour stays.
const REACHES: [f64; 4] = [2.0, 4.0, 16.0, 64.0];

pub fn draw(subject: &Subject, panel: &Panel, look: Look) -> Option<Scene> {
    let groups: Vec<(String, Vec<usize>)> =
        tables(subject.run, panel).into_iter().map(|table| (table.title, table.rows)).collect();
    if groups.is_empty() {
        return None;
    }
    let mut map = Map::new(subject, panel, look, &groups);
    map.head();
    for (title, rows) in &groups {
        map.group(title, rows);
    }
    map.foot();
    Some(map.scene)
}

struct Map<'m> {
    subject: &'m Subject<'m>,
    panel: &'m Panel,
    scene: Scene,
    font: f32,
    left: f32,
    column: f32,
    y: f32,
    reach: f64,
}

impl<'m> Map<'m> {
    fn new(
        subject: &'m Subject<'m>,
        panel: &'m Panel,
        look: Look,
        groups: &[(String, Vec<usize>)],
    ) -> Map<'m> {
        let font = look.font * 0.92;
        let names = groups.iter().flat_map(|(_, rows)| rows).map(|row| &panel.phases[*row]);
        let widest = names.map(|row| width(&name(row), font)).fold(0.0, f32::max);
        let left = font + widest.min(look.width * 0.5);
        let count = panel.rows.len().max(1) as f32;
        let column = ((look.width - left - font) / count).max(font * 4.2);
        let scene = Scene {
            width: left + column * count + font,
            height: 0.0,
            description: String::new(),
            items: Vec::new(),
            x: None,
            y: None,
        };
        Map { subject, panel, scene, font, left, column, y: 0.0, reach: reach(panel) }
    }

    fn head(&mut self) {
        let font = self.font;
        let at =
            if self.panel.title.is_empty() { "" } else { &format!(" · {}", self.panel.title) };
        let title = format!("Phases by candidate{at}");
        let reference = &self.panel.reference;
        let hint = format!(
            "Each cell: the rate of {reference} divided by the candidate's. Blue, under 1: faster \
             than {reference}; orange, above 1: slower; ~: its interval holds 1. The column of \
             {reference} has its rates. Geometric means of the blocks; intervals are in the tables."
        );
        let limit = self.scene.width - font * 1.4;
        for line in wrap(&title, font * 1.3, limit) {
            self.y += font * 1.7;
            let at = (font * 0.7, self.y);
            self.scene.bold(at, font * 1.15, Ink::Text, &line);
        }
        for line in wrap(&hint, font, limit) {
            self.y += font * 1.4;
            self.scene.words((font * 0.7, self.y), font, Anchor::Start, Ink::Muted, &line);
        }
        self.scene.description = format!("{title}. {hint}");
        self.legend();
        self.columns();
    }

    fn legend(&mut self) {
        let font = self.font;
        let (count, top) = (2 * HEAT_STEPS as usize + 1, self.y + font * 0.8);
        let wide = ((self.scene.width - font * 2.0) / count as f32).min(font * 2.4);
        for index in 0..count {
            let step = index as i8 - HEAT_STEPS;
            let x = font * 0.7 + wide * index as f32;
            self.bar((x, top), (wide, font), Ink::Heat(step), None);
        }
        let ends = (font * 0.7, font * 0.7 + wide * count as f32);
        let marks = [
            (ends.0, Anchor::Start, format!("{}, faster", ratio_number(1.0 / self.reach))),
            ((ends.0 + ends.1) / 2.0, Anchor::Middle, ratio_number(1.0)),
            (ends.1, Anchor::End, format!("slower, {}", ratio_number(self.reach))),
        ];
        for (x, anchor, text) in marks {
            self.scene.words((x, top + font * 2.2), font, anchor, Ink::Text, &text);
        }
        self.y = top + font * 2.4;
    }

    fn columns(&mut self) {
        let font = self.font;
        self.y += font * 2.0;
        for (index, row) in self.panel.rows.iter().enumerate() {
            let x = self.left + self.column * (index as f32 + 0.5);
            let text = cut(&row.label, font, self.column - font * 0.3);
            self.scene.items.push(Item {
                part: Part::Plain,
                tip: (text != row.label).then(|| row.label.clone()),
                shape: words((x, self.y), font, Anchor::Middle, Ink::Text, text),
            });
        }
        self.y += font * 0.5;
    }

    fn group(&mut self, title: &str, rows: &[usize]) {
        let font = self.font;
        self.y += font * 1.5;
        let text = cut(title, font, self.scene.width - font);
        self.scene.words((font * 0.7, self.y), font, Anchor::Start, Ink::Muted, &text);
        self.y += font * 0.5;
        for row in rows {
            self.row(&self.panel.phases[*row]);
        }
    }

    fn row(&mut self, phase: &PhaseRow) {
        let (font, tall) = (self.font, self.font * 1.75);
        let base = self.y + tall * 0.5 + font * 0.35;
        let text = cut(&name(phase), font, self.left - font);
        self.scene.words((self.left - font * 0.5, base), font, Anchor::End, Ink::Text, &text);
        for index in 0..phase.cells.len() {
            let x = self.left + self.column * index as f32;
            let found = self.cell(phase, index);
            let size = (self.column - 1.5, tall - 1.5);
            self.bar((x, self.y), size, found.ink, Some(found.tip));
            let middle = (x + self.column / 2.0, base);
            let small = font * 0.95;
            let text = cut(&found.text, small, self.column - 3.0);
            self.scene.words(middle, small, Anchor::Middle, Ink::Text, &text);
        }
        self.y += tall;
    }

    fn cell(&self, phase: &PhaseRow, index: usize) -> Found {
        let (row, cell) = (&self.panel.rows[index], &phase.cells[index]);
        let Some(rate) = cell.rate else {
            let word = lost_word(self.subject, self.panel, phase, index);
            let why = cell.failure.as_deref().unwrap_or("no result");
            let tip = format!("{}, {}: {word}: {why}", row.label, phase.phase);
            return Found { text: word.into(), ink: Ink::Paper, tip };
        };
        let own = rate_text(phase.unit, rate.median);
        match cell.ratio {
            Some(ratio) => {
                let interval = interval_text(ratio).map_or_else(String::new, |i| format!(" {i}"));
                let reference = &self.panel.reference;
                let undecided = if leaves_out_one(ratio) == Some(false) { "~" } else { "" };
                Found {
                    text: format!("{}{undecided}", ratio_number(ratio.value)),
                    ink: Ink::Heat(step(ratio.value, self.reach)),
                    tip: format!(
                        "{}, {}: {own}, {reference}/this {}{interval}",
                        row.label,
                        phase.phase,
                        ratio_number(ratio.value)
                    ),
                }
            }
            None => Found {
                text: rate_number(phase.unit, rate.median),
                ink: Ink::Heat(0),
                tip: format!("{}, {}: {own}", row.label, phase.phase),
            },
        }
    }

    fn bar(&mut self, at: (f32, f32), size: (f32, f32), ink: Ink, tip: Option<String>) {
        let shape = Shape::Bar { x: at.0, y: at.1, width: size.0, height: size.1, ink };
        self.scene.items.push(Item { part: Part::Plain, tip, shape });
    }

    fn foot(&mut self) {
        self.scene.height = self.y + self.font;
    }
}

struct Found {
    text: String,
    ink: Ink,
    tip: String,
}

fn name(phase: &PhaseRow) -> String {
    let name = row_name(phase, Some(phase.unit));
    format!("{name}, {}", unit_name(phase.unit))
}

/// The narrowest scale that holds nine in ten ratios.
fn reach(panel: &Panel) -> f64 {
    let cells = panel.phases.iter().flat_map(|phase| &phase.cells);
    let mut logs: Vec<f64> = cells
        .filter_map(|cell| Some(cell.ratio?.value.ln().abs()))
        .filter(|l| l.is_finite())
        .collect();
    logs.sort_unstable_by(f64::total_cmp);
    let held = logs.get((logs.len() * 9).div_ceil(10).saturating_sub(1)).copied().unwrap_or(0.0);
    REACHES.into_iter().find(|reach| reach.ln() >= held).unwrap_or(REACHES[REACHES.len() - 1])
}

/// The step of the colour scale: 0 within a few per cent of 1, negative where the candidate is
/// faster than the reference.
fn step(ratio: f64, reach: f64) -> i8 {
    let share = (ratio.ln() / reach.ln()).clamp(-1.0, 1.0);
    (share * f64::from(HEAT_STEPS)).round() as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_logarithmic_and_even_on_both_sides() {
        assert_eq!(step(1.0, 4.0), 0);
        assert_eq!(step(4.0, 4.0), HEAT_STEPS);
        assert_eq!(step(0.25, 4.0), -HEAT_STEPS);
        assert_eq!(step(2.0, 4.0), -step(0.5, 4.0));
        assert_eq!(step(1e9, 4.0), HEAT_STEPS);
        assert_eq!(step(0.0, 4.0), -HEAT_STEPS);
    }
}
