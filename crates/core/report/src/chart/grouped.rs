//! Laps of a search for the capacity stay out: each row ran at a rate of its own.

use std::collections::{BTreeMap, BTreeSet};

use pickfs_record::{
    Cell, CellId,
    finding::{OpSummary, Row},
    plan::Metric,
    quantity::duration_text,
};

use super::{
    Anchor, Axis, Canvas, Dash, Frame, Ink, Look, Rows, Scene, Shape, Spacing, Unit,
    lettering::cut, lettering::width, words,
};
use crate::{
    Subject,
    subject::{is_capacity, summary},
    wording::{op_name, value_text},
};

pub fn draw(subject: &Subject, look: Look) -> impl Iterator<Item = Scene> {
    let axis = chosen_axis(subject);
    let tables = axis.map(|(axis, levels)| tables(subject, &axis, &levels)).unwrap_or_default();
    tables.into_iter().filter_map(move |table| picture(subject, look, &table))
}

struct Table {
    axis: String,
    others: String,
    op: String,
    levels: Vec<String>,
    candidates: Vec<String>,
    values: BTreeMap<(usize, usize), [Option<f64>; 3]>,
}

fn chosen_axis(subject: &Subject) -> Option<(String, Vec<String>)> {
    let axes = subject.run.plan.axes.iter().filter(|axis| axis.levels.len() > 1);
    let weight =
        |axis: &&pickfs_record::plan::Axis| (axis.name.contains("prealloc"), axis.levels.len());
    let axis = axes.max_by_key(weight)?;
    Some((axis.name.clone(), axis.levels.iter().map(value_text).collect()))
}

fn tables(subject: &Subject, axis: &str, levels: &[String]) -> Vec<Table> {
    let panels = &subject.findings.panels;
    let rows: BTreeMap<&CellId, (&Row, Metric)> = panels
        .iter()
        .filter(|panel| !is_capacity(panel))
        .flat_map(|p| p.rows.iter().map(|row| (&row.cell, (row, subject.headline(p)))))
        .collect();
    let mut tables: Vec<Table> = Vec::new();
    for cell in &subject.run.cells {
        let Some((row, metric)) = rows.get(&cell.id) else { continue };
        let Some(op) = summary(row, metric) else { continue };
        let Some(level) = levels.iter().position(|l| cell.level(axis) == Some(l)) else { continue };
        let others = other_levels(cell, axis);
        let same = |table: &Table| table.others == others && table.op == metric.op;
        let at = tables.iter().position(same).unwrap_or_else(|| {
            tables.push(Table {
                axis: axis.into(),
                others,
                op: metric.op.clone(),
                levels: levels.to_vec(),
                candidates: Vec::new(),
                values: BTreeMap::new(),
            });
            tables.len() - 1
        });
        tables[at].put(level, &cell.candidate.label, op);
    }
    let tables = tables.into_iter().map(Table::without_empty_levels);
    tables.filter(|table| table.levels.len() > 1).collect()
}

fn other_levels(cell: &Cell, axis: &str) -> String {
    let others = cell.levels.iter().filter(|level| level.axis != axis);
    others.map(|l| format!("{}={}", l.axis, l.value)).collect::<Vec<_>>().join(", ")
}

impl Table {
    /// Levels at which this operation was measured: others would stand there without a bar.
    fn without_empty_levels(mut self) -> Table {
        let filled: BTreeSet<usize> = self.values.keys().map(|(level, _)| *level).collect();
        let place = |level: &usize| filled.range(..level).count();
        self.levels = filled.iter().map(|level| self.levels[*level].clone()).collect();
        self.values = self.values.into_iter().map(|((l, c), v)| ((place(&l), c), v)).collect();
        self
    }

    fn carried(&self) -> Vec<usize> {
        let is_carried = |at: &usize| self.values.values().any(|values| values[*at].is_some());
        (0..STATISTICS.len()).filter(is_carried).collect()
    }

    fn put(&mut self, level: usize, candidate: &str, op: &OpSummary) {
        let column = self.candidates.iter().position(|c| c == candidate).unwrap_or_else(|| {
            self.candidates.push(candidate.into());
            self.candidates.len() - 1
        });
        let p9999 = op.quantiles.iter().find(|q| (q.q - 0.9999).abs() < 1e-9);
        let p9999 = p9999.filter(|q| q.carried).map(|q| q.value_ns.median);
        self.values
            .insert((level, column), [Some(op.max_ns as f64), Some(op.mean_ns.median), p9999]);
    }
}

const STATISTICS: [&str; 3] = ["largest lap (never ranked)", "mean", "p99.99"];

fn picture(subject: &Subject, look: Look, table: &Table) -> Option<Scene> {
    let all = || table.values.values().flatten().flatten().copied();
    all().next()?;
    let others =
        if table.others.is_empty() { String::new() } else { format!(" · {}", table.others) };
    let legend = table.candidates.iter().map(|c| (c.clone(), subject.slot(c))).collect();
    let frame = Frame {
        look: Look { plot: look.plot * 0.64 * table.carried().len() as f32, ..look },
        title: format!("{} laps by {}{others}", super::capital(op_name(&table.op)), table.axis),
        hint: "Lower is better. The scales differ from row to row: compare within a row. \
               A dash: too few slow episodes carry the value."
            .into(),
        x: Axis { ticks: Vec::new(), ..Axis::between(Unit::Count, 0.0, 1.0) },
        y: Axis { ticks: Vec::new(), ..Axis::log(Unit::Nanoseconds, all()) },
        x_title: table.axis.clone(),
        y_title: String::new(),
        legend,
        rows: Rows::Names(vec!["100 ms".into()], 0.0),
    };
    let mut canvas = frame.open();
    canvas
        .scene
        .items
        .retain(|item| !matches!(&item.shape, Shape::Words { text, .. } if text == "100 ms"));
    let carried = table.carried();
    let part = (canvas.bottom - canvas.top) / carried.len() as f32;
    for (place, statistic) in carried.into_iter().enumerate() {
        let top = canvas.top + part * place as f32;
        facet(&mut canvas, subject, table, (statistic, top, top + part));
    }
    names(&mut canvas, table);
    Some(canvas.scene)
}

fn facet(canvas: &mut Canvas, subject: &Subject, table: &Table, at: (usize, f32, f32)) {
    let font = canvas.font;
    let (statistic, top, bottom) = at;
    let axis = facet_axis(|| table.values.values().filter_map(|v| v[statistic]));
    let log = if axis.spacing == Spacing::Log { " (log scale)" } else { "" };
    let facet = Facet { statistic, top: top + font * 2.9, bottom, axis };
    let title = (canvas.left, top + font * 1.3);
    canvas.scene.words(
        title,
        font * 0.92,
        Anchor::Start,
        Ink::Text,
        &format!("{}{log}", STATISTICS[statistic]),
    );
    for tick in &facet.axis.ticks {
        let y = facet.y_of(tick.value);
        canvas.rule((canvas.left, y), (canvas.right, y), Ink::Grid, 1.0);
        if facet.axis.ticks.len() <= 7 || tick.text.starts_with('1') {
            let words = (canvas.left - font * 0.5, y + font * 0.3);
            canvas.scene.words(words, font * 0.85, Anchor::End, Ink::Text, &tick.text);
        }
    }
    for ((level, column), values) in &table.values {
        facet_bar(canvas, subject, table, &facet, ((*level, *column), values[statistic]));
    }
    let points = vec![(canvas.left, bottom), (canvas.right, bottom)];
    canvas.scene.add(Shape::Line { points, ink: Ink::Muted, width: 1.0, dash: Dash::Solid });
}

/// From zero, so that lengths may be compared, unless the short bars would vanish.
fn facet_axis<I: Iterator<Item = f64>>(values: impl Fn() -> I) -> Axis {
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(0.0, f64::max);
    if high > low * 25.0 {
        Axis::log(Unit::Nanoseconds, values())
    } else {
        Axis::linear(Unit::Nanoseconds, values())
    }
}

struct Facet {
    statistic: usize,
    top: f32,
    bottom: f32,
    axis: Axis,
}

impl Facet {
    fn y_of(&self, value: f64) -> f32 {
        self.bottom - (self.bottom - self.top) * self.axis.place(value) as f32
    }
}

fn facet_bar(
    canvas: &mut Canvas,
    subject: &Subject,
    table: &Table,
    facet: &Facet,
    ((level, column), value): ((usize, usize), Option<f64>),
) {
    let font = canvas.font * 0.82;
    let (x, wide) = slot_of(canvas, table, level, column);
    let (label, middle) = (&table.candidates[column], x + wide / 2.0);
    let Some(value) = value else {
        let at = (middle, facet.bottom - 3.0);
        canvas.scene.words(at, font, Anchor::Middle, Ink::Muted, "-");
        return;
    };
    let (axis, level, text) = (&table.axis, &table.levels[level], duration_text(value));
    let tip = format!("{label}, {axis}={level}, {}: {text}", STATISTICS[facet.statistic]);
    let y = facet.y_of(value).min(facet.bottom - 3.0);
    let slot = subject.slot(label);
    let (ink, form) = (Ink::Series(slot), slot.form());
    let bar = Shape::Bar { x, y, width: wide, height: facet.bottom - y, ink };
    canvas.scene.add_series(label, Some(tip), bar);
    let radius = (wide * 0.3).min(font * 0.32);
    if facet.bottom - y > radius * 4.0 {
        let (y, ink) = (facet.bottom - radius * 2.2, Ink::Paper);
        let marker = Shape::Marker { x: middle, y, radius, form, ink, hollow: false };
        canvas.scene.add_series(label, None, marker);
    }
    if width(&text, font) < wide * 1.2 {
        let (anchor, ink) = (Anchor::Middle, Ink::Text);
        let words = words((middle, y - font * 0.4), font, anchor, ink, text);
        canvas.scene.add_series(label, None, words);
    }
}

fn slot_of(canvas: &Canvas, table: &Table, level: usize, column: usize) -> (f32, f32) {
    let group = (canvas.right - canvas.left) / table.levels.len() as f32;
    let bar = group * 0.84 / table.candidates.len() as f32;
    (canvas.left + group * (level as f32 + 0.08) + bar * column as f32 + bar * 0.08, bar * 0.84)
}

fn names(canvas: &mut Canvas, table: &Table) {
    let font = canvas.font;
    let group = (canvas.right - canvas.left) / table.levels.len() as f32;
    let crowded = table.levels.iter().any(|l| width(l, font * 0.92) > group * 0.96);
    for (index, level) in table.levels.iter().enumerate() {
        let x = canvas.left + group * (index as f32 + 0.5);
        let lower = if crowded && index % 2 == 1 { font * 1.1 } else { 0.0 };
        let limit = if crowded { group * 1.9 } else { group };
        let text = cut(level, font * 0.92, limit);
        let at = (x, canvas.bottom + font * 1.15 + lower);
        canvas.scene.words(at, font * 0.92, Anchor::Middle, Ink::Text, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(values: &[(usize, [Option<f64>; 3])]) -> Table {
        Table {
            axis: "variant".into(),
            others: String::new(),
            op: "durable".into(),
            levels: vec!["no sync".into(), "data".into(), "commit".into()],
            candidates: vec!["ext4".into()],
            values: values.iter().map(|(level, values)| ((*level, 0), *values)).collect(),
        }
    }

    #[test]
    fn only_what_was_measured_has_a_place() {
        let values = [(1, [Some(9.0), Some(2.0), None]), (2, [Some(8.0), None, None])];
        let table = table(&values).without_empty_levels();
        assert_eq!(table.levels, ["data", "commit"]);
        assert_eq!(table.values[&(0, 0)], [Some(9.0), Some(2.0), None]);
        assert_eq!(table.values[&(1, 0)], [Some(8.0), None, None]);
        assert_eq!(table.carried(), [0, 1], "no cell carries a p99.99");
    }
}
