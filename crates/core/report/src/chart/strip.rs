//! A dot for each trial, from the first block above to the last below, so that blocks lie level in all rows: drift of
//! the machine, two states of a device and the pairs of a comparison stay visible. A bar stands at the median.

use std::ops::RangeInclusive;

use pickfs_analysis::{
    doubts::doubts_on,
    panels::BY_CANDIDATE,
    summary::{CAPACITY_KEY, spread},
};
use pickfs_record::{
    TrialRecord, WorkUnit,
    finding::{Panel, Row, Spread},
    plan::{Metric, Statistic},
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
    operations::OF_TAILS,
    ranking::{self, ranked_by, verdict_cell},
    subject::{is_capacity, is_floor, is_mixed, trial_value, unit},
    wording::{metric_name, metric_words, survives_text, unit_name, value_text},
};

/// Above this ratio of the largest to the smallest value an axis from zero would hide the small ones.
const LINEAR_RATIO_MAX: f64 = 6.0;
/// Above this ratio of the largest to the smallest ratio their axis is logarithmic.
const RATIOS_MAX: f64 = 3.0;
/// Operations that are done once are all drawn where a panel has so many at most, else those that matter most.
const OPERATIONS_MAX: usize = 32;
const TRIALS: &str = "Each dot is a trial, the first block on top; the bar is the median.";

#[derive(Default)]
pub struct Strip {
    pub title: String,
    pub hint: String,
    /// What stands under the axis; which side is better where it is empty.
    pub x_title: String,
    pub unit: Unit,
    pub is_longer_better: bool,
    /// Values are ratios to a base, which a line at 1 shows.
    pub is_ratio: bool,
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
    trials(subject, panel, &subject.headline(panel), look, most)
}

/// What a panel has a picture of trials of: its first metric, or each operation that is done once.
pub fn charted(subject: &Subject, panel: &Panel) -> Vec<Metric> {
    let few = panel.phases.len() <= OPERATIONS_MAX;
    let shown = panel.phases.iter().filter(|one| few || one.is_high_impact || one.is_derived);
    let shown: Vec<_> = shown.map(|one| Metric::new(&one.phase, Statistic::Rate)).collect();
    if shown.is_empty() { vec![subject.headline(panel)] } else { shown }
}

/// The trials of a panel by a metric: its best rows, floors last.
pub fn trials(
    subject: &Subject,
    panel: &Panel,
    metric: &Metric,
    look: Look,
    most: usize,
) -> Option<Scene> {
    if metric.statistic == Statistic::Rate && is_capacity(panel) {
        return capacity(subject, panel, look, most);
    }
    let title = match unit(panel, metric) {
        Some(unit) => format!("{}, {}", metric.op, unit_name(unit)),
        None => super::capital(&metric_words(metric)),
    };
    let strip = Strip {
        title: super::titled(subject, &title, panel, look),
        is_longer_better: metric.statistic.is_better_higher(),
        lines: lines(subject, panel, metric, most, |row| verdict_cell(panel, row, metric).0),
        unit: if metric.statistic.is_time() { Unit::Nanoseconds } else { Unit::Count },
        ..Strip::default()
    };
    strip.draw(look)
}

/// The levels of the axis with the most, or of preallocation, under each other: a picture for each combination of the
/// other levels; by the metric that is asked for, or the first of the plan. Where the plan compares its only axis, the
/// levels stand under each candidate.
pub fn by_axis(subject: &Subject, look: Look, asked: Option<&Metric>) -> Vec<Scene> {
    let axes = &subject.run.plan.axes;
    let axes =
        axes.iter().filter(|axis| axis.levels.len() > 1 && subject.axis() != Some(&*axis.name));
    let axis = axes.max_by_key(|axis| (axis.name.contains("prealloc"), axis.levels.len()));
    let (by, within) = match (axis, subject.axis()) {
        (Some(axis), _) => (axis.name.as_str(), axis.name.as_str()),
        (None, Some(compared)) => (compared, BY_CANDIDATE),
        (None, None) => return Vec::new(),
    };
    let mut strips: Vec<(Metric, Strip, usize)> = Vec::new();
    for panel in subject.findings.panels.iter().filter(|panel| !is_capacity(panel)) {
        let (own, others): (Vec<_>, Vec<_>) =
            panel.levels.iter().partition(|level| level.axis == within);
        let Some(level) = own.first() else { continue };
        let metric = asked.cloned().unwrap_or_else(|| subject.headline(panel));
        let metric = Metric { at: Default::default(), ..metric };
        let others = others.iter().map(|level| format!(" · {}={}", level.axis, level.value));
        let title = super::capital(&metric_name(&metric));
        let title = format!("{title} by {by}{}", others.collect::<String>());
        let lines = lines(subject, panel, &metric, usize::MAX, |_| String::new()).into_iter();
        let lines =
            lines.map(|line| Line { name: format!("{} {}", level.value, line.name), ..line });
        match strips.iter_mut().find(|(known, strip, _)| *known == metric && strip.title == title) {
            Some((_, strip, levels)) => {
                strip.lines.extend(lines);
                *levels += 1;
            }
            None => {
                let is_longer_better = metric.statistic.is_better_higher();
                let unit = if metric.statistic.is_time() { Unit::Nanoseconds } else { Unit::Count };
                let lines = lines.collect();
                let strip = Strip { title, unit, is_longer_better, lines, ..Strip::default() };
                strips.push((metric, strip, 1));
            }
        }
    }
    let strips = strips.into_iter().filter(|(_, _, levels)| *levels > 1);
    strips.filter_map(|(_, strip, _)| strip.draw(look)).collect()
}

pub fn capacity(subject: &Subject, panel: &Panel, look: Look, most: usize) -> Option<Scene> {
    let of = |trial: &TrialRecord| trial.counts.get(CAPACITY_KEY).copied();
    let survives = |row: &Row| match is_mixed(panel) {
        true => format!("survives {}", survives_text(row.durability)),
        false => String::new(),
    };
    let text = |value| format!("{}/s", significant(value));
    let line = |row: &Row| {
        let has_looked = row.counts.iter().any(|(name, _)| name == CAPACITY_KEY);
        let value = row.rate.filter(|_| has_looked)?;
        let tip = |value| format!("{}: {}", row.label, text(value));
        let of = |trial: &TrialRecord| of(trial).map(|v| (v, tip(v)));
        let dots = dots(subject.finished(&row.cell), &subject.headline(panel), of);
        Some(Line {
            dots,
            value: Some(value),
            said: [text(value.median), survives(row)],
            name: row.label.clone(),
            ..line_of(subject, panel, row)
        })
    };
    let mut lines: Vec<Line> = panel.rows.iter().filter_map(line).collect();
    let middle = |line: &Line| line.value.map_or(0.0, |value| value.median);
    lines.sort_by(|a, b| middle(b).total_cmp(&middle(a)));
    lines.truncate(most);
    let title = "Highest rate that was held, operations per second";
    let title = super::titled(subject, title, panel, look);
    Strip { title, is_longer_better: true, lines, ..Strip::default() }.draw(look)
}

fn line_of(subject: &Subject, panel: &Panel, row: &Row) -> Line {
    let name = match is_mixed(panel) {
        true => format!("{} ({})", row.label, survives_text(row.durability)),
        false => row.label.clone(),
    };
    let (label, slot) = (row.label.clone(), Some(subject.slot(&row.label)));
    Line { label, name, slot, ..Line::default() }
}

fn lines(
    subject: &Subject,
    panel: &Panel,
    metric: &Metric,
    most: usize,
    under: impl Fn(&Row) -> String,
) -> Vec<Line> {
    let mut rows = ranked_by(subject, panel, metric);
    rows.sort_by_key(|row| is_floor(row));
    // Where few are wanted memory would only push them together.
    let has_floors = most == usize::MAX || rows.iter().all(|row| is_floor(row));
    rows.retain(|row| has_floors || !is_floor(row));
    let text = |value| value_text(unit(panel, metric), metric, value);
    let times = if unit(panel, metric) == Some(WorkUnit::Bytes) { 1e-6 } else { 1.0 };
    let line = |row: &Row| {
        let line = line_of(subject, panel, row);
        let value = ranking::value(subject, panel, row, metric);
        let Some(value) = value.or_else(|| of_extremes(subject, row, metric)) else {
            let said = [ranking::lost(subject, row, &metric.op)?, String::new()];
            return Some(Line { said, ..line });
        };
        let dots = dots(subject.finished(&row.cell), metric, |trial| {
            let value = trial_value(trial, metric)?;
            Some((value * times, format!("{}: {}", row.label, text(value))))
        });
        let said = [text(value.median), under(row)];
        let [median, low, high] = [value.median, value.low, value.high].map(|v| v * times);
        Some(Line { dots, value: Some(Spread { median, low, high }), said, ..line })
    };
    rows.into_iter().filter_map(line).take(most).collect()
}

/// Of the largest or smallest operation of each trial; they are shown, and never ranked.
fn of_extremes(subject: &Subject, row: &Row, metric: &Metric) -> Option<Spread> {
    let value = |trial: &TrialRecord| Some((trial_value(trial, metric)?, String::new()));
    let all = dots(subject.finished(&row.cell), metric, value).into_iter();
    let counted = all.filter(|dot| dot.kind != DotKind::Repeat).map(|dot| dot.value);
    let values: Vec<f64> = counted.collect();
    let is_extreme = matches!(metric.statistic, Statistic::Min | Statistic::Max);
    (is_extreme && !values.is_empty()).then(|| spread(&values))
}

/// A dot for each trial with a value of a metric; of the trials of a block the first counts.
fn dots<'t>(
    trials: impl Iterator<Item = &'t TrialRecord>,
    metric: &Metric,
    of: impl Fn(&TrialRecord) -> Option<(f64, String)>,
) -> Vec<Dot> {
    let mut trials: Vec<_> = trials.collect();
    trials.sort_by_key(|trial| (trial.block, trial.attempt));
    let mut last = None;
    let dot = |trial: &TrialRecord| {
        let (value, text) = of(trial)?;
        let is_repeat = last.replace(trial.block) == Some(trial.block);
        let (kind, why) =
            match doubts_on(trial, metric).into_iter().find(|flag| flag.kind != OF_TAILS) {
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
        self.lines.iter().find_map(|line| line.value)?;
        let of_line = |line: &Line| {
            let dots = line.dots.iter().map(|dot| dot.value).collect::<Vec<_>>();
            let ends = line.value.into_iter().flat_map(|value| [value.low, value.high]);
            dots.into_iter().chain(ends).collect::<Vec<_>>()
        };
        let values = self.lines.iter().flat_map(of_line).chain(self.is_ratio.then_some(1.0));
        let values: Vec<f64> = values.filter(|v| *v > 0.0 && v.is_finite()).collect();
        let (low, high) = super::axis::ends(values.iter().copied())?;
        let all = |of: fn(&Dot) -> u32| self.lines.iter().flat_map(|l| &l.dots).map(of);
        let blocks =
            all(|dot| dot.block).min().unwrap_or(1)..=all(|dot| dot.block).max().unwrap_or(1);
        let said = self.lines.iter().filter(|l| l.value.is_some()).flat_map(|line| &line.said);
        // Bold letters are wider than those that are measured.
        let behind = said.map(|text| width(text, look.font) * 1.12).fold(0.0, f32::max);
        let hint = self.hint();
        let row = look.font * if self.lines.len() > 6 { 2.3 } else { 3.0 };
        let arrow = if self.is_longer_better { "right" } else { "left" };
        let frame = Frame {
            look: Look { plot: row * self.lines.len() as f32, ..look },
            title: self.title,
            hint,
            x: match self.is_ratio {
                true if high <= low * RATIOS_MAX => {
                    Axis::between(self.unit, low * 0.98, high * 1.02)
                }
                false if high <= low * LINEAR_RATIO_MAX => Axis::span(self.unit, 0.0, high * 1.04),
                _ => Axis::log(self.unit, values.into_iter()),
            },
            y: Axis::between(Unit::Count, 0.0, 1.0),
            x_title: match self.x_title.is_empty() {
                true => format!("{arrow} is better"),
                false => self.x_title,
            },
            y_title: String::new(),
            legend: Vec::new(),
            rows: Rows::Names(
                self.lines.iter().map(|line| line.name.clone()).collect(),
                behind.min(look.width * 0.3),
            ),
        };
        let mut canvas = frame.open();
        canvas.scene.x = Some(scale(&canvas.x, canvas.left, canvas.right));
        if self.is_ratio {
            let one = canvas.x_of(1.0);
            canvas.rule((one, canvas.top), (one, canvas.bottom), Ink::Text, 1.0);
        }
        for (index, line) in self.lines.iter().enumerate() {
            let top = canvas.top + row * index as f32;
            line.draw(&mut canvas, (top, row), &blocks);
        }
        Some(canvas.scene)
    }

    fn hint(&self) -> String {
        let has = |kind| self.lines.iter().flat_map(|line| &line.dots).any(|dot| dot.kind == kind);
        let mut hint = if self.hint.is_empty() { TRIALS.into() } else { self.hint.clone() };
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
