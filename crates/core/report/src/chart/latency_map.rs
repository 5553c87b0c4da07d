//! Latency over time: a row for each candidate, in which a cell is darker the more operations of that second lay in that
//! band. From the logs by the second, which a run file keeps for trials; short trials have too few seconds for it.

use std::collections::BTreeMap;

use pickfs_record::{
    Plan, TrialRecord,
    density::{BANDS_PER_DECADE, density},
    finding::{Panel, Row},
    plan::{Metric, View},
    record::OpRecord,
};

use super::{
    Anchor, Axis, Canvas, Frame, Ink, Look, Rows, Scene, Shape, Unit, causes, frame::scale,
    lettering::width,
};
use crate::{
    Subject,
    subject::{is_floor, timed, timed_op},
    wording::{op_name, view_name},
};

pub const SECONDS_MIN: usize = 30;
const COLUMNS_MAX: u32 = 120;
const ROWS_MAX: usize = 6;
const SHADES: [f32; 5] = [0.18, 0.34, 0.52, 0.74, 1.0];

/// Whether the log by the second of an operation is needed for this picture.
pub fn is_mapped(plan: &Plan) -> impl Fn(&TrialRecord, &OpRecord) -> bool + 'static {
    let asked = plan.design.primary.first().map(|metric| timed_op(&metric.op).to_owned());
    move |trial, op| {
        let is_asked = |own: &&OpRecord| Some(&own.op) == asked.as_ref();
        let shown = trial.ops.iter().find(is_asked).or(trial.ops.first());
        shown.is_some_and(|own| own.op == op.op) && op.intervals.len() >= SECONDS_MIN
    }
}

/// Operations by second and band.
pub type Cells = BTreeMap<(u32, u32), u64>;

pub fn draw(subject: &Subject, panel: &Panel, look: Look) -> Option<Scene> {
    let metric = subject.headline(panel);
    let rows = panel.rows.iter().filter(|row| !is_floor(row)).take(ROWS_MAX);
    let maps: Vec<_> = rows.map(|row| (row, subject.mapped(row, &metric))).collect();
    let maps: Vec<_> = maps.into_iter().filter(|(_, cells)| !cells.is_empty()).collect();
    let all = || maps.iter().flat_map(|(_, cells)| cells.iter());
    let seconds = all().map(|((second, _), _)| second + 1).max()?;
    let most = all().map(|(_, count)| *count).max()?;
    let bands = all().map(|((_, band), _)| *band);
    let (low, high) = (bands.clone().min()?, bands.max()? + 1);
    let value = |band: u32| 10f64.powf(f64::from(band) / BANDS_PER_DECADE);
    let y = Axis::log(Unit::Nanoseconds, [value(low), value(high)].into_iter());
    let y = Axis { low: value(low), high: value(high), ..y };
    let tall = look.font * 6.5;
    let title = format!("{} over time", super::capital(op_name(&metric.op)));
    let frame = Frame {
        look: Look { plot: tall * maps.len() as f32, ..look },
        title: super::titled(subject, &title, panel, look),
        hint: format!(
            "Darker: more operations of that second took that long ({}). Across lies the usual time, above it are slow \
             ones.{}",
            view_name(metric.view),
            if subject.stalls.is_empty() { "" } else { " Diamonds: the cause of the slowest." }
        ),
        x: Axis::span(Unit::Seconds, 0.0, f64::from(seconds)),
        y: Axis::between(Unit::Count, 0.0, 1.0),
        x_title: "second of the trial (s)".into(),
        y_title: String::new(),
        legend: Vec::new(),
        rows: Rows::Names(
            maps.iter().map(|(row, _)| row.label.clone()).collect(),
            width("100 us", look.font),
        ),
    };
    let mut canvas = frame.open();
    canvas.scene.x = Some(scale(&canvas.x, canvas.left, canvas.right));
    let per_column = seconds.div_ceil(COLUMNS_MAX);
    for (index, (row, cells)) in maps.iter().enumerate() {
        let top = canvas.top + tall * index as f32;
        let strip = Strip { y: &y, top: top + 3.0, bottom: top + tall - 3.0, per_column, low };
        strip.draw(&mut canvas, Ink::Series(subject.slot(&row.label)), (cells, most), &row.label);
        let marks = causes::worst(subject, &row.cell, &metric.op, 2);
        causes::draw(&mut canvas, &marks, |_, value_ns| strip.y_of(value_ns));
        let base = (canvas.left, top + tall);
        canvas.rule(base, (canvas.right, base.1), Ink::Grid, 1.0);
    }
    Some(canvas.scene)
}

/// Decodes the logs of all trials of a row, which is slow: [`Subject::mapped`] keeps it.
pub fn cells(subject: &Subject, row: &Row, metric: &Metric) -> Cells {
    let mut sum = Cells::new();
    for op in subject.finished(&row.cell).filter_map(|trial| timed(trial, metric)) {
        let is_response = metric.view != View::Service && op.response.is_some();
        let found = density(&op.interval_log, if is_response { "response" } else { "service" });
        found.into_iter().for_each(|(at, count)| {
            let cell = sum.entry(at).or_default();
            *cell = u64::saturating_add(*cell, count);
        });
    }
    let seconds = sum.keys().map(|(second, _)| *second).max().map_or(0, |last| last as usize + 1);
    if seconds >= SECONDS_MIN { sum } else { Cells::new() }
}

struct Strip<'s> {
    y: &'s Axis,
    top: f32,
    bottom: f32,
    per_column: u32,
    low: u32,
}

impl Strip<'_> {
    fn y_of(&self, value: f64) -> f32 {
        self.bottom - (self.bottom - self.top) * self.y.place(value) as f32
    }

    fn draw(&self, canvas: &mut Canvas, ink: Ink, (cells, most): (&Cells, u64), series: &str) {
        for tick in self.y.ticks.iter().filter(|tick| tick.text.starts_with('1')) {
            if tick.value >= self.y.low && tick.value <= self.y.high {
                let at = (canvas.right + 4.0, self.y_of(tick.value) + canvas.font * 0.3);
                let (size, anchor) = (canvas.font * 0.8, Anchor::Start);
                canvas.scene.words(at, size, anchor, Ink::Muted, &tick.text);
            }
        }
        let mut columns = Cells::new();
        for ((second, band), count) in cells {
            let sum = columns.entry((*band, second / self.per_column)).or_default();
            *sum = u64::saturating_add(*sum, *count);
        }
        let decades = (self.y.high / self.y.low).log10() as f32;
        let height = (self.bottom - self.top) / (decades * BANDS_PER_DECADE as f32).max(1.0);
        let top = (most.saturating_mul(u64::from(self.per_column)) as f64).ln_1p();
        let mut shades: [Vec<(f32, f32, f32)>; SHADES.len()] = Default::default();
        for ((band, column), count) in columns {
            let shade = ((count as f64).ln_1p() / top * SHADES.len() as f64).ceil() as usize;
            let second = f64::from(column * self.per_column);
            let (x, end) = (canvas.x_of(second), canvas.x_of(second + f64::from(self.per_column)));
            let y = self.bottom - height * ((band - self.low) as f32 + 0.5);
            let shade = &mut shades[shade.clamp(1, SHADES.len()) - 1];
            match shade.last_mut().filter(|last| (last.0 + last.2 - x).abs() < 0.05 && last.1 == y)
            {
                Some(last) => last.2 += end - x,
                None => shade.push((x, y, end - x)),
            }
        }
        for (cells, share) in shades.into_iter().zip(SHADES).filter(|(cells, _)| !cells.is_empty())
        {
            canvas.scene.add_series(series, None, Shape::Cells { cells, height, ink, share });
        }
    }
}
