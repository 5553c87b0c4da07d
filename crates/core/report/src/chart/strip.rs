//! A dot for each trial, from the first block above to the last below, so that blocks lie level in all rows: drift of
//! the machine, two states of a device and the pairs of a comparison stay visible. A bar stands at the median.

use std::ops::RangeInclusive;

use pickfs_analysis::summary::{CAPACITY_KEY, spread};
use pickfs_record::{
    TrialRecord,
    finding::{Panel, Row, Spread},
    plan::Statistic,
    quantity::significant,
};

use super::{
    Anchor, Axis, Canvas, Dash, Form, Frame, Ink, Item, Look, Part, Rows, Scene, Shape, Slot, Unit,
    frame::scale,
    lettering::{cut, width},
    words,
};
use crate::{
    Subject,
    first::lead_panel,
    phases::{bars, is_phased},
    ranking::{ranked, verdict_cell},
    subject::{is_capacity, is_floor, is_mixed, trial_value},
    wording::{metric_name, metric_value, survives_text},
};

/// Above this ratio of the largest to the smallest value an axis from zero would hide the small ones.
const LINEAR_RATIO_MAX: f64 = 6.0;

pub struct Strip {
    pub title: String,
    pub unit: Unit,
    pub is_longer_better: bool,
    pub lines: Vec<Line>,
}

#[derive(Default)]
pub struct Line {
    pub label: String,
    pub name: String,
    pub slot: Option<Slot>,
    pub dots: Vec<Dot>,
    pub value: Option<Spread>,
    /// What stands behind the row: its median, and a word below.
    pub said: [String; 2],
}

pub struct Dot {
    pub block: u32,
    pub value: f64,
    pub kind: DotKind,
    pub tip: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DotKind {
    Sure,
    Doubted,
    /// Another trial of its block counts.
    Repeat,
}

/// The picture of the first answer: of the panel that was answered first, its best rows.
pub fn lead(subject: &Subject, look: Look, most: usize) -> Option<Scene> {
    let panel = lead_panel(subject.findings)?;
    if !is_phased(panel) {
        return trials(subject, panel, look, most);
    }
    let metric = subject.headline(panel);
    let phase = panel.phases.iter().find(|phase| phase.phase == metric.op);
    bars::draw(subject, panel, phase.or(panel.phases.first())?, (look, most))
}

/// The trials of a panel by its first metric: its best rows, floors last.
pub fn trials(subject: &Subject, panel: &Panel, look: Look, most: usize) -> Option<Scene> {
    let metric = subject.headline(panel);
    if metric.statistic == Statistic::Rate && is_capacity(panel) {
        return capacity(subject, panel, look, most);
    }
    let unit = match metric.statistic {
        Statistic::Rate | Statistic::Figure(_) => Unit::Count,
        _ => Unit::Nanoseconds,
    };
    let found = Found {
        of: &|trial| trial_value(trial, &metric),
        all: &|row| subject.value(row, &metric),
        text: &|value| metric_value(&metric, value),
        said: &|row| verdict_cell(panel, row, &metric).0,
    };
    let strip = Strip {
        title: super::titled(subject, &super::capital(&metric_name(&metric)), panel, look),
        unit,
        is_longer_better: metric.statistic.is_better_higher(),
        lines: lines(subject, panel, most, &found),
    };
    strip.draw(look)
}

pub fn capacity(subject: &Subject, panel: &Panel, look: Look, most: usize) -> Option<Scene> {
    let of = |trial: &TrialRecord| trial.counts.get(CAPACITY_KEY).copied();
    let all = |row: &Row| {
        let held: Vec<f64> = subject.finished(&row.cell).filter_map(of).collect();
        (!held.is_empty()).then(|| spread(&held))
    };
    let text = |value| format!("{}/s", significant(value));
    let found = Found { of: &of, all: &all, text: &text, said: &|_| String::new() };
    let mut lines = lines(subject, panel, most, &found);
    let middle = |line: &Line| line.value.map_or(0.0, |value| value.median);
    lines.sort_by(|a, b| middle(b).total_cmp(&middle(a)));
    let strip = Strip {
        title: super::titled(
            subject,
            "Highest rate that was held, operations per second",
            panel,
            look,
        ),
        unit: Unit::Count,
        is_longer_better: true,
        lines,
    };
    strip.draw(look)
}

struct Found<'f> {
    of: &'f dyn Fn(&TrialRecord) -> Option<f64>,
    all: &'f dyn Fn(&Row) -> Option<Spread>,
    text: &'f dyn Fn(f64) -> String,
    said: &'f dyn Fn(&Row) -> String,
}

fn lines(subject: &Subject, panel: &Panel, most: usize, found: &Found<'_>) -> Vec<Line> {
    let mut rows = ranked(subject, panel);
    rows.sort_by_key(|row| is_floor(row));
    // Where few are wanted memory would only push them together.
    let has_floors = most == usize::MAX || rows.iter().all(|row| is_floor(row));
    rows.retain(|row| has_floors || !is_floor(row));
    let line = |row: &Row| {
        let value = (found.all)(row)?;
        let name = match is_mixed(panel) {
            true => format!("{} ({})", row.label, survives_text(row.durability)),
            false => row.label.clone(),
        };
        let dots = dots(subject.finished(&row.cell), |trial| {
            let value = (found.of)(trial)?;
            Some((value, format!("{}: {}", row.label, (found.text)(value))))
        });
        let (label, slot) = (row.label.clone(), Some(subject.slot(&row.label)));
        let said = [(found.text)(value.median), (found.said)(row)];
        Some(Line { label, name, slot, dots, value: Some(value), said })
    };
    rows.into_iter().filter_map(line).take(most).collect()
}

/// A dot for each trial with a value; of the trials of a block the first counts.
pub fn dots<'t>(
    trials: impl Iterator<Item = &'t TrialRecord>,
    of: impl Fn(&TrialRecord) -> Option<(f64, String)>,
) -> Vec<Dot> {
    let mut trials: Vec<_> = trials.collect();
    trials.sort_by_key(|trial| (trial.block, trial.attempt));
    let mut last = None;
    let dot = |trial: &TrialRecord| {
        let (value, text) = of(trial)?;
        let is_repeat = last.replace(trial.block) == Some(trial.block);
        let (kind, why) = match trial.flags.first() {
            _ if is_repeat => (DotKind::Repeat, " (repeated, not counted)".into()),
            Some(flag) => (DotKind::Doubted, format!(" ({})", flag.text)),
            None => (DotKind::Sure, String::new()),
        };
        let tip = format!("{text}, block {}{why}", trial.block);
        Some(Dot { block: trial.block, value, kind, tip })
    };
    trials.into_iter().filter_map(dot).collect()
}

impl Strip {
    pub fn draw(self, look: Look) -> Option<Scene> {
        let of_line = |line: &Line| {
            let dots = line.dots.iter().map(|dot| dot.value).collect::<Vec<_>>();
            let ends = line.value.into_iter().flat_map(|value| [value.low, value.high]);
            dots.into_iter().chain(ends).collect::<Vec<_>>()
        };
        let values: Vec<f64> = self.lines.iter().flat_map(of_line).filter(|v| *v > 0.0).collect();
        let (low, high) = super::axis::ends(values.iter().copied())?;
        let all = |of: fn(&Dot) -> u32| self.lines.iter().flat_map(|l| &l.dots).map(of);
        let blocks =
            all(|dot| dot.block).min().unwrap_or(1)..=all(|dot| dot.block).max().unwrap_or(1);
        let said = self.lines.iter().filter(|l| l.value.is_some()).flat_map(|line| &line.said);
        let behind = said.map(|text| width(text, look.font)).fold(0.0, f32::max);
        let hint = self.hint();
        let row = look.font * if self.lines.len() > 6 { 2.3 } else { 3.0 };
        let arrow = if self.is_longer_better { "right" } else { "left" };
        let frame = Frame {
            look: Look { plot: row * self.lines.len() as f32, ..look },
            title: self.title,
            hint,
            x: match high > low * LINEAR_RATIO_MAX {
                true => Axis::log(self.unit, values.into_iter()),
                false => Axis::span(self.unit, 0.0, high * 1.04),
            },
            y: Axis::between(Unit::Count, 0.0, 1.0),
            x_title: format!("{arrow} is better"),
            y_title: String::new(),
            legend: Vec::new(),
            rows: Rows::Names(
                self.lines.iter().map(|line| line.name.clone()).collect(),
                behind.min(look.width * 0.3),
            ),
        };
        let mut canvas = frame.open();
        canvas.scene.x = Some(scale(&canvas.x, canvas.left, canvas.right));
        for (index, line) in self.lines.iter().enumerate() {
            let top = canvas.top + row * index as f32;
            line.draw(&mut canvas, (top, row), &blocks);
        }
        Some(canvas.scene)
    }

    fn hint(&self) -> String {
        let has = |kind| self.lines.iter().flat_map(|line| &line.dots).any(|dot| dot.kind == kind);
        let mut hint =
            String::from("Each dot is a trial, the first block on top; the bar is the median.");
        for (kind, words) in [
            (DotKind::Doubted, " Hollow: with a doubt."),
            (DotKind::Repeat, " Cross: repeated, not counted."),
        ] {
            hint.push_str(if has(kind) { words } else { "" });
        }
        hint
    }
}

impl Line {
    fn draw(&self, canvas: &mut Canvas, (top, row): (f32, f32), blocks: &RangeInclusive<u32>) {
        let font = canvas.font;
        let (slot, middle) = (self.slot.unwrap_or(Slot::Series(0)), top + row / 2.0);
        let ink = Ink::Series(slot);
        canvas.rule((canvas.left, top + row), (canvas.right, top + row), Ink::Grid, 1.0);
        if let Some(value) = self.value {
            let [low, at, high] = [value.low, value.median, value.high].map(|v| canvas.x_of(v));
            let range = (vec![(low, middle), (high, middle)], 1.0);
            let bar = (vec![(at, top + row * 0.04), (at, top + row * 0.96)], 4.0);
            for (points, width) in [range, bar] {
                let shape = Shape::Line { points, ink, width, dash: Dash::Solid };
                canvas.scene.add_series(&self.label, None, shape);
            }
        }
        let count = f64::from(blocks.end() - blocks.start()).max(1.0);
        for dot in &self.dots {
            let share = match blocks.start() == blocks.end() {
                true => 0.5,
                false => f64::from(dot.block - blocks.start()) / count,
            };
            let (x, y) = (canvas.x_of(dot.value), top + row * (0.16 + 0.68 * share as f32));
            let (form, ink) = match dot.kind {
                DotKind::Repeat => (Form::Cross, Ink::Muted),
                _ => (slot.form(), ink),
            };
            let (radius, hollow) = (font * 0.24, dot.kind == DotKind::Doubted);
            let marker = Shape::Marker { x, y, radius, form, ink, hollow };
            canvas.scene.add_series(&self.label, Some(dot.tip.clone()), marker);
        }
        let [value, under] = &self.said;
        if self.value.is_none() {
            let (at, tip) = (
                (canvas.left + font * 0.5, middle + font * 0.35),
                format!("{}: {value}", self.label),
            );
            let text = cut(value, font, canvas.scene.width - at.0 - font);
            let shape = words(at, font, Anchor::Start, Ink::Muted, text);
            return canvas.scene.items.push(Item { part: Part::Plain, tip: Some(tip), shape });
        }
        let (x, up) = (canvas.right + font * 0.6, if under.is_empty() { 0.35 } else { -0.15 });
        let anchor = Anchor::Start;
        canvas.scene.bold((x, middle + font * up), font, Ink::Text, value);
        let at = (x, middle + font * 0.95);
        canvas.scene.add(words(at, font * 0.85, anchor, Ink::Muted, under.as_str()));
    }
}
