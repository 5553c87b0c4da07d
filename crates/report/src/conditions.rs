//! What would make a reader doubt, said before the numbers: machine, backing,
//! load, design and noise, each in one line.

use std::collections::BTreeSet;

use pickfs_model::{
    finding::{NoiseRow, Notice},
    plan::StopRule,
    quantity::{bytes_text, duration_text, significant, span_text},
};

use serde_json::Value;

use crate::{
    Subject,
    card::machine_line,
    wording::{backing_text, percent, value_text},
};

/// Names and texts, in reading order.
pub fn conditions(subject: &Subject) -> Vec<(&'static str, String)> {
    vec![
        ("machine", machine_line(subject.run)),
        ("backing", backing_line(subject)),
        ("load", load_line(subject)),
        ("design", design_line(subject)),
        ("noise", noise_line(subject)),
    ]
}

fn backing_line(subject: &Subject) -> String {
    let image = subject.run.trials.iter().find_map(|trial| trial.image.as_ref());
    let direct = match image.map(|image| image.direct_io) {
        Some(true) => ", direct I/O",
        Some(false) => ", not direct I/O",
        None => "",
    };
    let get = |key: &str| subject.run.environment.get(key).or_else(|| subject.run.card.get(key));
    let device = get("device.model").map(|model| format!(", device {model}")).unwrap_or_default();
    let cache =
        get("device.write_cache").map(|c| format!(", write cache: {c}")).unwrap_or_default();
    format!("{}{direct}{device}{cache}", backing_text(&subject.run.plan.backing))
}

fn load_line(subject: &Subject) -> String {
    let plan = &subject.run.plan;
    let params =
        plan.params.iter().map(|(name, value)| format!("{name} {}", param_text(name, value)));
    let axes = plan.axes.iter().map(|axis| {
        let levels: Vec<_> = axis.levels.iter().map(|v| param_text(&axis.name, v)).collect();
        format!("{} in ({})", axis.name, levels.join(", "))
    });
    let parts: Vec<_> = params.chain(axes).collect();
    format!("workload {}: {}", plan.workload, parts.join(", "))
}

/// A parameter's value with the unit that its name tells.
fn param_text(name: &str, value: &Value) -> String {
    match (name, value.as_f64()) {
        ("rate", Some(rate)) => format!("{}/s", significant(rate)),
        ("size", Some(size)) => bytes_text(size as u64),
        (name, Some(number)) if number.fract() == 0.0 => {
            crate::card::value_text(name, &format!("{number:.0}"))
        }
        _ => value_text(value),
    }
}

fn design_line(subject: &Subject) -> String {
    let plan = &subject.run.plan;
    let blocks: BTreeSet<_> = subject.run.trials.iter().map(|trial| trial.block).collect();
    let planned = plan.design.blocks as usize;
    let blocks = match (blocks.len(), plan.design.stop.clone()) {
        (done, StopRule::Decided { budget_s, .. }) => {
            format!("{done} blocks until decided (budget {})", span_text(budget_s))
        }
        (done, StopRule::Blocks) if done == planned => format!("{done} blocks"),
        (done, StopRule::Blocks) => format!("{done} of {planned} blocks"),
    };
    format!(
        "{blocks} x {} cells x {}, shuffled by seed {}; {} trials",
        subject.run.cells.len(),
        span_text(plan.timing.measure_s),
        plan.design.seed,
        subject.run.trials.len()
    )
}

fn noise_line(subject: &Subject) -> String {
    let rows: Vec<_> = subject.findings.noise.iter().map(noise_text).collect();
    if rows.is_empty() { "raw device not probed".into() } else { rows.join("; ") }
}

/// A noise row in words: `raw loop image +-6 %, p50 118 us, p99 231 us over 30 probes`.
pub fn noise_text(row: &NoiseRow) -> String {
    format!(
        "raw {} +-{} %, write + flush p50 {}, p99 {}, {} probes",
        row.backing,
        percent(row.half_width),
        duration_text(row.p50_ns.median),
        duration_text(row.p99_ns.median),
        row.probes
    )
}

/// A notice in words, with the trials that it concerns.
pub fn notice_text(notice: &Notice) -> String {
    match notice.trials {
        0 => format!("{}: {}", notice.kind, notice.text),
        1 => format!("{} (1 trial): {}", notice.kind, notice.text),
        n => format!("{} ({n} trials): {}", notice.kind, notice.text),
    }
}

/// The rate that was kept against the one that was asked for.
pub fn rate_text(row: &pickfs_model::finding::Row) -> String {
    match (row.rate, row.rate_asked) {
        (Some(rate), Some(asked)) => {
            format!("{} of {}/s", significant(rate.median), significant(asked))
        }
        (Some(rate), None) => format!("{}/s", significant(rate.median)),
        (None, Some(asked)) => format!("? of {}/s", significant(asked)),
        (None, None) => "-".into(),
    }
}
