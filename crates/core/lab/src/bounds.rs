//! A plan is checked when its file is read, and once more as it is run, whatever changed it in
//! between: words of the command line, or the file of a run that somebody else made.

use pickfs_record::{
    BackingSpec, Plan,
    plan::StopRule,
    quantity::{RATE_MAX_PER_S, bytes_text, grouped, span_text},
};
use thiserror::Error;

/// A number, or a name, that no run can have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{key} is {value}; use {allowed}")]
pub struct OutOfBounds {
    pub key: &'static str,
    pub value: String,
    pub allowed: String,
}

const MINUTE_S: f64 = 60.0;
const HOUR_S: f64 = 60.0 * MINUTE_S;
const DAY_S: f64 = 24.0 * HOUR_S;
const SOME_S: f64 = 1e-9;
const NAME_MAX: usize = 64;
const BLOCKS_MAX: u32 = 1_000;
const SCRATCH_MIN_BYTES: u64 = 64 << 10;
const SIZE_MAX_BYTES: u64 = 1 << 50;
const COMBINATIONS_MAX: u128 = 100_000;

pub fn check(plan: &Plan) -> Result<(), OutOfBounds> {
    name(&plan.name)?;
    let blocks = plan.design.blocks;
    if !(1..=BLOCKS_MAX).contains(&blocks) {
        return refuse("blocks", blocks.to_string(), "1 to 1000".into());
    }
    combinations(plan)?;
    if let StopRule::Decided { budget_s, .. } = plan.design.stop {
        span("budget", budget_s, SOME_S, 30.0 * DAY_S)?;
    }
    number("tie_margin", plan.design.stop.tie_margin(), 0.0, 1.0)?;
    if let Some(capacity) = &plan.capacity {
        number("start", capacity.start_per_s, f64::MIN_POSITIVE, RATE_MAX_PER_S)?;
        number("limit", capacity.limit_per_s, f64::MIN_POSITIVE, RATE_MAX_PER_S)?;
        if !(capacity.precision > 1.0 && capacity.precision <= 100.0) {
            let allowed = "a ratio above 1, such as 1.1, up to 100".into();
            return refuse("precision", capacity.precision.to_string(), allowed);
        }
        if let Some(bound) = &capacity.bound {
            span("at_most", bound.value_ns_max / 1e9, SOME_S, HOUR_S)?;
        }
    }
    let timing = &plan.timing;
    span("measure", timing.measure_s, SOME_S, DAY_S)?;
    span("warmup", timing.warmup_s, 0.0, DAY_S)?;
    span("sustain", timing.sustain_s, 0.0, HOUR_S)?;
    span("raw_probe", timing.raw_probe_s, 0.0, HOUR_S)?;
    span("settle", timing.settle_s, 0.0, DAY_S)?;
    size("warmup_bytes", timing.warmup_bytes, 0)?;
    match plan.backing {
        BackingSpec::Loop { size_bytes, .. }
        | BackingSpec::Ram { size_bytes }
        | BackingSpec::Device { size_bytes: Some(size_bytes), .. } => {
            size("size", size_bytes, SCRATCH_MIN_BYTES)
        }
        _ => Ok(()),
    }
}

/// The name becomes part of a folder's.
fn name(name: &str) -> Result<(), OutOfBounds> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=NAME_MAX).contains(&name.len()) && name.chars().all(legal) {
        return Ok(());
    }
    let shown: String = name.chars().take(NAME_MAX).collect();
    let allowed = format!("small letters, digits and hyphens, at most {NAME_MAX}");
    refuse("name", format!("`{shown}`"), allowed)
}

fn combinations(plan: &Plan) -> Result<(), OutOfBounds> {
    let levels = plan.axes.iter().map(|axis| axis.levels.len() as u128);
    let all = levels.fold(plan.candidates.len() as u128, u128::saturating_mul);
    if all <= COMBINATIONS_MAX {
        return Ok(());
    }
    let shown = grouped(i64::try_from(all).unwrap_or(i64::MAX));
    let value = format!("a product of {shown} combinations of candidates and levels");
    let allowed = format!(
        "at most {}; leave levels out, or make a plan of each axis",
        grouped(COMBINATIONS_MAX as i64)
    );
    refuse("axes", value, allowed)
}

fn number(key: &'static str, value: f64, min: f64, max: f64) -> Result<(), OutOfBounds> {
    match (min..=max).contains(&value) {
        true => Ok(()),
        false if min == f64::MIN_POSITIVE => {
            refuse(key, value.to_string(), format!("a number above 0, at most {max}"))
        }
        false => refuse(key, value.to_string(), format!("{min} to {max}")),
    }
}

fn span(key: &'static str, value_s: f64, min_s: f64, max_s: f64) -> Result<(), OutOfBounds> {
    if (min_s..=max_s).contains(&value_s) {
        return Ok(());
    }
    let value = if value_s.is_finite() { span_text(value_s) } else { value_s.to_string() };
    let least = if min_s > 0.0 { "a time above zero" } else { "0 s" };
    refuse(key, value, format!("{least} up to {}: 250ms, 10s, 5m, 1h", span_text(max_s)))
}

fn size(key: &'static str, bytes: u64, min_bytes: u64) -> Result<(), OutOfBounds> {
    if (min_bytes..=SIZE_MAX_BYTES).contains(&bytes) {
        return Ok(());
    }
    let allowed = format!("{} to {}", bytes_text(min_bytes), bytes_text(SIZE_MAX_BYTES));
    refuse(key, bytes_text(bytes), allowed)
}

fn refuse(key: &'static str, value: String, allowed: String) -> Result<(), OutOfBounds> {
    Err(OutOfBounds { key, value, allowed })
}

#[cfg(test)]
mod tests {
    use crate::plan_file::read_plan;

    const PLAN: &str = r#"name = "t"
question = "How is what we measure read?"
candidates = ["ext4"]
workload = "journal"
[backing]
kind = "loop"
size = "64MiB"
[design]
blocks = 1
reference = "ext4"
primary = []
until_decided = true
budget = "1h"
tie_margin = 0.05
[capacity]
start = "1000/s"
limit = "5000/s"
precision = 1.1
[timing]
measure = "2s"
"#;

    fn refused(from: &str, to: &str) -> String {
        let text = PLAN.replace(from, to);
        assert_ne!(text, PLAN, "{from} is in the plan");
        read_plan("t.toml", &text).expect_err(to).to_string()
    }

    #[test]
    fn a_number_that_is_none_is_refused_with_its_line() {
        assert!(read_plan("t.toml", PLAN).is_ok());
        for word in ["nan", "inf", "-1", "1.5", "-inf"] {
            let said = refused("tie_margin = 0.05", &format!("tie_margin = {word}"));
            assert!(said.starts_with("t.toml:14: tie_margin is "), "{said}");
            assert!(said.ends_with("; use 0 to 1"), "{said}");
        }
        for word in ["nan", "inf", "1.0", "0"] {
            let said = refused("precision = 1.1", &format!("precision = {word}"));
            assert!(said.starts_with("t.toml:18: precision is "), "{said}");
        }
        assert!(refused("1000/s", "1e308/s").starts_with("t.toml:16: "));
    }

    #[test]
    fn a_time_or_size_that_no_run_can_have_is_refused_with_its_line() {
        let said = refused("measure = \"2s\"", "measure = \"0s\"");
        assert_eq!(
            said,
            "t.toml:20: measure is 0 s; use a time above zero up to 24 h 00 min: 250ms, 10s, 5m, 1h"
        );
        assert!(refused("\"2s\"", "\"2s\"\nsettle = \"10000h\"").starts_with("t.toml:21: settle"));
        assert!(refused("budget = \"1h\"", "budget = \"0s\"").starts_with("t.toml:13: budget"));
        assert!(refused("64MiB", "0").starts_with("t.toml:7: size is 0 B; use 64 KiB to"));
        assert_eq!(refused("blocks = 1", "blocks = 0"), "t.toml:9: blocks is 0; use 1 to 1000");
        assert!(refused("name = \"t\"", "name = \"a/b\"").contains("use small letters"));
        let name = format!("name = \"{}\"", "n".repeat(400));
        assert!(refused("name = \"t\"", &name).ends_with("at most 64"));
    }

    #[test]
    fn a_product_that_nobody_can_run_is_refused_with_its_number() {
        let levels: Vec<String> = (1..=3_000).map(|n| n.to_string()).collect();
        let levels = levels.join(", ");
        let axes = format!("[axes]\nrate = [{levels}]\nrecord_size = [{levels}]\n[timing]");
        let said = refused("[timing]", &axes);
        assert!(said.contains("axes is a product of 9,000,000 combinations"), "{said}");
    }
}
