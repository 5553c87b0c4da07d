//! Times are nanoseconds in columns that end in `_ns`.

use std::io;

use csv::Writer;
use pickfs_record::{
    finding::{Claim, Comparison, OpSummary, Panel, Row},
    plan::View,
    record::QUANTILES,
    visible::steers,
};

use crate::{
    Subject,
    wording::{claim_word, quantile_name, statistic_name},
};

/// `levels` has the cell, too. An axis may be called as any other column, so each has its table before it.
const HEAD: &str = "SELECT run.name AS run, trial.number AS trial, trial.block, trial.attempt,
  cell.candidate, levels.*,";
const FROM: &str = "FROM run, trial LEFT JOIN cell ON cell.id = trial.cell
  LEFT JOIN levels ON levels.cell = cell.id";
const OUTCOME: &str =
    "trial.outcome || coalesce(': ' || (trial.record ->> '$.outcome.reason'), '')";

/// A row for each operation and view; one for a trial that has none. No record is in what is grouped, for a sort
/// would copy it.
pub fn trials_csv(subject: &Subject) -> Result<String, csv::Error> {
    let quantile = |q: &f64| {
        let of = |field: &str, end: &str| {
            let value = format!("max(CASE quantile.q WHEN {q} THEN quantile.{field} END)");
            format!("{value} AS \"{}_{end}\",\n", quantile_name(*q))
        };
        of("value_ns", "ns") + &of("episodes", "episodes")
    };
    let quantiles: Vec<String> = QUANTILES.iter().map(quantile).collect();
    let quantiles = quantiles.concat();
    let sql = format!(
        "WITH about AS MATERIALIZED ({HEAD} {{trial.record: backing}}, cell.durability,
  {OUTCOME} AS outcome,
  round(trial.record ->> '$.started_s', 3) AS started_s,
  round(trial.record ->> '$.elapsed_s', 3) AS elapsed_s,
  (SELECT group_concat(kind, ' ') FROM flag WHERE flag.trial = trial.number) AS flags,
  trial.record ->> '$.raw.p50_ns' AS raw_p50_ns,
  {{trial.record -> 'load': asked_per_s achieved_per_s late_driver late_queue}} {FROM}),
beyond AS MATERIALIZED (
  SELECT number, value ->> 'op' AS op, view, value -> view ->> 'overflow' AS overflow
  FROM trial, json_each(record, '$.ops'), (SELECT 'service' AS view UNION SELECT 'response'))
SELECT about.*, op.op, op.view, op.count, round(op.mean_ns, 1) AS mean_ns,
  round(op.sd_ns, 1) AS sd_ns, op.min_ns, {quantiles} op.max_ns, beyond.overflow
FROM about LEFT JOIN op ON op.trial = about.trial
  LEFT JOIN quantile ON (quantile.trial, quantile.op, quantile.view) = (op.trial, op.op, op.view)
  LEFT JOIN beyond ON (beyond.number, beyond.op, beyond.view) = (op.trial, op.op, op.view)
GROUP BY about.trial, op.rowid ORDER BY about.trial, op.rowid"
    );
    selected(subject, &sql)
}

pub fn phases_csv(subject: &Subject) -> Result<String, csv::Error> {
    let sql = format!(
        "{HEAD} {{phase.value: phase label suite heat}},
  phase.value -> 'is_high_impact' AS high_impact, phase.value -> 'is_derived' AS derived,
  {{phase.value: unit}}, phase.value ->> '$.outcome.is' AS outcome,
  {{phase.value: work rate_per_s real_bytes elapsed_ns elapsed_mean_ns start_skew_ns
  start_skew_p50_ns lanes threads cpu_user_ns cpu_system_ns}},
  (SELECT group_concat(value ->> 'kind', ' ') FROM json_each(phase.value, '$.flags')) AS flags,
  (SELECT group_concat(key || '=' || value, ' ') FROM json_each(phase.value, '$.values'))
    AS \"values\",
  phase.value ->> '$.outcome.reason' AS reason, {OUTCOME} AS trial_outcome,
  {{trial.record: backing}}
{FROM} JOIN json_each(trial.record, '$.phases') AS phase ORDER BY trial.number, phase.key"
    );
    selected(subject, &sql)
}

/// Sums over the finished trials of a cell by cause and holder; `share` is of the time of the operation's slow
/// operations. The stacks are those of the longest wait, innermost frame first.
pub fn stalls_csv(subject: &Subject) -> Result<String, csv::Error> {
    let sql = "WITH explained AS MATERIALIZED (SELECT cell, count(*) AS trials FROM trial
  WHERE outcome = 'finished' AND record ->> '$.stalls.above_ns' IS NOT NULL GROUP BY cell)
SELECT run.name AS run, cell.id AS cell, candidate, levels, trials, stall.op, above_ns, cause, title,
  who,
  sum(held.operations) AS operations, sum(times) AS times, sum(held.total_ns) AS total_ns,
  round(1.0 * sum(held.total_ns)
    / max(1, sum(sum(held.total_ns)) OVER (PARTITION BY cell.id, stall.op)), 6) AS share,
  max(max_ns) AS max_ns, stack, waker_stack
FROM run, stall_cause AS held JOIN stall ON (stall.trial, stall.op) = (held.trial, held.op)
  JOIN trial ON number = held.trial AND outcome = 'finished'
  JOIN cell ON cell.id = trial.cell JOIN explained ON explained.cell = cell.id
GROUP BY cell.id, stall.op, cause, who
ORDER BY cell.rowid, stall.op, sum(held.total_ns) DESC, cause, who";
    selected(subject, sql)
}

/// What the tables of the run file say; a reduced file's are made for it.
fn selected(subject: &Subject, sql: &str) -> Result<String, csv::Error> {
    text(pickfs_store::select(subject.run, sql).map_err(io::Error::other)?)
}

pub fn summary_csv(subject: &Subject) -> Result<String, csv::Error> {
    let head = "panel row cell backing durability trials failed op view statistic median_ns low_ns high_ns episodes \
        carried operations reference speedup interval_low interval_high claim margin";
    let mut rows: Vec<Vec<String>> = vec![head.split(' ').map(String::from).collect()];
    for panel in &subject.findings.panels {
        for row in &panel.rows {
            rows.extend(row.ops.iter().flat_map(|op| statistics(panel, row, op)));
        }
    }
    text(rows)
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

fn text(rows: Vec<Vec<String>>) -> Result<String, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row.iter().map(|cell| inert_cell(cell)))?;
    }
    let bytes = writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
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
        let cells =
            ["=cmd|' /C calc'!A0", "@SUM(1)", "-1.5", "a\u{1b}[31m", "a=b", "x\u{202e}y\u{2066}"];
        let text = text(vec![cells.map(String::from).to_vec()]).expect("text");
        assert_eq!(text, "'=cmd|' /C calc'!A0,'@SUM(1),-1.5,a [31m,a=b,x y \n");
    }
}
