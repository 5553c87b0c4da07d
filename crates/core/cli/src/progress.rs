use std::{collections::BTreeMap, io::IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};
use pickfs_analysis::wording::metric_name;
use pickfs_lab::{length::length_text, sink::Sink};
use pickfs_record::{
    Environment, Event, Headline, Metric, Outcome, Plan,
    phase::WorkUnit,
    quantity::{counted, duration_text, span_text},
};
use pickfs_report::{
    card::{card_facts, machine_line},
    terminal::wrap,
    wording::value_text,
};

use crate::terminal;

/// Of the bar, which shows time: nobody knows how many trials are repeated, or end a race.
const STEPS: f64 = 1_000.0;

pub struct Progress {
    bar: ProgressBar,
    on_terminal: bool,
    cell: String,
    left: String,
    running: Running,
    plan: Plan,
}

/// The values so far of each candidate, by levels; of the trials of a block the first counts.
#[derive(Default)]
struct Running {
    block: u32,
    candidate: String,
    levels: String,
    values: BTreeMap<String, Of>,
}

/// Values of one metric by candidate and block.
struct Of {
    metric: Metric,
    unit: Option<WorkUnit>,
    values: BTreeMap<String, BTreeMap<u32, f64>>,
}

impl Running {
    /// A value of another metric than the first of these levels is not among them.
    fn add(&mut self, headline: &Headline) {
        let Headline { metric, unit, value } = headline;
        let new = || Of { metric: metric.clone(), unit: *unit, values: BTreeMap::new() };
        let of = self.values.entry(self.levels.clone()).or_insert_with(new);
        if of.metric == *metric {
            let values = of.values.entry(self.candidate.clone()).or_default();
            values.entry(self.block).or_insert(*value);
        }
    }

    /// `sync=fdatasync: xfs 450 us, ext4 616 us`: medians of the cells beside the last one, the best first, as many as
    /// have room; without levels the metric stands in front.
    fn line(&self, columns: usize) -> String {
        let Some(Of { metric, unit, values }) = self.values.get(&self.levels) else {
            return String::new();
        };
        let median = |values: &BTreeMap<u32, f64>| {
            let mut sorted: Vec<f64> = values.values().copied().collect();
            sorted.sort_by(f64::total_cmp);
            sorted[(sorted.len() - 1) / 2]
        };
        let mut each: Vec<_> = values.iter().map(|(name, of)| (median(of), name)).collect();
        each.sort_by(|one, other| one.0.total_cmp(&other.0));
        if metric.statistic.is_better_higher() {
            each.reverse();
        }
        let text = |(value, name)| format!("{name} {}", value_text(*unit, metric, value));
        let each: Vec<_> = each.into_iter().map(text).collect();
        let name = metric_name(metric);
        let of = if self.levels.is_empty() { &name } else { &self.levels };
        let whole = format!("{of}: {}", each.join(", "));
        if whole.chars().count() <= columns {
            return whole;
        }
        let fitting = (0..=each.len()).rev().map(|count| match each.len() - count {
            0 => each.join(", "),
            more => format!("{}, {more} more", each[..count].join(", ")),
        });
        let mut fitting = fitting.filter(|text| text.chars().count() <= columns);
        fitting.next().unwrap_or_default()
    }
}

impl Progress {
    pub fn new(plan: &Plan) -> Progress {
        let on_terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(Some(1), terminal::bar_target());
        let bar = bar.with_style(style());
        let (cell, left, running) = (String::new(), String::new(), Running::default());
        Progress { bar, on_terminal, cell, left, running, plan: plan.clone() }
    }

    fn say(&self, text: String) {
        if self.on_terminal {
            self.bar.println(
                text.lines()
                    .flat_map(|line| wrap(line, columns() - 1))
                    .collect::<Vec<_>>()
                    .join("\n"),
            );
        } else {
            terminal::tell(&text);
        }
    }
}

/// `450 us`, `4,239` of a program's own number, `3.1 MB/s`.
pub fn headline_text(headline: &Headline) -> String {
    value_text(headline.unit, &headline.metric, headline.value)
}

/// Two lines: how much of the time is over and where the run is, and the medians so far.
fn style() -> ProgressStyle {
    let bar = if columns() < 60 { 6 } else { 16 };
    ProgressStyle::with_template(&format!("{{bar:{bar}}} {{wide_msg}}\n{{prefix}}"))
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    size.map_or(80, |size| usize::from(size.ws_col)).max(20)
}

impl Sink for Progress {
    fn accept(&mut self, event: &Event) {
        match event {
            Event::RunStarted { trials, expected_s, seed, file, card, environment, .. } => {
                self.say(card_text(card, environment, self.on_terminal));
                self.bar.set_length(STEPS as u64);
                let expected = length_text(&self.plan, *expected_s, *trials);
                let trials = format!("{}, ", counted(u64::from(*trials), "trial"));
                let trials = if self.plan.design.stop.is_race() { "" } else { &trials };
                self.say(format!("{trials}{expected}, seed {seed}, kept in {file}"));
            }
            Event::Preparing { what, share } => {
                self.bar.set_message(format!("{what} {:.0} %", share * 100.0));
            }
            Event::TrialStarted { block, candidate, levels, .. } => {
                self.cell = format!("block {block}  {candidate} {levels}").trim_end().into();
                if *block != self.running.block && !self.on_terminal {
                    self.tell_medians();
                }
                (self.running.block, self.running.candidate) = (*block, candidate.clone());
                self.running.levels.clone_from(levels);
                self.show(&self.cell);
            }
            Event::TrialProgress { phase, operations, max_ns, .. } => {
                let live = match operations {
                    0 => String::new(),
                    _ => format!(", worst {}", duration_text(*max_ns as f64)),
                };
                self.show(&format!("{}  {phase}{live}", self.cell));
            }
            Event::TrialFinished { outcome, headline, left_s, .. } => {
                let passed_s = self.bar.elapsed().as_secs_f64();
                self.bar.set_position((STEPS * passed_s / (passed_s + left_s)) as u64);
                self.finished(outcome, headline.as_deref(), *left_s);
            }
            Event::Noticed { text } => self.say(format!("note: {text}")),
            Event::RunFinished { how, note } => {
                self.bar.finish_and_clear();
                self.say(format!("{how}: {note}"));
            }
        }
    }
}

/// The whole card; a terminal shows the machine and what is in doubt, as the run file has the rest.
fn card_text(card: &Environment, environment: &Environment, is_short: bool) -> String {
    let mut lines = vec![String::from("set-up ")];
    if is_short {
        lines[0].push_str(&format!(" {};", machine_line(environment)));
    }
    for fact in
        card_facts(card, environment).into_iter().filter(|fact| !is_short || fact.flag.is_some())
    {
        let doubt = fact.flag.map_or_else(String::new, |flag| format!(" ({flag})"));
        let text = format!(" {} {}{doubt};", fact.name, fact.value);
        let line = lines.last_mut().expect("there is always a line");
        if line.chars().count() + text.chars().count() > 98 {
            lines.push(format!("       {text}"));
        } else {
            line.push_str(&text);
        }
    }
    lines.join("\n")
}

impl Progress {
    fn show(&self, what: &str) {
        let left = if self.left.is_empty() { "" } else { &format!("{} left  ", self.left) };
        self.bar.set_message(format!("{left}{what}"));
    }

    /// A line for each combination of levels.
    fn tell_medians(&mut self) {
        for levels in self.running.values.keys().cloned().collect::<Vec<_>>() {
            self.running.levels = levels;
            let line = self.running.line(usize::MAX);
            self.say(format!("medians after block {}  {line}", self.running.block));
        }
    }

    fn finished(&mut self, outcome: &Outcome, headline: Option<&Headline>, left_s: f64) {
        let result = match outcome {
            Outcome::Finished => headline.map_or_else(|| "done".into(), headline_text),
            Outcome::Failed { reason } => format!("FAILED: {reason}"),
            Outcome::Skipped { reason } => format!("skipped: {reason}"),
        };
        self.left = span_text(left_s);
        if !self.on_terminal || *outcome != Outcome::Finished {
            self.say(format!("{}  {result}  ({} left)", self.cell, self.left));
        }
        if let Some(value) = headline {
            self.running.add(value);
            self.bar.set_prefix(self.running.line(columns() - 1));
        }
        self.show(&format!("{}  {result}", self.cell));
    }
}

pub struct JsonLines;

impl Sink for JsonLines {
    fn accept(&mut self, event: &Event) {
        if let Ok(text) = serde_json::to_string(event) {
            terminal::line(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_so_far_fit_eighty_and_forty_columns() {
        let mut running = Running { levels: "sync=fdatasync".into(), ..Running::default() };
        for (candidate, values_us) in
            [("ext4", [616, 599, 662]), ("xfs", [450, 9_000, 440]), ("btrfs", [860, 850, 870])]
        {
            running.candidate = candidate.into();
            for (block, us) in values_us.into_iter().enumerate() {
                running.block = block as u32;
                let value = Headline {
                    metric: "append.p50".parse().expect("a metric"),
                    value: f64::from(us) * 1e3,
                    unit: None,
                };
                running.add(&value);
                running.add(&Headline { value: 1.0, ..value });
            }
        }
        let all = "xfs 450 us, ext4 616 us, btrfs 860 us";
        assert_eq!(running.line(80), format!("sync=fdatasync: {all}"));
        assert_eq!(running.line(40), all);
        assert_eq!(running.line(30), "xfs 450 us, 2 more");
        running.levels = "sync=none".into();
        assert_eq!(running.line(80), "");
        for (candidate, value) in [("ext4", 4_199.0), ("xfs", 4_239.0)] {
            running.candidate = candidate.into();
            running.add(&Headline {
                metric: "tps.higher".parse().expect("a metric"),
                value,
                unit: None,
            });
        }
        running.candidate = "btrfs".into();
        let other = "wall.p50".parse().expect("a metric");
        running.add(&Headline { metric: other, value: 1e10, unit: None });
        assert_eq!(running.line(80), "sync=none: xfs 4,239, ext4 4,199", "the highest first");
    }
}
