//! bonnie++'s CSV, format 1.98: one line a finished trial, which `bon_csv2html` and
//! `bon_csv2txt` read.
//!
//! ```text
//! 1.98,pickfs-0.1.0,ext4,1,7,2000M,8k,8192,5,,,28852,5,13832,3,,,57969,3,366.6,5,500,,,,,246,2,...
//! ```
//!
//! Rates are whole KiB/s and files/s, seeks have a decimal below a thousand. A phase under half a
//! second is `+++++`, one that did not run is empty. %CPU is what the original would have printed
//! (`cpu_percent_original`, which counts each seeker's time for all), the latency the longest
//! single operation by its definition (`latency_max_ns`); where the workload does not tell them,
//! the processor time of the phase and the longest operation of our own stand in.

use pickfs_analysis::{
    published::bonnie::{PHASES, TOO_SHORT},
    summary::belongs_to,
};
use pickfs_record::{Cell, PhaseRecord, TrialRecord, quantity::parse_bytes, visible::steers};
use serde_json::Value;

use crate::Subject;

/// Shortest phase with a rate, in nanoseconds; the original's bound.
const SHORTEST_NS: u64 = 500_000_000;

pub fn bonnie_csv(subject: &Subject) -> Option<String> {
    let mut out = String::new();
    for row in subject.findings.panels.iter().flat_map(|panel| &panel.rows) {
        let Some(cell) = subject.cell(&row.cell) else { continue };
        for trial in subject.finished(&row.cell) {
            if PHASES.iter().any(|phase| find(trial, phase.label).is_some()) {
                out.push_str(&line(subject, cell, &row.label, trial));
                out.push('\n');
            }
        }
    }
    (!out.is_empty()).then_some(out)
}

fn find<'t>(trial: &'t TrialRecord, phase: &str) -> Option<&'t PhaseRecord> {
    let found = trial.phase(phase)?;
    found.is_finished().then_some(found)
}

fn line(subject: &Subject, cell: &Cell, label: &str, trial: &TrialRecord) -> String {
    let lanes = trial.phases.iter().map(|phase| phase.lanes).max().unwrap_or(1);
    let mut fields = vec![
        "1.98".to_string(),
        program(&subject.run.build),
        name(label),
        lanes.to_string(),
        seed(subject, cell),
    ];
    fields.extend(one_file_fields(cell, trial));
    let rates = |phases: &[pickfs_analysis::published::bonnie::BonniePhase]| -> Vec<String> {
        phases.iter().flat_map(|phase| rate_fields(trial, phase.label)).collect()
    };
    fields.extend(rates(&PHASES[..6]));
    fields.extend(small_file_fields(cell, trial));
    fields.extend(rates(&PHASES[6..]));
    fields.extend(PHASES.iter().map(|phase| latency(trial, phase.label)));
    fields.join(",")
}

fn seed(subject: &Subject, cell: &Cell) -> String {
    let fixed = cell.workload.params.get("seed").and_then(serde_json::Value::as_u64);
    fixed.unwrap_or(subject.run.plan.design.seed).to_string()
}

fn program(build: &str) -> String {
    let version = build.split_whitespace().find(|word| *word != "pickfs").unwrap_or("unknown");
    format!("pickfs-{}", name(version))
}

fn name(text: &str) -> String {
    text.chars().map(|c| if c == ',' || steers(c) { ' ' } else { c }).collect()
}

fn one_file_fields(cell: &Cell, trial: &TrialRecord) -> [String; 4] {
    let written = find(trial, "block write").or_else(|| find(trial, "block read"));
    let Some(written) = written else { return Default::default() };
    let seeks = find(trial, "seeks");
    [
        size(written.real_bytes.max(written.work as u64) / u64::from(written.lanes.max(1))),
        chunk(cell).unwrap_or_default(),
        seeks.map_or_else(String::new, |seeks| format!("{:.0}", seeks.work)),
        seeks.map_or_else(String::new, |seeks| seeks.threads.to_string()),
    ]
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        mib if mib > 0 && mib % 1024 == 0 => format!("{}G", mib / 1024),
        mib => format!("{mib}M"),
    }
}

fn chunk(cell: &Cell) -> Option<String> {
    let bytes = bytes_of(cell.workload.params.get("chunk")?)?;
    Some(if bytes % 1024 == 0 { format!("{}k", bytes / 1024) } else { bytes.to_string() })
}

fn bytes_of(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| parse_bytes(value.as_str()?).ok())
}

/// Number of files in units of 1024, largest and smallest size, and two that stay empty.
fn small_file_fields(cell: &Cell, trial: &TrialRecord) -> [String; 5] {
    let created = ["seq create", "ran create"].iter().find_map(|phase| find(trial, phase));
    let Some(created) = created else { return Default::default() };
    let units = (created.work / f64::from(created.lanes.max(1)) / 1024.0).ceil().max(1.0);
    let param = |name: &str| cell.workload.params.get(name);
    let bytes = |name: &str| param(name).and_then(bytes_of).filter(|bytes| *bytes > 0);
    let largest = match param("content").and_then(Value::as_str) {
        Some("hard-links") => "link".to_string(),
        Some("symbolic-links") => "symlink".to_string(),
        _ => bytes("file_max").map_or_else(String::new, |bytes| bytes.to_string()),
    };
    let smallest = bytes("file_min").map_or_else(String::new, |bytes| bytes.to_string());
    [format!("{units:.0}"), largest, smallest, String::new(), String::new()]
}

fn rate_fields(trial: &TrialRecord, phase: &str) -> [String; 2] {
    let Some(record) = find(trial, phase) else { return Default::default() };
    if record.elapsed_ns < SHORTEST_NS {
        return [TOO_SHORT.into(), "+++".into()];
    }
    let rate = match phase {
        "seeks" if record.rate_per_s < 1000.0 => format!("{:.1}", record.rate_per_s),
        _ if is_bytes(phase) => format!("{:.0}", (record.rate_per_s / 1024.0).floor()),
        _ => format!("{:.0}", record.rate_per_s.floor()),
    };
    [rate, format!("{:.0}", cpu_percent(record).trunc().max(0.0))]
}

fn is_bytes(phase: &str) -> bool {
    PHASES.iter().any(|known| known.label == phase && known.unit == "KiB/s")
}

fn cpu_percent(record: &PhaseRecord) -> f64 {
    let own = || {
        let cpu_ns = (record.cpu_user_ns + record.cpu_system_ns) as f64;
        100.0 * cpu_ns / record.elapsed_ns.max(1) as f64
    };
    record.values.get("cpu_percent_original").copied().unwrap_or_else(own)
}

/// The original's rule: whole seconds above 99.999999 s, whole milliseconds above 0.099999 s,
/// else whole microseconds, all cut off.
fn latency(trial: &TrialRecord, phase: &str) -> String {
    let Some(record) = find(trial, phase) else { return String::new() };
    let own = || {
        let ops = trial.ops.iter().filter(|op| belongs_to(&op.op, phase));
        ops.map(|op| op.service.max_ns as f64).reduce(f64::max)
    };
    let Some(ns) = record.values.get("latency_max_ns").copied().or_else(own) else {
        return String::new();
    };
    match ns.max(0.0) {
        ns if ns > 99.999999e9 => format!("{:.0}s", (ns / 1e9).floor()),
        ns if ns > 99.999e6 => format!("{:.0}ms", (ns / 1e6).floor()),
        ns => format!("{:.0}us", (ns / 1e3).floor()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_mib_or_gib() {
        assert_eq!(size(512 << 20), "512M");
        assert_eq!(size(2000 << 20), "2000M");
        assert_eq!(size(4 << 30), "4G");
        assert_eq!(size(1000), "0M");
    }

    #[test]
    fn a_comma_does_not_leave_its_field() {
        assert_eq!(name("ext4:noatime,barrier=0"), "ext4:noatime barrier=0");
        assert_eq!(program("pickfs 0.1.0 (abc, dirty)"), "pickfs-0.1.0");
        assert_eq!(program("0.1.0+dirty"), "pickfs-0.1.0+dirty");
    }
}
