use pickfs_analysis::wording::blocks_text;
use pickfs_record::{
    finding::{NoiseRow, Panel},
    plan::{CapacitySearch, StopRule},
    quantity::{bytes_text, counted, duration_text, significant, span_text},
};

use serde_json::Value;

use crate::{
    Subject,
    card::machine_line,
    document::{Node, facts},
    wording::{backing_text, json_text, percent, quantile_name},
};

pub fn conditions(subject: &Subject) -> Vec<(&'static str, String)> {
    let noise: Vec<_> = subject.findings.noise.iter().map(noise_text).collect();
    vec![
        ("machine", machine_line(&subject.run.environment)),
        ("backing", backing_line(subject)),
        ("load", load_line(subject)),
        ("design", design_line(subject)),
        ("noise", if noise.is_empty() { "raw device not probed".into() } else { noise.join("; ") }),
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
    let parts: Vec<_> = params.chain(axes).chain(plan.capacity.as_ref().map(search_text)).collect();
    match parts.is_empty() {
        true => format!("workload {}", plan.workload),
        false => format!("workload {}: {}", plan.workload, parts.join(", ")),
    }
}

fn search_text(search: &CapacitySearch) -> String {
    let bound = search.bound.map(|bound| {
        let (name, most) = (quantile_name(bound.quantile), duration_text(bound.value_ns_max));
        format!(", with a response {name} of {most} at most")
    });
    format!(
        "rate searched from {}/s to {}/s, within a factor of {}{}",
        significant(search.start_per_s),
        significant(search.limit_per_s),
        search.precision,
        bound.unwrap_or_default()
    )
}

fn param_text(name: &str, value: &Value) -> String {
    if let Some(lines) = value.as_str().map(|text| text.lines().count()).filter(|n| *n > 1) {
        return format!("of {lines} lines");
    }
    if let Value::Array(words) = value {
        return words.iter().map(json_text).collect::<Vec<_>>().join(" ");
    }
    match (name, value.as_f64()) {
        ("rate", Some(rate)) => format!("{}/s", significant(rate)),
        ("size", Some(size)) => bytes_text(size as u64),
        (name, Some(number)) if number.fract() == 0.0 => {
            crate::card::value_text(name, &format!("{number:.0}"))
        }
        _ => json_text(value),
    }
}

fn design_line(subject: &Subject) -> String {
    let plan = &subject.run.plan;
    let planned = plan.design.blocks;
    let blocks = match plan.design.stop {
        StopRule::Decided { budget_s, .. } => {
            let done = blocks_text(subject.run.blocks());
            format!("{done} until decided (budget {})", span_text(budget_s))
        }
        StopRule::Blocks { .. } => match subject.run.complete_blocks() {
            done if done == planned => blocks_text(done),
            done => format!("{done} of {planned} blocks"),
        },
    };
    let has_figures = |panel: &Panel| panel.rows.iter().any(|row| !row.figures.is_empty());
    let panels = &subject.findings.panels;
    let each = if panels.iter().any(|panel| !panel.phases.is_empty()) {
        "each phase once".into()
    } else if panels.iter().any(has_figures) {
        "a whole program".into()
    } else {
        span_text(plan.timing.measure_s)
    };
    format!(
        "{blocks} x {} x {each}, shuffled by seed {}; {}",
        counted(subject.run.cells.len() as u64, "cell"),
        plan.design.seed,
        counted(subject.run.trials.len() as u64, "trial")
    )
}

fn noise_text(row: &NoiseRow) -> String {
    format!(
        "raw {} +-{} %, write + flush p50 {}, p99 {}, {} probes",
        row.backing,
        percent(row.half_width),
        duration_text(row.p50_ns.median),
        duration_text(row.p99_ns.median),
        row.probes
    )
}

/// Rows without a result, each with its reason and what would help.
pub(crate) fn absent(subject: &Subject) -> Node {
    let rows = subject.findings.absent.iter().map(|row| {
        let at = if row.levels.is_empty() { "" } else { &format!(" {}", row.levels) };
        let remedy = if row.remedy.is_empty() { "" } else { &format!("; {}", row.remedy) };
        (&row.how, format!("{}{at}: {}{remedy}", row.label, row.reason))
    });
    Node::Section("absent", "Skipped".into(), vec![facts(rows)])
}

/// The rate that was kept against the one that was asked for.
pub fn rate_text(row: &pickfs_record::finding::Row) -> String {
    match (row.rate, row.rate_asked) {
        (Some(rate), Some(asked)) => {
            format!("{} of {}/s", significant(rate.median), significant(asked))
        }
        (Some(rate), None) => format!("{}/s", significant(rate.median)),
        (None, Some(asked)) => format!("? of {}/s", significant(asked)),
        (None, None) => "-".into(),
    }
}
