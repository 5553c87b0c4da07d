//! A row is a phase that counts bytes, its rate the median over trials. Where a run was told to
//! give the original's inflated sync figures they stand in the column, as the original prints
//! them. What we do not measure stays empty: the expression, and what iostat counts as written.

use pickfs_analysis::{
    published::{self, facts::Fact, nano::HEAD, rates::INFLATED},
    summary::median,
    wording::unique,
};
use pickfs_record::{
    TrialRecord, WorkUnit,
    finding::{Panel, PhaseRow},
    phase::PhaseRecord,
    visible::steers,
};

use crate::Subject;

const DEVICE_READ: &str = "device_read_bytes";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PsvFile {
    pub file_name: String,
    pub text: String,
}

pub fn psv_files(subject: &Subject) -> Vec<PsvFile> {
    let panels: Vec<&Panel> =
        subject.findings.panels.iter().filter(|panel| !panel.phases.is_empty()).collect();
    let rows = panels.iter().flat_map(|panel| &panel.rows);
    let labels = unique(rows.map(|row| row.label.as_str()));
    let file = |(index, label): (usize, &str)| PsvFile {
        file_name: file_name(index, label, &labels),
        text: table(subject, &panels, label),
    };
    labels.iter().copied().enumerate().map(file).collect()
}

fn file_name(index: usize, label: &str, labels: &[&str]) -> String {
    let plain = |label: &str| -> String {
        let keep = |c: char| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '-' };
        label.chars().map(keep).collect()
    };
    let own = plain(label);
    let is_taken = labels.iter().take(index).any(|other| plain(other) == own);
    if is_taken { format!("{own}-{}.psv", index + 1) } else { format!("{own}.psv") }
}

fn table(subject: &Subject, panels: &[&Panel], label: &str) -> String {
    let mut out = HEAD.to_owned();
    for panel in panels {
        let Some(at) = panel.rows.iter().position(|row| row.label == label) else { continue };
        let trials: Vec<&TrialRecord> = subject.finished(&panel.rows[at].cell).collect();
        for phase in &panel.phases {
            if let Some(fields) = fields(&trials, phase) {
                out.push_str(&format!("{}\n", fields.join("|")));
            }
        }
    }
    out
}

fn fields(trials: &[&TrialRecord], phase: &PhaseRow) -> Option<Vec<String>> {
    let records: Vec<&PhaseRecord> = trials
        .iter()
        .flat_map(|trial| &trial.phases)
        .filter(|record| record.phase == phase.phase && record.is_finished())
        .collect();
    let first = records.first().filter(|_| !phase.is_derived)?;
    let over = |number: &dyn Fn(&PhaseRecord) -> Option<f64>| -> Option<f64> {
        let values: Vec<f64> = records.iter().filter_map(|record| number(record)).collect();
        (!values.is_empty()).then(|| median(&values))
    };
    let inflated = over(&|record| record.values.get(INFLATED).copied());
    let counted = (phase.unit == WorkUnit::Bytes).then(|| over(&|record| Some(record.rate_per_s)));
    let rate = inflated.or(counted.flatten())?;
    let read = over(&device_read_per_s);
    let threads = trials.iter().flat_map(|trial| &trial.phases).map(|record| record.threads).max();
    let accuracy = over(&|record| Some(accuracy(record)))?;
    let decimal = |per_s: f64| format!("{:.2}", per_s / 1e6);
    Some(vec![
        first.lanes.to_string(),
        threads.unwrap_or(1).to_string(),
        "l64".into(),
        test_type(phase).unwrap_or_else(|| clean(&phase.suite)),
        clean(&phase.label),
        String::new(),
        accuracy_text(accuracy),
        decimal(rate),
        "MB/s".into(),
        read.map(decimal).unwrap_or_default(),
        String::new(),
        String::new(),
    ])
}

fn clean(text: &str) -> String {
    text.chars().map(|c| if c == '|' || steers(c) { ' ' } else { c }).collect()
}

/// How well the lanes began together, as the original counts it: 100 is at the same instant.
fn accuracy(record: &PhaseRecord) -> f64 {
    let mean_ns = record.elapsed_mean_ns.max(1) as f64;
    100.0 * (1.0 - record.start_skew_ns as f64 / mean_ns)
}

/// The first five characters, as the original cuts it.
fn accuracy_text(accuracy: f64) -> String {
    let text = format!("{accuracy:.6}");
    text.chars().take(5).collect::<String>().trim_end_matches('.').into()
}

fn device_read_per_s(record: &PhaseRecord) -> Option<f64> {
    let bytes = record.values.get(DEVICE_READ)?;
    Some(bytes * 1e9 / record.elapsed_ns.max(1) as f64)
}

/// The original's class of a row, from its published tables.
fn test_type(phase: &PhaseRow) -> Option<String> {
    let table = published::find("kx-2025-rhel9").ok()?;
    let is_it = |fact: &&Fact| {
        fact.label == phase.label && (fact.heat().is_none() || fact.heat() == phase.heat)
    };
    table.facts.iter().find(is_it).map(|fact| fact.test_type.clone())
}
