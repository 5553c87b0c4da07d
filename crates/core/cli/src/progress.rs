use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use pickfs_lab::{length::length_text, sink::Sink};
use pickfs_record::{
    Environment, Event, Outcome, Plan,
    quantity::{counted, duration_text, span_text},
};
use pickfs_report::card::card_facts;

use crate::terminal;

pub struct Progress {
    bar: ProgressBar,
    on_terminal: bool,
    cell: String,
    plan: Plan,
}

impl Progress {
    pub fn new(plan: &Plan) -> Progress {
        let on_terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(Some(1), terminal::bar_target());
        let bar = bar.with_style(style());
        Progress { bar, on_terminal, cell: String::new(), plan: plan.clone() }
    }

    fn say(&self, text: String) {
        if self.on_terminal {
            self.bar.println(text);
        } else {
            terminal::tell(&text);
        }
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

impl Sink for Progress {
    fn accept(&mut self, event: &Event) {
        match event {
            Event::RunStarted { trials, expected_s, seed, file, card, environment, .. } => {
                self.say(card_text(card, environment));
                self.bar.set_length(u64::from(*trials));
                let expected = length_text(&self.plan, *expected_s);
                let trials = counted(u64::from(*trials), "trial");
                self.say(format!("{trials}, {expected}, seed {seed}, kept in {file}"));
            }
            Event::Preparing { what, share } => {
                self.bar.set_message(format!("{what} {:.0} %", share * 100.0));
            }
            Event::TrialStarted { block, candidate, levels, .. } => {
                self.cell = format!("block {block}  {candidate} {levels}");
                self.bar.set_message(self.cell.clone());
            }
            Event::TrialProgress { phase, laps, max_ns, .. } => {
                let live = match laps {
                    0 => String::new(),
                    _ => format!("  {laps} laps, worst {}", duration_text(*max_ns as f64)),
                };
                self.bar.set_message(format!("{}  {phase}{live}", self.cell));
            }
            Event::TrialFinished { number, outcome, headline_ns, left_s } => {
                self.bar.set_position(u64::from(*number));
                self.finished(outcome, *headline_ns, *left_s);
            }
            Event::Noticed { text } => self.say(format!("note: {text}")),
            Event::RunFinished { how, note } => {
                self.bar.finish_and_clear();
                self.say(format!("{how}: {note}"));
            }
        }
    }
}

fn card_text(card: &Environment, environment: &Environment) -> String {
    let mut lines = vec![String::from("set-up ")];
    for fact in card_facts(card, environment) {
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
    fn finished(&self, outcome: &Outcome, headline_ns: Option<u64>, left_s: f64) {
        let result = match outcome {
            Outcome::Finished => {
                headline_ns.map_or_else(|| "done".into(), |ns| duration_text(ns as f64))
            }
            Outcome::Failed { reason } => format!("FAILED: {reason}"),
            Outcome::Skipped { reason } => format!("skipped: {reason}"),
        };
        let left = span_text(left_s);
        if !self.on_terminal || *outcome != Outcome::Finished {
            self.say(format!("{}  {result}  ({left} left)", self.cell));
        }
        self.bar.set_message(format!("{}  {result}  {left} left", self.cell));
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
