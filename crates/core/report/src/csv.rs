//! Times are nanoseconds in columns that end in `_ns`.

use std::io;

use csv::Writer;
use pickfs_record::{
    Cell, Heat, PhaseRecord, TrialRecord,
    finding::{Claim, Comparison, OpSummary, Panel, Row},
    plan::View,
    record::{Flag, QUANTILES, Times},
    visible::steers,
};

use crate::{
    Subject,
    wording::{claim_word, outcome_text, quantile_name, statistic_name},
};

fn or_empty<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn kinds(flags: &[Flag]) -> String {
    flags.iter().map(|flag| flag.kind.as_str()).collect::<Vec<_>>().join(" ")
}

/// A name, and what stands under it.
type TrialColumn = (&'static str, fn(Option<&Cell>, &TrialRecord) -> String);
type PhaseColumn = (&'static str, fn(&TrialRecord, &PhaseRecord) -> String);

const TRIAL: [TrialColumn; 11] = [
    ("backing", |_, trial| trial.backing.to_string()),
    ("durability", |cell, _| or_empty(cell.map(|cell| cell.durability))),
    ("outcome", |_, trial| outcome_text(&trial.outcome)),
    ("started_s", |_, trial| format!("{:.3}", trial.started_s)),
    ("elapsed_s", |_, trial| format!("{:.3}", trial.elapsed_s)),
    ("flags", |_, trial| kinds(&trial.flags)),
    ("raw_p50_ns", |_, trial| or_empty(trial.raw.as_ref().map(|raw| raw.p50_ns))),
    ("asked_per_s", |_, trial| or_empty(trial.load.as_ref().and_then(|load| load.asked_per_s))),
    ("achieved_per_s", |_, trial| or_empty(trial.load.as_ref().map(|load| load.achieved_per_s))),
    ("late_driver", |_, trial| or_empty(trial.load.as_ref().map(|load| load.late_driver))),
    ("late_queue", |_, trial| or_empty(trial.load.as_ref().map(|load| load.late_queue))),
];

pub fn trials_csv(subject: &Subject) -> Result<String, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    let quantiles = QUANTILES.iter().flat_map(|q| {
        let name = quantile_name(*q);
        [format!("{name}_ns"), format!("{name}_episodes")]
    });
    let op = ["op", "view", "count", "mean_ns", "sd_ns", "min_ns"].map(String::from);
    let last = ["max_ns", "overflow"].map(String::from);
    let header = head(subject)
        .chain(TRIAL.iter().map(|(name, _)| name.to_string()))
        .chain(op)
        .chain(quantiles)
        .chain(last);
    let header: Vec<String> = header.collect();
    writer.write_record(&header)?;
    for trial in &subject.run.trials {
        let cell = subject.cell(&trial.cell);
        for (op, view, operations) in distributions(trial) {
            let mut record = head_fields(subject, trial);
            record.extend(TRIAL.map(|(_, column)| column(cell, trial)));
            record.extend([op.to_string(), view.to_string()]);
            record.extend(operations.map(operation_fields).unwrap_or_default());
            record.resize(header.len(), String::new());
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
            let response = op
                .response
                .as_ref()
                .map(|operations| (op.op.as_str(), "response", Some(operations)));
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

fn head<'a>(subject: &'a Subject) -> impl Iterator<Item = String> + 'a {
    HEAD.iter().copied().chain(axes(subject)).map(String::from)
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

fn operation_fields(operations: &Times) -> Vec<String> {
    let mut fields = vec![
        operations.count.to_string(),
        format!("{:.1}", operations.mean_ns),
        format!("{:.1}", operations.sd_ns),
        operations.min_ns.to_string(),
    ];
    for q in QUANTILES {
        let row = operations.quantile(*q);
        fields.push(row.map(|row| row.value_ns.to_string()).unwrap_or_default());
        fields.push(row.map(|row| row.episodes.to_string()).unwrap_or_default());
    }
    fields.extend([operations.max_ns.to_string(), operations.overflow.to_string()]);
    fields
}

const PHASE: [PhaseColumn; 24] = [
    ("phase", |_, phase| phase.phase.clone()),
    ("label", |_, phase| phase.label.clone()),
    ("suite", |_, phase| phase.suite.clone()),
    ("heat", |_, phase| phase.heat.map_or("", heat_word).into()),
    ("high_impact", |_, phase| phase.is_high_impact.to_string()),
    ("derived", |_, phase| phase.is_derived.to_string()),
    ("unit", |_, phase| phase.unit.word().into()),
    ("outcome", |_, phase| outcome(phase).0),
    ("work", |_, phase| phase.work.to_string()),
    ("rate_per_s", |_, phase| phase.rate_per_s.to_string()),
    ("real_bytes", |_, phase| phase.real_bytes.to_string()),
    ("elapsed_ns", |_, phase| phase.elapsed_ns.to_string()),
    ("elapsed_mean_ns", |_, phase| phase.elapsed_mean_ns.to_string()),
    ("start_skew_ns", |_, phase| phase.start_skew_ns.to_string()),
    ("start_skew_p50_ns", |_, phase| phase.start_skew_p50_ns.to_string()),
    ("lanes", |_, phase| phase.lanes.to_string()),
    ("threads", |_, phase| phase.threads.to_string()),
    ("cpu_user_ns", |_, phase| phase.cpu_user_ns.to_string()),
    ("cpu_system_ns", |_, phase| phase.cpu_system_ns.to_string()),
    ("flags", |_, phase| kinds(&phase.flags)),
    ("values", |_, phase| {
        let values = phase.values.iter().map(|(name, value)| format!("{name}={value}"));
        values.collect::<Vec<_>>().join(" ")
    }),
    ("reason", |_, phase| outcome(phase).1),
    ("trial_outcome", |trial, _| outcome_text(&trial.outcome)),
    ("backing", |trial, _| trial.backing.to_string()),
];

fn heat_word(heat: Heat) -> &'static str {
    match heat {
        Heat::Cold => "cold",
        Heat::Hot => "hot",
    }
}

/// The word of a phase's outcome, and its reason.
fn outcome(phase: &PhaseRecord) -> (String, String) {
    let outcome = outcome_text(&phase.outcome);
    let (word, reason) = outcome.split_once(": ").unwrap_or((&outcome, ""));
    (word.into(), reason.into())
}

pub fn phases_csv(subject: &Subject) -> Result<String, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    let head = head(subject).filter(|name| *name != "cell");
    writer.write_record(head.chain(PHASE.iter().map(|(name, _)| name.to_string())))?;
    for trial in &subject.run.trials {
        for phase in &trial.phases {
            let mut fields = head_fields(subject, trial);
            fields.remove(4);
            fields.extend(PHASE.map(|(_, column)| column(trial, phase)));
            writer.write_record(fields)?;
        }
    }
    text(writer)
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
        "operations",
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
