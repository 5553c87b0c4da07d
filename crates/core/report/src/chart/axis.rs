//! A latency lies well on a logarithmic axis, a quantile on an axis of nines:
//! 90 %, 99 % and 99.9 % are equally far apart, so that a tail can be read.

use pickfs_record::quantity::grouped;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    Linear,
    /// Equal ratios are equally long; values are above zero.
    Log,
    /// Shares in [0, 1): each further nine is equally long.
    Nines,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    Seconds,
    Minutes,
    Share,
    #[default]
    Count,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub spacing: Spacing,
    pub low: f64,
    pub high: f64,
    pub unit: Unit,
    pub ticks: Vec<Tick>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    pub value: f64,
    pub text: String,
}

impl Axis {
    pub fn log(unit: Unit, values: impl Iterator<Item = f64>) -> Axis {
        let (low, high) = ends(values.filter(|v| *v > 0.0 && v.is_finite())).unwrap_or((1.0, 10.0));
        let (low, high) = (step_down(low), step_up(high));
        let high = if high <= low { low * 10.0 } else { high };
        let decades = (high / low).log10();
        let labelled: &[f64] = match decades {
            d if d <= 1.4 => &[1.0, 2.0, 3.0, 5.0, 7.0],
            d if d <= 3.1 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let skip = if decades > 6.5 { 2 } else { 1 };
        let ticks = log_marks(low, high, labelled, skip);
        let ticks = ticks.into_iter().map(|v| Tick { value: v, text: unit.text(v) }).collect();
        Axis { spacing: Spacing::Log, low, high, unit, ticks }
    }

    pub fn linear(unit: Unit, values: impl Iterator<Item = f64>) -> Axis {
        let high = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        Axis::between(unit, 0.0, if high > 0.0 { high } else { 1.0 })
    }

    pub fn between(unit: Unit, low: f64, high: f64) -> Axis {
        let step = nice_step((high - low).max(f64::MIN_POSITIVE) / 5.0);
        let (first, last) = ((low / step).floor() as i64, (high / step - 1e-9).ceil() as i64);
        let last = last.max(first + 1);
        let ticks = (first..=last)
            .map(|k| k as f64 * step)
            .map(|value| Tick { value, text: unit.text(value) })
            .collect();
        let (low, high) = (first as f64 * step, last as f64 * step);
        Axis { spacing: Spacing::Linear, low, high, unit, ticks }
    }

    pub fn span(unit: Unit, low: f64, high: f64) -> Axis {
        let mut axis = Axis::between(unit, low, high);
        (axis.low, axis.high) = (low, high.max(low + f64::MIN_POSITIVE));
        axis.ticks.retain(|tick| tick.value >= low && tick.value <= high * (1.0 + 1e-9));
        axis
    }

    /// An axis of nines from 0 to a share; at least two nines, at most eight.
    pub fn nines(highest: f64) -> Axis {
        let reach = nines(highest).clamp(2.0, 8.0);
        let mut ticks = vec![Tick { value: 0.5, text: "50 %".into() }];
        for count in 1..=(reach + 0.01).floor() as usize {
            let value = 1.0 - 10f64.powi(-(count as i32));
            ticks.push(Tick { value, text: share_text(value) });
        }
        let high = 1.0 - 10f64.powf(-reach);
        Axis { spacing: Spacing::Nines, low: 0.0, high, unit: Unit::Share, ticks }
    }

    /// Where a value lies: 0 at the lower end, 1 at the upper end, cut at both.
    pub fn place(&self, value: f64) -> f64 {
        let (v, low, high) = (self.warp(value), self.warp(self.low), self.warp(self.high));
        ((v - low) / (high - low)).clamp(0.0, 1.0)
    }

    fn warp(&self, value: f64) -> f64 {
        match self.spacing {
            Spacing::Linear => value,
            Spacing::Log => value.max(f64::MIN_POSITIVE).log10(),
            Spacing::Nines => nines(value),
        }
    }
}

impl Unit {
    pub fn text(self, value: f64) -> String {
        match self {
            Unit::Nanoseconds => tick_duration(value),
            Unit::Seconds | Unit::Minutes => trimmed(value),
            Unit::Share => share_text(value),
            Unit::Count if value.fract() == 0.0 => grouped(value as i64),
            Unit::Count => trimmed(value),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Seconds => "s",
            Unit::Minutes => "min",
            Unit::Share => "q",
            Unit::Count => "",
        }
    }
}

/// Number of nines of a share: 0.9 is 1, 0.99 is 2, 0.5 is 0.301.
pub fn nines(share: f64) -> f64 {
    -(1.0 - share.clamp(0.0, 1.0 - 1e-12)).log10()
}

pub fn share_text(share: f64) -> String {
    let decimals = (nines(share) - 2.0 - 0.01).ceil().clamp(0.0, 8.0) as usize;
    let text = format!("{:.*}", decimals, share * 100.0);
    format!("{text} %")
}

fn tick_duration(value_ns: f64) -> String {
    let (name, factor) = match value_ns.abs() {
        0.0 => return "0".into(),
        v if v >= 0.9999e9 => ("s", 1e9),
        v if v >= 0.9999e6 => ("ms", 1e6),
        v if v >= 0.9999e3 => ("us", 1e3),
        _ => ("ns", 1.0),
    };
    format!("{} {name}", trimmed(value_ns / factor))
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() || text == "-0" { "0".into() } else { text.into() }
}

pub(super) fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, v| match ends {
        None => Some((v, v)),
        Some((low, high)) => Some((low.min(v), high.max(v))),
    })
}

fn nice_step(raw: f64) -> f64 {
    let decade = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|f| f * decade >= raw * 0.999);
    factor.unwrap_or(10.0) * decade
}

fn step_down(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    [5.0, 2.0].into_iter().find(|f| f * decade <= value * 1.0001).unwrap_or(1.0) * decade
}

fn step_up(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].into_iter().find(|f| f * decade >= value * 0.9999).unwrap_or(10.0) * decade
}

fn log_marks(low: f64, high: f64, factors: &[f64], skip: usize) -> Vec<f64> {
    let first = low.log10().floor() as i32;
    let last = high.log10().ceil() as i32;
    (first..=last)
        .step_by(skip)
        .flat_map(|k| factors.iter().map(move |f| f * 10f64.powi(k)))
        .filter(|v| *v >= low * 0.9999 && *v <= high * 1.0001)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.text.as_str()).collect()
    }

    #[test]
    fn nines_are_equally_far_apart() {
        let axis = Axis::nines(0.9999);
        assert_eq!(texts(&axis), ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
        let gaps: Vec<_> = [0.9, 0.99, 0.999, 0.9999].map(|q| axis.place(q)).to_vec();
        assert!((gaps[1] - gaps[0] - (gaps[2] - gaps[1])).abs() < 1e-9);
        assert!((axis.place(0.9999) - 1.0).abs() < 1e-9);
        assert_eq!(axis.place(0.0), 0.0);
    }

    #[test]
    fn a_log_axis_of_many_decades_names_the_decades() {
        let axis = Axis::log(Unit::Nanoseconds, [410.0, 6_779_000.0].into_iter());
        assert_eq!(texts(&axis), ["1 us", "10 us", "100 us", "1 ms", "10 ms"]);
        assert!(axis.low <= 410.0 && axis.high >= 6_779_000.0);
    }

    #[test]
    fn a_log_axis_of_one_decade_has_marks_between() {
        let axis = Axis::log(Unit::Nanoseconds, [120_000.0, 560_000.0].into_iter());
        assert_eq!(texts(&axis), ["100 us", "200 us", "300 us", "500 us", "700 us", "1 ms"]);
    }

    #[test]
    fn a_log_axis_ignores_what_it_cannot_show() {
        let axis = Axis::log(Unit::Nanoseconds, [0.0, f64::NAN, -1.0].into_iter());
        assert!(axis.low > 0.0 && axis.high > axis.low);
    }

    #[test]
    fn linear_steps_are_round() {
        let axis = Axis::linear(Unit::Nanoseconds, [560_000.0].into_iter());
        assert_eq!(texts(&axis), ["0", "200 us", "400 us", "600 us"]);
        assert_eq!(texts(&Axis::between(Unit::Seconds, 0.0, 8.0)), ["0", "2", "4", "6", "8"]);
        let span = Axis::span(Unit::Seconds, 0.0, 90.0);
        assert_eq!((span.high, texts(&span)), (90.0, vec!["0", "20", "40", "60", "80"]));
    }

    #[test]
    fn one_value_still_makes_an_axis() {
        let axis = Axis::log(Unit::Nanoseconds, [100.0].into_iter());
        assert!(axis.high > axis.low);
        assert!(Axis::linear(Unit::Count, std::iter::empty()).high > 0.0);
    }
}
