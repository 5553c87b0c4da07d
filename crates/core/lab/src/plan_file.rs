use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use pickfs_record::{
    BackingSpec, CandidateSpec, Cpus, DeviceState, FORMAT, Metric, Plan, Scope,
    plan::{
        Adjustment, ArticleNote, Axis, CapacitySearch, Combine, Consent, Design, Exclusion,
        ResponseBound, StopRule, Timing, View, tie_margin,
    },
    quantity::{bytes_text, parse_bytes, parse_duration_ns, parse_rate_per_s},
    record::QUANTILES,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{bounds, explain::ExplainEntry, views};

const PLAN_MAX_BYTES: u64 = 4 << 20;
/// The axis that stands for named sets of parameters; no workload has such a parameter.
pub const VARIANT: &str = "variant";

#[derive(Debug, Error)]
#[error("{file}:{} {message}", line.map_or(String::new(), |line| format!("{line}:")))]
pub struct PlanError {
    pub file: String,
    pub line: Option<usize>,
    pub message: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    name: String,
    question: String,
    expects: Option<String>,
    candidates: Vec<CandidateEntry>,
    workload: String,
    article: Option<ArticleNote>,
    backing: Option<BackingEntry>,
    #[serde(default)]
    params: Map<String, Value>,
    #[serde(default)]
    axes: toml::Table,
    #[serde(default)]
    variant: Vec<VariantEntry>,
    #[serde(default)]
    adjust: Vec<Adjustment>,
    #[serde(default)]
    without: Vec<Exclusion>,
    capacity: Option<CapacityEntry>,
    design: DesignEntry,
    #[serde(default)]
    timing: TimingEntry,
    #[serde(default)]
    explain: ExplainEntry,
    cpus: Option<Cpus>,
    #[serde(default)]
    consent: Consent,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum CandidateEntry {
    Text(String),
    Labelled { spec: String, label: String },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BackingEntry {
    kind: String,
    size: Option<String>,
    path: Option<PathBuf>,
    #[serde(default)]
    erase: bool,
    #[serde(default)]
    state: DeviceState,
    log_device: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariantEntry {
    name: String,
    params: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CapacityEntry {
    start: String,
    limit: String,
    precision: Option<f64>,
    quantile: Option<f64>,
    at_most: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DesignEntry {
    blocks: u32,
    seed: Option<u64>,
    #[serde(default = "candidate")]
    compare: String,
    reference: String,
    primary: Vec<MetricEntry>,
    until_decided: Option<bool>,
    budget: Option<String>,
    tie_margin: Option<f64>,
    #[serde(default)]
    combine: Combine,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum MetricEntry {
    Text(String),
    Table {
        op: String,
        view: Option<View>,
        quantile: Option<f64>,
        statistic: Option<String>,
        #[serde(default)]
        at: Scope,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TimingEntry {
    raw_probe: Option<String>,
    warmup: Option<String>,
    warmup_bytes: Option<String>,
    measure: Option<String>,
    sustain: Option<String>,
    settle: Option<String>,
}

fn candidate() -> String {
    "candidate".into()
}

pub fn drawn_seed() -> u64 {
    fastrand::u32(..).into()
}

pub fn read_plan(file: &str, text: &str) -> Result<Plan, PlanError> {
    let source = Source { file, text };
    let entry: PlanFile = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        source.error_at(offset, error.message().to_owned())
    })?;
    let (variant_axis, adjust) = variants(entry.variant, entry.adjust);
    let asked = entry.explain.asked().map_err(|(text, why)| source.error_about(&text, why));
    let (explain_above_ns, explain_also) = asked?;
    let axes = entry.axes.into_iter().map(|(name, levels)| source.axis(name, levels));
    let mut plan = Plan {
        format: FORMAT,
        candidates: source.candidates(&entry.candidates)?,
        backing: source.backing(entry.backing)?,
        axes: axes.chain(variant_axis.map(Ok)).collect::<Result<_, _>>()?,
        capacity: entry.capacity.map(|capacity| source.capacity(&capacity)).transpose()?,
        design: source.design(entry.design)?,
        timing: source.timing(&entry.timing)?,
        name: entry.name,
        question: entry.question,
        expects: entry.expects,
        article: entry.article,
        workload: entry.workload,
        params: entry.params,
        adjust,
        without: entry.without,
        explain_above_ns,
        explain_also,
        cpus: entry.cpus,
        ranks: None,
        consent: entry.consent,
        typed: Vec::new(),
    };
    bounds::check(&plan).map_err(|wrong| source.error_at_key(wrong.key, wrong.to_string()))?;
    source.check_reference(&plan)?;
    views::settle(&mut plan);
    Ok(plan)
}

/// Variants are an axis of names: each name stands for a set of parameters.
fn variants(entries: Vec<VariantEntry>, own: Vec<Adjustment>) -> (Option<Axis>, Vec<Adjustment>) {
    let levels: Vec<Value> = entries.iter().map(|entry| entry.name.clone().into()).collect();
    let axis = (!levels.is_empty()).then(|| Axis { name: VARIANT.into(), levels });
    let adjust = entries.into_iter().map(|entry| Adjustment {
        candidate: None,
        levels: Map::from_iter([(VARIANT.to_owned(), entry.name.into())]),
        params: entry.params,
    });
    (axis, adjust.chain(own).collect())
}

/// Reads a plan file from disk: a regular one, as a device may never end and a pipe may never begin.
pub fn read_plan_file(path: &Path) -> Result<Plan, PlanError> {
    let file = path.display().to_string();
    let refused = |message| PlanError { file: file.clone(), line: None, message };
    let unread = |error| refused(format!("cannot read the plan: {error}"));
    let about = std::fs::metadata(path).map_err(unread)?;
    if !about.is_file() {
        let what = if about.is_dir() { "a folder" } else { "a device or a pipe" };
        return Err(refused(format!("is {what}; name a plan file (.toml)")));
    }
    if about.len() > PLAN_MAX_BYTES {
        let (size, most) = (bytes_text(about.len()), bytes_text(PLAN_MAX_BYTES));
        return Err(refused(format!("has {size}, a plan has at most {most}; name a plan file")));
    }
    read_plan(&file, &std::fs::read_to_string(path).map_err(unread)?)
}

struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn error_at(&self, offset: usize, message: String) -> PlanError {
        let head = self.text.as_bytes().get(..offset).unwrap_or(self.text.as_bytes());
        let line = head.iter().filter(|byte| **byte == b'\n').count() + 1;
        PlanError { file: self.file.into(), line: Some(line), message }
    }

    fn error_at_key(&self, key: &str, message: String) -> PlanError {
        let is_it = |line: &str| {
            let rest = line.trim_start_matches([' ', '\t', '[']).strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start().starts_with(['=', ']']))
        };
        let above = self.text.split_inclusive('\n').take_while(|line| !is_it(line));
        match above.map(str::len).sum() {
            all if all == self.text.len() => self.error_about(key, message),
            offset => self.error_at(offset, message),
        }
    }

    fn error_about(&self, needle: &str, message: String) -> PlanError {
        self.error_at(self.text.find(needle).unwrap_or(0), message)
    }

    fn understood<T, E: Display>(&self, text: &str, read: Result<T, E>) -> Result<T, PlanError> {
        read.map_err(|error| self.error_about(text, error.to_string()))
    }

    fn candidates(&self, entries: &[CandidateEntry]) -> Result<Vec<CandidateSpec>, PlanError> {
        let mut candidates: Vec<CandidateSpec> = Vec::new();
        for entry in entries {
            let (spec, label) = match entry {
                CandidateEntry::Text(spec) => (spec, None),
                CandidateEntry::Labelled { spec, label } => (spec, Some(label)),
            };
            let read: CandidateSpec = self.understood(spec, spec.parse())?;
            let read = label.map_or(read.clone(), |label| read.labelled(label));
            if candidates.iter().any(|other| other.label == read.label) {
                let message = format!("candidate `{}` stands twice; give one a label", read.label);
                return Err(self.error_about(spec, message));
            }
            candidates.push(read);
        }
        if candidates.is_empty() {
            return Err(self.error_about("candidates", "no candidate; name one".into()));
        }
        Ok(candidates)
    }

    fn backing(&self, entry: Option<BackingEntry>) -> Result<BackingSpec, PlanError> {
        let Some(entry) = entry else {
            return Ok(BackingSpec::Loop { size_bytes: 1 << 30, directory: None });
        };
        let size_bytes = self.bytes(entry.size.as_deref(), 1 << 30)?;
        let path = |what: &str| {
            let message = format!("backing `{}` needs path = \"{what}\"", entry.kind);
            entry.path.clone().ok_or_else(|| self.error_about("[backing]", message))
        };
        match entry.kind.as_str() {
            kind if kind != "device" && entry.log_device.is_some() => {
                let message =
                    format!("backing `{kind}` takes no log_device; use kind = \"device\"");
                Err(self.error_about("log_device", message))
            }
            "loop" => Ok(BackingSpec::Loop { size_bytes, directory: entry.path.clone() }),
            "ram" => Ok(BackingSpec::Ram { size_bytes }),
            "device" => Ok(BackingSpec::Device {
                path: path("/dev/...")?,
                erase: entry.erase,
                state: entry.state,
                size_bytes: entry.size.is_some().then_some(size_bytes),
                log_device: entry.log_device.clone(),
            }),
            "directory" => Ok(BackingSpec::directory(path("a directory")?)),
            other => Err(self.error_about(
                other,
                format!("backing kind `{other}` is not known; use loop, ram, device or directory"),
            )),
        }
    }

    fn axis(&self, name: String, levels: toml::Value) -> Result<Axis, PlanError> {
        match serde_json::to_value(levels) {
            Ok(Value::Array(levels)) if !levels.is_empty() => Ok(Axis { name, levels }),
            _ => {
                let message = format!("axis `{name}` must be a list of values: {name} = [..]");
                Err(self.error_about(&name, message))
            }
        }
    }

    fn design(&self, entry: DesignEntry) -> Result<Design, PlanError> {
        let budget_s = self.seconds(entry.budget.as_deref(), 2_700.0)?;
        let tie_margin = entry.tie_margin.unwrap_or_else(tie_margin);
        let stop = match entry.until_decided == Some(true) {
            true => StopRule::Decided { budget_s, tie_margin },
            false => StopRule::Blocks { tie_margin },
        };
        let primary = entry.primary.iter().map(|metric| self.metric(metric));
        Ok(Design {
            blocks: entry.blocks,
            seed: entry.seed.unwrap_or_else(drawn_seed),
            compare: entry.compare,
            reference: entry.reference,
            primary: primary.collect::<Result<_, _>>()?,
            stop,
            combine: entry.combine,
        })
    }

    fn metric(&self, entry: &MetricEntry) -> Result<Metric, PlanError> {
        let metric: Metric = match entry {
            MetricEntry::Text(text) => self.understood(text, text.parse())?,
            MetricEntry::Table { op, view, quantile, statistic, at } => {
                let statistic = match (quantile, statistic) {
                    (Some(q), None) => format!("p{}", 100.0 * q),
                    (None, Some(word)) => word.clone(),
                    _ => {
                        let message = "a primary metric takes quantile = 0.5 (or another), or statistic = \"mean\" or \"rate\" (of a figure \"higher\" or \"lower\")";
                        return Err(self.error_about("primary", message.into()));
                    }
                };
                let plain = Metric::new(op, self.understood("primary", statistic.parse())?);
                Metric { view: view.unwrap_or(plain.view), at: at.clone(), ..plain }
            }
        };
        if metric.ops().nth(1).is_some() {
            let message = format!("a plan knows its operations: name one of `{}`", metric.op);
            return Err(self.error_about(&metric.op, message));
        }
        if !metric.statistic.is_ranked() {
            let message =
                format!("`{metric}` is never ranked; take .worst, a quantile or the mean");
            return Err(self.error_about("primary", message));
        }
        Ok(metric)
    }

    fn capacity(&self, entry: &CapacityEntry) -> Result<CapacitySearch, PlanError> {
        let rate = |text: &str| self.understood(text, parse_rate_per_s(text));
        let bound = match (entry.quantile, entry.at_most.as_deref()) {
            (None, None) => None,
            (Some(quantile), Some(text)) if QUANTILES.contains(&quantile) => {
                let value_ns_max = self.seconds(Some(text), 0.0)? * 1e9;
                Some(ResponseBound { quantile, value_ns_max })
            }
            _ => {
                let message = format!(
                    "a bound on the response takes both quantile (one of {QUANTILES:?}) and at_most"
                );
                return Err(self.error_about("[capacity]", message));
            }
        };
        let precision = entry.precision.unwrap_or(1.1);
        let (start_per_s, limit_per_s) = (rate(&entry.start)?, rate(&entry.limit)?);
        Ok(CapacitySearch { start_per_s, limit_per_s, precision, bound })
    }

    fn timing(&self, entry: &TimingEntry) -> Result<Timing, PlanError> {
        Ok(Timing {
            raw_probe_s: self.seconds(entry.raw_probe.as_deref(), 2.0)?,
            warmup_s: self.seconds(entry.warmup.as_deref(), 2.0)?,
            warmup_bytes: self.bytes(entry.warmup_bytes.as_deref(), 0)?,
            measure_s: self.seconds(entry.measure.as_deref(), 8.0)?,
            sustain_s: self.seconds(entry.sustain.as_deref(), 0.0)?,
            settle_s: self.seconds(entry.settle.as_deref(), 10.0)?,
        })
    }

    fn check_reference(&self, plan: &Plan) -> Result<(), PlanError> {
        let design = &plan.design;
        let known: Vec<String> = match plan.axes.iter().find(|axis| axis.name == design.compare) {
            _ if design.compare == "candidate" => {
                plan.candidates.iter().map(|candidate| candidate.label.clone()).collect()
            }
            Some(axis) => axis.levels.iter().map(crate::expand::level_text).collect(),
            None => {
                let axes: Vec<_> = plan.axes.iter().map(|axis| axis.name.as_str()).collect();
                let message = format!(
                    "compare = \"{}\" is no axis of this plan; use candidate or one of {axes:?}",
                    design.compare
                );
                return Err(self.error_about("compare", message));
            }
        };
        let message = || format!("reference `{}` is none of {known:?}", design.reference);
        let is_known = known.contains(&design.reference);
        is_known.then_some(()).ok_or_else(|| self.error_about("reference", message()))
    }

    fn seconds(&self, text: Option<&str>, default_s: f64) -> Result<f64, PlanError> {
        let Some(text) = text else { return Ok(default_s) };
        Ok(self.understood(text, parse_duration_ns(text))? as f64 / 1e9)
    }

    fn bytes(&self, text: Option<&str>, default_bytes: u64) -> Result<u64, PlanError> {
        let Some(text) = text else { return Ok(default_bytes) };
        self.understood(text, parse_bytes(text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = r#"name = "quick"
question = "Which file system for my journal?"
candidates = ["ext4", { spec = "xfs:noatime", label = "xfs" }]
workload = "journal"
[backing]
kind = "loop"
size = "512MiB"
[params]
rate = "10000/s"
[axes]
sync = ["none", "fdatasync"]
[design]
blocks = 7
reference = "ext4"
primary = [{ op = "append", quantile = 0.5, at = { sync = "none" } }]
[timing]
measure = "2500ms"
"#;

    fn message(text: &str) -> String {
        read_plan("a.toml", text).expect_err("a wrong plan").to_string()
    }

    #[test]
    fn a_good_plan_is_read_with_its_defaults() {
        let plan = read_plan("a.toml", GOOD).expect("a good plan");
        assert_eq!(plan.candidates[1].label, "xfs");
        assert_eq!(plan.candidates[1].mount_options, ["noatime"]);
        assert_eq!(plan.axes[0].levels.len(), 2);
        assert_eq!((plan.timing.measure_s, plan.timing.raw_probe_s), (2.5, 2.0));
        assert_eq!(plan.design.primary[0].to_string(), "append.p50@sync=none");
        let table = "{ op = \"append\", quantile = 0.5, at = { sync = \"none\" } }";
        let text = GOOD.replace(table, "\"append.p50@sync=none\"");
        assert_eq!(read_plan("a.toml", &text).expect("good").design.primary, plan.design.primary);
        assert_eq!(plan.backing, BackingSpec::Loop { size_bytes: 512 << 20, directory: None });
    }

    #[test]
    fn errors_name_the_file_the_line_and_what_is_allowed() {
        for (from, to, said) in [
            ("\"loop\"", "\"lop\"", "a.toml:6: backing kind `lop` is not known; use loop, ram, "),
            ("512MiB", "many", "a.toml:7: size `many` not understood; write it like 256, 4KiB, "),
            ("[params]", "log_device = \"/dev/sdb\"\n[params]", ":8: backing `loop` takes no log"),
            (
                "= \"ext4\"",
                "= \"zfs\"",
                "a.toml:14: reference `zfs` is none of [\"ext4\", \"xfs\"]",
            ),
            ("blocks = 7", "block = 7", "a.toml:13: unknown field `block`"),
            ("\"ext4\", ", "\":x\", ", "a.toml:3: candidate `:x` names no"),
            ("[\"none\", \"fdatasync\"]", "3", "must be a list of values"),
            ("quantile = 0.5", "quantile = 0.42", "p42 is not kept; use one of"),
            ("= \"xfs\"", "= \"ext4\"", "stands twice"),
        ] {
            let message = message(&GOOD.replace(from, to));
            assert!(message.contains(said), "{message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(at in 0usize..GOOD.len(), junk in "\\PC{0,12}") {
            let mut text = GOOD.to_owned();
            text.insert_str(at, &junk);
            let _ = read_plan("fuzz.toml", &text);
            let _ = read_plan("fuzz.toml", &junk);
        }
    }
}
