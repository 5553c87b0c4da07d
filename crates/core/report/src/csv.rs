//! Times are nanoseconds in columns that end in `_ns`.

use std::io;

use csv::Writer;
use pickfs_record::{
    Cell, Heat, PhaseRecord, TrialRecord,
    finding::{Claim, Comparison, OpSummary, Panel, Row},
    plan::View,
    record::{QUANTILES, Times},
    visible::steers,
};

use crate::{
    Subject,
    wording::{claim_word, outcome_text, quantile_name, statistic_name},
};

pub fn trials_csv(subject: &Subject) -> Result<String, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(trial_header(subject))?;
    for trial in &subject.run.trials {
        for (op, view, laps) in distributions(trial) {
            let mut record = trial_fields(subject, trial);
            record.extend([op.to_string(), view.to_string()]);
            record.extend(laps.map(lap_fields).unwrap_or_default());
            record.resize(trial_header(subject).len(), String::new());
            writer.write_record(record)?;
        }
    }
    text(writer)
}

fn distributions(trial: &TrialRecord) -> Vec<(&str, &'static str, Option<&Times>)> {
    let rows: Vec<_> = trial
        .ops
        .iter()
        .flat_map(|op| {
            let response =
                op.response.as_ref().map(|laps| (op.op.as_str(), "response", Some(laps)));
            [Some((op.op.as_str(), "service", Some(&op.service))), response]
        })
        .flatten()
        .collect();
    if rows.is_empty() { vec![("", "", None)] } else { rows }
}

fn axes<'a>(subject: &'a Subject) -> impl Iterator<Item = &'a str> {
    subject.run.plan.axes.iter().map(|axis| axis.name.as_str())
}

const HEAD: [&str; 6] = ["run", "trial", "block", "attempt", "cell", "candidate"];

fn trial_header(subject: &Subject) -> Vec<String> {
    let mut header: Vec<String> = HEAD.map(String::from).to_vec();
    header.extend(axes(subject).map(String::from));
    header.extend(
        ["backing", "durability", "outcome", "started_s", "elapsed_s", "flags", "raw_p50_ns"]
            .map(String::from),
    );
    header.extend(["asked_per_s", "achieved_per_s", "late_driver", "late_queue"].map(String::from));
    header.extend(["op", "view", "count", "mean_ns", "sd_ns", "min_ns"].map(String::from));
    for q in QUANTILES {
        header.push(format!("{}_ns", quantile_name(*q)));
        header.push(format!("{}_episodes", quantile_name(*q)));
    }
    header.extend(["max_ns", "overflow"].map(String::from));
    header
}

fn head_fields(subject: &Subject, trial: &TrialRecord) -> Vec<String> {
    let cell = subject.cell(&trial.cell);
    let of = |get: &dyn Fn(&Cell) -> String| cell.map(get).unwrap_or_default();
    let mut fields = vec![
        subject.run.name.clone(),
        trial.number.to_string(),
        trial.block.to_string(),
        trial.attempt.to_string(),
        trial.cell.to_string(),
        of(&|cell| cell.candidate.label.clone()),
    ];
    fields.extend(axes(subject).map(|a| of(&|cell| cell.level(a).unwrap_or_default().into())));
    fields
}

fn trial_fields(subject: &Subject, trial: &TrialRecord) -> Vec<String> {
    let mut fields = head_fields(subject, trial);
    let durability = subject.cell(&trial.cell).map(|cell| cell.durability.to_string());
    let flags: Vec<_> = trial.flags.iter().map(|flag| flag.kind.as_str()).collect();
    let load = trial.load.as_ref();
    fields.extend([
        trial.backing.to_string(),
        durability.unwrap_or_default(),
        outcome_text(&trial.outcome),
        format!("{:.3}", trial.started_s),
        format!("{:.3}", trial.elapsed_s),
        flags.join(" "),
        trial.raw.as_ref().map(|raw| raw.p50_ns.to_string()).unwrap_or_default(),
        load.and_then(|load| load.asked_per_s).map(|v| v.to_string()).unwrap_or_default(),
        load.map(|load| load.achieved_per_s.to_string()).unwrap_or_default(),
        load.map(|load| load.late_driver.to_string()).unwrap_or_default(),
        load.map(|load| load.late_queue.to_string()).unwrap_or_default(),
    ]);
    fields
}

fn lap_fields(laps: &Times) -> Vec<String> {
    let mut fields = vec![
        laps.count.to_string(),
        format!("{:.1}", laps.mean_ns),
        format!("{:.1}", laps.sd_ns),
        laps.min_ns.to_string(),
    ];
    for q in QUANTILES {
        let row = laps.quantile(*q);
        fields.push(row.map(|row| row.value_ns.to_string()).unwrap_or_default());
        fields.push(row.map(|row| row.episodes.to_string()).unwrap_or_default());
    }
    fields.extend([laps.max_ns.to_string(), laps.overflow.to_string()]);
    fields
}

const PHASE_COLUMNS: [&str; 24] = [
    "phase",
    "label",
    "suite",
    "heat",
    "high_impact",
    "derived",
    "unit",
    "outcome",
    "work",
    "rate_per_s",
    "real_bytes",
    "elapsed_ns",
    "elapsed_mean_ns",
    "start_skew_ns",
    "start_skew_p50_ns",
    "lanes",
    "threads",
    "cpu_user_ns",
    "cpu_system_ns",
    "flags",
    "values",
    "reason",
    "trial_outcome",
    "backing",
];

pub fn phases_csv(subject: &Subject) -> Result<String, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    let head = HEAD.iter().filter(|name| **name != "cell").copied().chain(axes(subject));
    writer.write_record(head.chain(PHASE_COLUMNS))?;
    for trial in &subject.run.trials {
        for phase in &trial.phases {
            let mut fields = head_fields(subject, trial);
            fields.remove(4);
            fields.extend(phase_fields(trial, phase));
            writer.write_record(fields)?;
        }
    }
    text(writer)
}

fn phase_fields(trial: &TrialRecord, phase: &PhaseRecord) -> Vec<String> {
    let heat = match phase.heat {
        Some(Heat::Cold) => "cold",
        Some(Heat::Hot) => "hot",
        None => "",
    };
    let flags: Vec<&str> = phase.flags.iter().map(|flag| flag.kind.as_str()).collect();
    let values = phase.values.iter().map(|(name, value)| format!("{name}={value}"));
    let outcome = outcome_text(&phase.outcome);
    let (word, reason) = outcome.split_once(": ").unwrap_or((&outcome, ""));
    vec![
        phase.phase.clone(),
        phase.label.clone(),
        phase.suite.clone(),
        heat.into(),
        phase.is_high_impact.to_string(),
        phase.is_derived.to_string(),
        phase.unit.word().into(),
        word.into(),
        phase.work.to_string(),
        phase.rate_per_s.to_string(),
        phase.real_bytes.to_string(),
        phase.elapsed_ns.to_string(),
        phase.elapsed_mean_ns.to_string(),
        phase.start_skew_ns.to_string(),
        phase.start_skew_p50_ns.to_string(),
        phase.lanes.to_string(),
        phase.threads.to_string(),
        phase.cpu_user_ns.to_string(),
        phase.cpu_system_ns.to_string(),
        flags.join(" "),
        values.collect::<Vec<_>>().join(" "),
        reason.into(),
        outcome_text(&trial.outcome),
        trial.backing.to_string(),
    ]
}

pub fn summary_csv(subject: &Subject) -> Result<String, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record([
        "panel",
        "row",
        "cell",
        "backing",
        "durability",
        "trials",
        "failed",
        "op",
        "view",
        "statistic",
        "median_ns",
        "low_ns",
        "high_ns",
        "episodes",
        "carried",
        "laps",
        "reference",
        "speedup",
        "interval_low",
        "interval_high",
        "claim",
        "margin",
    ])?;
    for panel in &subject.findings.panels {
        for row in &panel.rows {
            for op in &row.ops {
                for fields in statistics(panel, row, op) {
                    writer.write_record(fields)?;
                }
            }
        }
    }
    text(writer)
}

fn statistics(panel: &Panel, row: &Row, op: &OpSummary) -> Vec<Vec<String>> {
    let mean = ("mean".to_string(), op.mean_ns, String::new(), String::new());
    let quantiles = op
        .quantiles
        .iter()
        .map(|q| (quantile_name(q.q), q.value_ns, q.episodes.to_string(), q.carried.to_string()));
    quantiles
        .chain([mean])
        .map(|(name, value, episodes, carried)| {
            let mut fields = row_fields(panel, row, op);
            let values = [value.median, value.low, value.high].map(|v| format!("{v:.1}"));
            fields.push(name.clone());
            fields.extend(values);
            fields.extend([episodes, carried, op.count.to_string()]);
            fields.extend(comparison_fields(panel, row, op, &name));
            fields
        })
        .collect()
}

fn row_fields(panel: &Panel, row: &Row, op: &OpSummary) -> Vec<String> {
    vec![
        panel.title.clone(),
        row.label.clone(),
        row.cell.to_string(),
        row.backing.to_string(),
        row.durability.to_string(),
        row.trials.to_string(),
        row.failed.to_string(),
        op.op.clone(),
        match op.view {
            View::Service => "service".into(),
            View::Response => "response".into(),
            View::RawResponse => "raw-response".into(),
        },
    ]
}

fn comparison_fields(panel: &Panel, row: &Row, op: &OpSummary, statistic: &str) -> [String; 6] {
    let fits = |c: &&Comparison| {
        let metric = &c.metric;
        let own = metric.ops().find(|name| row.ops.iter().any(|op| op.op == *name));
        let same = own == Some(op.op.as_str()) && metric.view == op.view;
        same && statistic_name(metric.statistic) == statistic && c.other == row.label
    };
    let Some(found) = panel.comparisons.iter().find(fits) else {
        return Default::default();
    };
    let number = |value: Option<f64>| value.map(|v| format!("{v:.4}")).unwrap_or_default();
    let margin = match found.claim {
        Claim::Equal { margin } => Some(margin),
        _ => None,
    };
    [
        found.reference.clone(),
        number(Some(found.speedup)),
        number(found.interval.map(|i| i.0)),
        number(found.interval.map(|i| i.1)),
        claim_word(found.claim).into(),
        number(margin),
    ]
}

pub(crate) fn text(writer: Writer<Vec<u8>>) -> Result<String, csv::Error> {
    let bytes = writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]);
    let mut inert = Writer::from_writer(Vec::new());
    for record in reader.records() {
        inert.write_record(record?.iter().map(inert_cell))?;
    }
    let bytes = inert.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    String::from_utf8(bytes).map_err(|e| io::Error::other(e).into())
}

/// A cell that a spreadsheet would take for a formula gets an apostrophe in front; what steers a
/// terminal or turns the direction of writing becomes a blank.
fn inert_cell(cell: &str) -> String {
    let cell: String = cell.chars().map(|c| if steers(c) { ' ' } else { c }).collect();
    match cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err() {
        true => format!("'{cell}"),
        false => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        let mut writer = Writer::from_writer(Vec::new());
        writer
            .write_record([
                "=cmd|' /C calc'!A0",
                "@SUM(1)",
                "-1.5",
                "a\u{1b}[31m",
                "a=b",
                "x\u{202e}y\u{2066}",
            ])
            .expect("written");
        let text = text(writer).expect("text");
        assert_eq!(text, "'=cmd|' /C calc'!A0,'@SUM(1),-1.5,a [31m,a=b,x y \n");
    }
}
