//! Bars begin at 1 and their axis is one of ratios: twice as fast and half as fast are equally
//! long. A bar that is not claimed is grey.

use pickfs_analysis::wording::{interval_text, list, metric_name, times};
use pickfs_record::{
    finding::{Claim, Effect, Factor, FactorDesign, FactorFindings},
    plan::Metric,
};

use crate::chart::{
    Anchor, Axis, Canvas, Dash, Frame, Ink, Look, Rows, Scene, Shape, Slot, Spacing, Unit,
    axis::Tick,
};

const LEVELS_MAX: usize = 30;
const INTERACTIONS_MAX: usize = 6;

struct Bar<'a> {
    name: String,
    effect: &'a Effect,
    ink: Ink,
}

pub fn draw(found: &FactorFindings, look: Look) -> Option<Scene> {
    let bars = bars(found);
    if bars.is_empty() {
        return None;
    }
    let frame = Frame {
        look: Look { plot: look.font * 2.4 * bars.len() as f32, ..look },
        title: format!("Which knob matters · {}", metric_name(&found.metric)),
        hint: hint(found),
        x: ratios(&bars),
        y: Axis::between(Unit::Count, 0.0, bars.len() as f64),
        x_title: x_title(&found.metric),
        y_title: String::new(),
        legend: Vec::new(),
        rows: Rows::Names(bars.iter().map(|bar| bar.name.clone()).collect(), 0.0),
    };
    let mut canvas = frame.open();
    for (index, bar) in bars.iter().enumerate() {
        draw_bar(&mut canvas, index, bar);
    }
    Some(canvas.scene)
}

fn bars(found: &FactorFindings) -> Vec<Bar<'_>> {
    let of = |(index, factor): (usize, &'_ Factor)| -> Vec<(String, usize)> {
        let names = factor.effects.iter().map(|effect| level_name(factor, effect));
        names.map(|name| (name, index)).collect()
    };
    let names = found.factors.iter().enumerate().flat_map(of);
    let effects = found.factors.iter().flat_map(|factor| &factor.effects);
    let main = names.zip(effects).map(|((name, index), effect)| {
        let claimed = matches!(effect.claim, Claim::Faster | Claim::Slower);
        let ink = if claimed { Ink::Series(Slot::Series(index)) } else { Ink::Muted };
        Bar { name, effect, ink }
    });
    let together = found.interactions.iter().map(|effect| {
        let parts: Vec<&str> = effect.levels.iter().map(|level| level.value.as_str()).collect();
        Bar { name: parts.join(" with "), effect, ink: Ink::Muted }
    });
    main.take(LEVELS_MAX).chain(together.take(INTERACTIONS_MAX)).collect()
}

fn level_name(factor: &Factor, effect: &Effect) -> String {
    let level = effect.levels.first().map_or("", |level| level.value.as_str());
    format!("{}: {level}", factor.name)
}

fn hint(found: &FactorFindings) -> String {
    let design = match found.design {
        FactorDesign::FullFactorial => "mean over all combinations of the other factors",
        FactorDesign::OneAtATime => "the other factors at their base",
        FactorDesign::Partial => "mean over the combinations that hold both levels",
    };
    let together = match found.interactions.is_empty() {
        true => "",
        false => " A WITH B: how much more than the two alone say; exploratory.",
    };
    let base = |factor: &Factor| format!("{} {}", factor.name, factor.base);
    let bases: Vec<String> = found.factors.iter().map(base).collect();
    format!(
        "Against {}; {design}. Right of 1 is faster. The thin line is the interval; grey is not \
         claimed.{together}",
        list(&bases)
    )
}

fn x_title(metric: &Metric) -> String {
    format!("speed by {} against the base", metric_name(metric))
}

fn ratios(bars: &[Bar<'_>]) -> Axis {
    let ends = bars.iter().flat_map(|bar| {
        let (low, high) = bar.effect.interval.unwrap_or((bar.effect.speedup, bar.effect.speedup));
        [low, high, bar.effect.speedup]
    });
    let usable: Vec<f64> = ends.filter(|end| *end > 0.0 && end.is_finite()).collect();
    let low = usable.iter().copied().fold(1.0 / 1.02, f64::min).ln();
    let high = usable.iter().copied().fold(1.02, f64::max).ln();
    let room = (high - low) * 0.04;
    // Words stand right of their bars.
    let (low, high) = (low - room, high + room + (high - low) * 0.65);
    let ticks = marks(low.exp(), high.exp());
    let tick = |ratio: f64| Tick { value: ratio.ln(), text: ratio_text(ratio) };
    Axis {
        spacing: Spacing::Linear,
        low,
        high,
        unit: Unit::Count,
        ticks: ticks.into_iter().map(tick).collect(),
    }
}

fn marks(low: f64, high: f64) -> Vec<f64> {
    let wide: [&[f64]; 3] = [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0]];
    let decades = (-9..=9).map(|power| 10f64.powi(power));
    let lists = wide.iter().map(|steps| {
        let all = decades.clone().flat_map(|decade| steps.iter().map(move |step| step * decade));
        all.filter(|ratio| (low..=high).contains(ratio)).collect::<Vec<f64>>()
    });
    if let Some(list) = lists.into_iter().find(|list| list.len() >= 4) {
        return list;
    }
    let steps = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01];
    let list = |step: &f64| -> Vec<f64> {
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        (first..=last).map(|k| k as f64 * step).filter(|ratio| *ratio > 0.0).collect()
    };
    steps.iter().map(list).find(|list| list.len() >= 4).unwrap_or_else(|| vec![1.0])
}

pub(super) fn ratio_text(ratio: f64) -> String {
    if ratio == 0.0 || ratio == f64::INFINITY {
        return if ratio == 0.0 { "failed" } else { "base failed" }.into();
    }
    if ratio >= 0.1 {
        let text = times(ratio);
        let digits = text.trim_end_matches('x');
        let digits = match digits.contains('.') {
            true => digits.trim_end_matches('0').trim_end_matches('.'),
            false => digits,
        };
        return format!("{digits}x");
    }
    format!("1/{}", times(1.0 / ratio).trim_end_matches('x').trim_end_matches(".00"))
}

pub(super) fn interval(effect: &Effect) -> Option<String> {
    effect.interval.map(|(low, high)| interval_text(low, high))
}

fn draw_bar(canvas: &mut Canvas, index: usize, bar: &Bar<'_>) {
    let font = canvas.font;
    let middle = canvas.top + font * 2.4 * (index as f32 + 0.5);
    let ln = bar.effect.speedup.ln();
    let (one, end) = (canvas.x_of(0.0), canvas.x_of(if ln.is_finite() { ln } else { 0.0 }));
    let words = match interval(bar.effect) {
        Some(range) => format!("{} {range}", ratio_text(bar.effect.speedup)),
        None => ratio_text(bar.effect.speedup),
    };
    let tip = format!("{}: {words}, {} blocks", bar.name, bar.effect.blocks);
    let (x, width) = (one.min(end), (one - end).abs().max(1.5));
    let y = middle - font * 0.6;
    let shape = Shape::Bar { x, y, width, height: font * 1.2, ink: bar.ink };
    canvas.scene.add_series(&bar.name, Some(tip), shape);
    let mut right = one.max(end);
    if let Some((low, high)) = bar.effect.interval {
        let (low, high) = (canvas.x_of(low.ln()), canvas.x_of(high.ln()));
        whisker(canvas, &bar.name, (low, high), middle);
        right = right.max(high);
    }
    let at = (right + font * 0.5, middle + font * 0.35);
    canvas.scene.add_series(
        &bar.name,
        None,
        crate::chart::words(at, font * 0.92, Anchor::Start, Ink::Text, words),
    );
}

fn whisker(canvas: &mut Canvas, name: &str, (low, high): (f32, f32), middle: f32) {
    let ends = [(low, high, 0.0), (low, low, 4.0), (high, high, 4.0)];
    for (from, to, half) in ends {
        let points = vec![(from, middle - half), (to, middle + half)];
        let line = Shape::Line { points, ink: Ink::Text, width: 1.2, dash: Dash::Solid };
        canvas.scene.add_series(name, None, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_record::{
        Level,
        plan::{Statistic, View},
    };

    fn effect(axis: &str, value: &str, speedup: f64, claim: Claim) -> Effect {
        Effect {
            levels: vec![Level { axis: axis.into(), value: value.into() }],
            contexts: 2,
            blocks: 10,
            speedup,
            interval: Some((speedup * 0.9, speedup * 1.1)),
            claim,
        }
    }

    fn found(speedup: f64) -> FactorFindings {
        let factor = |name: &str, effect: Effect| Factor {
            name: name.into(),
            base: "base".into(),
            spread: 2.0,
            is_mixed: false,
            effects: vec![effect],
        };
        let tie = Claim::Equal { margin: 0.1 };
        FactorFindings {
            metric: Metric {
                op: "append".into(),
                view: View::Service,
                statistic: Statistic::Quantile(0.5),
                at: Default::default(),
            },
            design: FactorDesign::FullFactorial,
            cells: 4,
            blocks: 10,
            factors: vec![
                factor("sync", effect("sync", "fdatasync", speedup, Claim::Slower)),
                factor("write", effect("write", "uring", 1.01, tie)),
            ],
            interactions: Vec::new(),
            interactions_seen: 1,
            sentences: Vec::new(),
        }
    }

    fn bars_of(scene: &Scene) -> Vec<(f32, f32, Ink)> {
        let bars = scene.items.iter().filter_map(|item| match item.shape {
            Shape::Bar { x, width, ink, .. } => Some((x, width, ink)),
            _ => None,
        });
        bars.collect()
    }

    #[test]
    fn a_slower_level_lies_left_of_one_and_a_tie_is_grey() {
        let scene = draw(&found(0.5), Look::PAGE).expect("a picture");
        let bars = bars_of(&scene);
        assert_eq!(bars.len(), 2);
        let one = bars[0].0 + bars[0].1;
        assert!((bars[1].0 - one).abs() < 1.0, "both touch 1: {bars:?}");
        assert!(bars[0].1 > 10.0 * bars[1].1);
        assert_eq!((bars[0].2, bars[1].2), (Ink::Series(Slot::Series(0)), Ink::Muted));
    }

    #[test]
    fn the_words_beside_the_bars_end_within_the_picture() {
        for (speedup, look) in [(0.32, Look::PAGE), (3.1, Look::PAGE), (0.9, Look::SHEET)] {
            let scene = draw(&found(speedup), look).expect("a picture");
            for item in &scene.items {
                let Shape::Words { x, size, anchor: Anchor::Start, text, .. } = &item.shape else {
                    continue;
                };
                let end = x + crate::chart::lettering::width(text, *size);
                assert!(end <= scene.width, "{speedup}: {text} ends at {end} of {}", scene.width);
            }
        }
    }

    #[test]
    fn marks_are_round_and_hold_one_from_a_hundredth_to_a_factor_of_thousands() {
        for (low, high) in [(0.97, 1.04), (0.8, 1.3), (0.5, 2.0), (0.1, 3.0), (0.0003, 900.0)] {
            let marks = marks(low, high);
            assert!(marks.len() >= 4 && marks.len() <= 12, "{low} {high} {marks:?}");
            assert!(marks.iter().any(|mark| (mark - 1.0).abs() < 1e-9), "{marks:?}");
        }
        let words = [1.25, 1.0, 350.0, 0.4, 0.0028].map(ratio_text);
        assert_eq!(words, ["1.25x", "1x", "350x", "0.4x", "1/357"]);
    }

    #[test]
    fn a_huge_and_a_nonsense_effect_are_drawn_without_panic() {
        assert!(draw(&found(1e-4), Look::SHEET).is_some());
        assert!(draw(&found(f64::INFINITY), Look::SHEET).is_some());
        let none = FactorFindings { factors: Vec::new(), ..found(1.0) };
        assert!(draw(&none, Look::PAGE).is_none());
    }
}
