//! A worker keeps the log of each operation while it measures; here it gets
//! comment lines that say which trial it is. Where only the histogram of a trial
//! was kept, the log has one line for the whole trial. Values are nanoseconds;
//! the maximum in a line is milliseconds, as the format wants.

use std::fmt::Write;

use pickfs_record::{
    RunRecord, TrialRecord,
    record::{OpRecord, Times},
    visible::steers,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntervalLog {
    pub file_name: String,
    pub text: String,
}

pub fn interval_logs(run: &RunRecord) -> Vec<IntervalLog> {
    let ops = run.trials.iter().flat_map(|trial| trial.ops.iter().map(move |op| (trial, op)));
    ops.filter_map(|(trial, op)| {
        let body = body(trial, op)?;
        let text = format!("{}{body}", head(run, trial, op));
        Some(IntervalLog { file_name: file_name(trial, op), text })
    })
    .collect()
}

pub fn file_name(trial: &TrialRecord, op: &OpRecord) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let op: String = op.op.chars().map(plain).collect();
    format!("trial-{:04}-{op}.hlog", trial.number)
}

fn head(run: &RunRecord, trial: &TrialRecord, op: &OpRecord) -> String {
    let cell = run.cells.iter().find(|cell| cell.id == trial.cell);
    let label = cell.map_or("unknown candidate", |cell| &cell.candidate.label);
    let levels = cell.map(|cell| cell.levels_text()).unwrap_or_default();
    let mut out = String::new();
    for (key, value) in [
        ("run", run.name.as_str()),
        ("candidate", label),
        ("levels", &levels),
        ("operation", &op.op),
    ] {
        let _ = writeln!(out, "#[pickfs {key}: {}]", one_line(value));
    }
    let _ = writeln!(out, "#[pickfs trial {}, block {}; values in ns]", trial.number, trial.block);
    out
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

fn body(trial: &TrialRecord, op: &OpRecord) -> Option<String> {
    if !op.interval_log.is_empty() {
        return Some(op.interval_log.clone());
    }
    let measured_s = trial.load.as_ref().map_or(0.0, |load| load.measured_ns as f64 / 1e9);
    let response = op.response.as_ref().map(|operations| ("response", operations));
    let lines: String = [Some(("service", &op.service)), response]
        .into_iter()
        .flatten()
        .filter(|(_, operations)| !operations.histogram.is_empty())
        .map(|(tag, operations)| line(tag, operations, measured_s))
        .collect();
    let title = "#[Histogram log format version 1.3]\n\
                 \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
                 \"Interval_Compressed_Histogram\"\n";
    (!lines.is_empty()).then(|| format!("{title}{lines}"))
}

fn line(tag: &str, operations: &Times, measured_s: f64) -> String {
    let max_ms = operations.max_ns as f64 / 1e6;
    format!("Tag={tag},0.000,{measured_s:.3},{max_ms:.3},{}\n", operations.histogram)
}
