use std::fmt::Display;

use pickfs_candidate::{
    Availability, TargetError, availability, fs,
    knob::{self, ENGINE, KnobError, Reach},
};
use pickfs_record::{
    BackingSpec, CandidateSpec, Cell, Condition, Durability, Metric, Plan,
    quantity::bytes_text,
    trial::{SUSTAINED, WITH_FINAL_SYNC},
};
use pickfs_sys::refused::Refused;
use pickfs_workload::{Scratch, Workload};
use thiserror::Error;

use crate::{
    bounds,
    engines::{any_native, engine_of, settle_engines},
    expand::{Expansion, expand, level_text},
    fitting::{leave_out_too_small, leave_out_without_log},
    length::length_of,
    placement,
    plan_file::VARIANT,
    ranks,
    rivals::{NoAnswer, check_rivals},
    survived::replace_declared,
};

#[derive(Debug, Error)]
pub enum PreflightError {
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Knob(#[from] KnobError),
    #[error("--cpus: {0}")]
    Cpus(#[from] Refused),
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    #[error(transparent)]
    Unknown(#[from] TargetError),
}

const NOT_ROOT: &str = "making and mounting file systems needs root. Three ways: run it with sudo; measure in \
                        directories that exist with --dir DIR (repeated, they are compared); or measure in a \
                        guest kernel with --engine auto";

pub fn preflight(plan: &Plan) -> Result<Expansion, PreflightError> {
    let of_plan = |why: &dyn Display| PreflightError::Refused(format!("{}: {why}", plan.name));
    bounds::check(plan).map_err(|error| of_plan(&error))?;
    let workload = pickfs_workload::find(&plan.workload).map_err(|error| of_plan(&error))?;
    for candidate in &plan.candidates {
        pickfs_candidate::plan_steps(candidate, &plan.backing)?;
    }
    let expanded = expand(plan, workload, |c| ceiling(c, &plan.backing));
    let mut expansion = expanded.map_err(|error| of_plan(&error))?;
    check_names(plan, workload, &expansion)?;
    check_knobs(plan, &expansion)?;
    if plan.design.compare == ENGINE {
        return Err(of_plan(
            &"results of two engines are not compared, as what is slow may be the engine; compare candidates \
              within each",
        ));
    }
    if plan.capacity.is_some() && expansion.cells.iter().any(|cell| length_of(cell).is_work()) {
        let name = workload.name;
        let why =
            format!("workload {name} is a list of phases and has no rate; leave [capacity] out");
        return Err(of_plan(&why));
    }
    let asks_realtime = |cell: &Cell| {
        cell.workload.params.get("thread_policy").is_some_and(|policy| policy == "fifo")
    };
    if let Some(cpus) = &plan.cpus {
        placement::check(cpus)?;
    }
    if !plan.consent.realtime && expansion.cells.iter().any(asks_realtime) {
        let text = "thread_policy = fifo takes a CPU from everything else on the machine; allow it with \
                    --allow-realtime or realtime = true under [consent]";
        return Err(PreflightError::Refused(text.into()));
    }
    let makes_fault =
        |cell: &Cell| cell.workload.params.get("fault").is_some_and(|words| *words != "");
    if !plan.consent.fault && expansion.cells.iter().any(makes_fault) {
        let text =
            "fault runs a command of the plan on the first host; allow it with --allow-fault";
        return Err(PreflightError::Refused(text.into()));
    }
    ranks::check(plan, &expansion).map_err(PreflightError::Refused)?;
    settle_engines(plan, &mut expansion);
    replace_declared(&mut expansion, &plan.backing);
    if !matches!(plan.backing, BackingSpec::Directory { .. }) {
        leave_out_unavailable(&mut expansion);
        leave_out_too_small(plan, &mut expansion);
        leave_out_without_log(plan, &mut expansion);
        leave_out_too_large(plan, workload, &mut expansion);
    }
    let in_guest = |cell: &&Cell| plan.cpus.is_some() && engine_of(cell).is_some();
    if let Some(cell) = expansion.cells.iter().find(in_guest) {
        let label = &cell.candidate.label;
        return Err(PreflightError::Refused(format!(
            "--cpus names processors of this machine, and {label} runs in a guest; leave one of them out"
        )));
    }
    if expansion.cells.is_empty() {
        check_answerable(plan, &expansion)?;
    }
    Ok(expansion)
}

/// Refuses a run of no cell, and one that compares nothing although its plan compares.
pub fn check_answerable(plan: &Plan, expansion: &Expansion) -> Result<(), PreflightError> {
    check_rivals(plan, expansion)?;
    match expansion.cells.is_empty() {
        true => Err(nothing(plan, expansion)),
        false => Ok(()),
    }
}

pub fn check_privilege(plan: &Plan, cells: &[Cell]) -> Result<(), PreflightError> {
    match needs_root(plan, cells) && !rustix::process::geteuid().is_root() {
        true => Err(PreflightError::Refused(NOT_ROOT.into())),
        false => Ok(()),
    }
}

pub(crate) fn needs_root(plan: &Plan, cells: &[Cell]) -> bool {
    !matches!(plan.backing, BackingSpec::Directory { .. }) && any_native(cells)
}

/// A typo in a metric, an adjustment or an exclusion would cost a whole run.
fn check_names(
    plan: &Plan,
    workload: &Workload,
    expansion: &Expansion,
) -> Result<(), PreflightError> {
    let names = Names { plan, expansion };
    let mut ops = std::collections::BTreeSet::new();
    for cell in &expansion.cells {
        if let Ok(resolved) = workload.validate(&cell.workload.params) {
            let own = (workload.ops)(&resolved).into_iter();
            ops.extend(own.flat_map(|op| [format!("{op}{WITH_FINAL_SYNC}"), op]));
        }
    }
    let sustained = (plan.timing.sustain_s > 0.0).then(|| SUSTAINED.to_owned());
    let ops: Vec<String> = ops.into_iter().chain(sustained).collect();
    for metric in &plan.design.primary {
        if !ops.is_empty() {
            names.one_of("primary", "operation", &metric.op, &ops)?;
        }
        names.scope(metric)?;
    }
    for adjustment in &plan.adjust {
        names.candidate("adjust", adjustment.candidate.as_deref())?;
        names.levels("adjust", texts(&adjustment.levels))?;
    }
    for exclusion in &plan.without {
        names.candidate("without", exclusion.candidate.as_deref())?;
        names.levels("without", texts(&exclusion.levels))?;
    }
    Ok(())
}

fn check_knobs(plan: &Plan, expansion: &Expansion) -> Result<(), PreflightError> {
    let knobs: std::collections::BTreeSet<(&String, &String)> =
        expansion.cells.iter().flat_map(|cell| &cell.knobs).collect();
    for (name, value) in knobs {
        let knob = knob::find(name)?;
        knob.check(value)?;
        // A disk or a mount that the run did not make is the machine's.
        let is_ours = matches!(plan.backing, BackingSpec::Loop { .. } | BackingSpec::Ram { .. });
        let reaches_others = match knob.reach {
            Reach::Machine => true,
            Reach::Scratch => !is_ours,
            Reach::Worker | Reach::Kernel => false,
        };
        if reaches_others && !plan.consent.system_tuning {
            return Err(PreflightError::Refused(format!(
                "{name} reaches other programs of the machine while a trial runs (it is put back after each); allow \
                 it with --allow-system-tuning or system_tuning = true under [consent]"
            )));
        }
    }
    Ok(())
}

struct Names<'a> {
    plan: &'a Plan,
    expansion: &'a Expansion,
}

impl Names<'_> {
    fn one_of(
        &self,
        place: &'static str,
        what: &'static str,
        name: &str,
        known: &[String],
    ) -> Result<(), PreflightError> {
        if known.iter().any(|one| one == name) {
            return Ok(());
        }
        let (plan, known) = (&self.plan.name, known.join(", "));
        Err(PreflightError::Refused(format!(
            "{plan}: {place} names {what} `{name}`, which is not there; there are {known}"
        )))
    }

    fn candidate(&self, place: &'static str, label: Option<&str>) -> Result<(), PreflightError> {
        let known: Vec<String> = self.plan.candidates.iter().map(|c| c.label.clone()).collect();
        label.map_or(Ok(()), |label| self.one_of(place, "candidate", label, &known))
    }

    /// An axis of the plan with one of its levels, or a parameter that every cell has.
    fn levels(
        &self,
        place: &'static str,
        levels: impl IntoIterator<Item = (String, Option<String>)>,
    ) -> Result<(), PreflightError> {
        let cells = self.expansion.cells.iter();
        let cells = cells.chain(self.expansion.skipped.iter().map(|skipped| &skipped.cell));
        let mut params: Vec<String> = self.plan.axes.iter().map(|a| a.name.clone()).collect();
        params.extend(cells.take(1).flat_map(|cell| cell.workload.params.keys().cloned()));
        params.push(VARIANT.into());
        for (name, value) in levels {
            self.one_of(place, "axis", &name, &params)?;
            let axis = self.plan.axes.iter().find(|axis| axis.name == name);
            if let (Some(axis), Some(value)) = (axis, value) {
                let known: Vec<String> = axis.levels.iter().map(level_text).collect();
                self.one_of(place, "level", &value, &known)?;
            }
        }
        Ok(())
    }

    fn scope(&self, metric: &Metric) -> Result<(), PreflightError> {
        let of_plan: Vec<String> = self.plan.candidates.iter().map(|c| c.fs.clone()).collect();
        for word in metric.at.get("fs").into_iter().flat_map(Condition::words) {
            self.one_of("primary", "file system", word, &of_plan)?;
        }
        let others = metric.at.iter().filter(|(name, _)| *name != "fs");
        let levels = others.flat_map(|(name, condition)| {
            let words = condition.words().iter().map(|word| Some(word.clone()));
            let words: Vec<Option<String>> = words.collect();
            let any = if words.is_empty() { vec![None] } else { words };
            any.into_iter().map(|word| (name.clone(), word))
        });
        self.levels("primary", levels)
    }
}

fn texts(levels: &serde_json::Map<String, serde_json::Value>) -> Vec<(String, Option<String>)> {
    levels.iter().map(|(name, value)| (name.clone(), Some(level_text(value)))).collect()
}

fn leave_out_unavailable(expansion: &mut Expansion) {
    expansion.leave_out(|cell| match availability(&cell.candidate.fs) {
        Availability::Missing(missing) if engine_of(cell).is_none() => {
            Some((missing.reason, missing.remedy))
        }
        _ => None,
    });
}

fn leave_out_too_large(plan: &Plan, workload: &Workload, expansion: &mut Expansion) {
    let Some(size_bytes) = size_bytes(&plan.backing) else { return };
    expansion.leave_out(|cell| {
        let fs = cell.candidate.fs.as_str();
        if let Some(least) = too_small(plan, fs).map(bytes_text) {
            let reason = format!("needs {least} and the scratch has {}", bytes_text(size_bytes));
            return Some((reason, format!("use --size {}", least.replace(' ', ""))));
        }
        let scratch = Scratch { fs, size_bytes, is_in_memory: is_in_memory(fs) };
        let params = workload.validate(&cell.workload.params).ok()?;
        (workload.too_large)(&params, &scratch).map(|large| (large.reason, large.remedy))
    });
}

/// The size of a scratch whose plan says it: what sizes may be derived from.
pub(crate) fn size_bytes(backing: &BackingSpec) -> Option<u64> {
    match backing {
        BackingSpec::Loop { size_bytes, .. } | BackingSpec::Ram { size_bytes } => Some(*size_bytes),
        BackingSpec::Device { size_bytes, .. } => *size_bytes,
        BackingSpec::Directory { .. } => None,
    }
}

/// The least that a file system needs, where the scratch is known to be smaller.
pub(crate) fn too_small(plan: &Plan, fs: &str) -> Option<u64> {
    let row = fs::find(fs)?;
    let least = row.minimum_bytes;
    (row.ground == fs::Ground::BlockDevice && size_bytes(&plan.backing)? < least).then_some(least)
}

pub(crate) fn is_in_memory(fs: &str) -> bool {
    fs::find(fs).is_some_and(|row| row.ground == fs::Ground::Memory)
}

fn nothing(plan: &Plan, expansion: &Expansion) -> PreflightError {
    let mut reasons: Vec<String> =
        expansion.skipped.iter().map(|s| format!("{} ({})", s.reason, s.remedy)).collect();
    reasons.sort();
    reasons.dedup();
    let (plan, reasons) = (&plan.name, reasons.join("; "));
    PreflightError::Refused(format!("nothing of plan {plan} can run here: {reasons}"))
}

/// The most that a candidate can promise on a backing: memory under it ends with the kernel.
pub fn ceiling(candidate: &CandidateSpec, backing: &BackingSpec) -> Durability {
    let of_fs = fs::find(&candidate.fs)
        .map_or(Durability::PowerLoss, |row| row.durability(&candidate.mount_options).0);
    match backing {
        BackingSpec::Ram { .. } => of_fs.min(Durability::ProcessCrash),
        _ => of_fs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::planned;

    #[test]
    fn memory_caps_what_survives() {
        let ram = BackingSpec::Ram { size_bytes: 1 << 30 };
        let of = |text: &str, backing: &BackingSpec| {
            ceiling(&text.parse().expect("a candidate"), backing)
        };
        let disk = planned("quick").backing;
        assert_eq!(of("xfs", &disk), Durability::PowerLoss);
        assert_eq!(of("xfs", &ram), Durability::ProcessCrash);
        assert_eq!(of("tmpfs", &disk), Durability::ProcessCrash);
        assert!(of("ext4:barrier=0", &disk) < Durability::PowerLoss);
    }

    #[test]
    fn a_typo_in_a_metric_or_a_level_is_refused() {
        let refused = |change: fn(&mut Plan)| {
            let mut plan = planned("quick");
            change(&mut plan);
            preflight(&plan).expect_err("refused").to_string()
        };
        let error = refused(|plan| plan.design.primary[0].op = "apend".into());
        assert!(error.contains("primary names operation `apend`"), "{error}");
        let error = refused(|plan| plan.without[0].candidate = Some("tmpffs".into()));
        assert!(error.contains("without names candidate `tmpffs`"), "{error}");
        let error = refused(|plan| {
            plan.adjust[0].levels.insert("sync".into(), "fsynk".into());
        });
        assert!(error.contains("adjust names level `fsynk`"), "{error}");
    }

    #[test]
    fn a_realtime_thread_needs_consent() {
        let mut plan = planned("quick");
        plan.params.insert("thread_policy".into(), "fifo".into());
        let error = preflight(&plan).expect_err("refused").to_string();
        assert!(error.contains("--allow-realtime"), "{error}");
        plan.consent.realtime = true;
        preflight(&plan).expect("allowed");
    }

    #[test]
    fn a_setting_that_reaches_every_program_needs_consent() {
        let mut plan = planned("quick");
        plan.params.insert("vm.dirty_bytes".into(), 16_777_216.into());
        let error = preflight(&plan).expect_err("refused").to_string();
        assert!(error.contains("--allow-system-tuning"), "{error}");
        plan.consent.system_tuning = true;
        preflight(&plan).expect("allowed");
        plan.params.insert("vm.dirty".into(), 1.into());
        let error = preflight(&plan).expect_err("refused").to_string();
        assert!(error.contains("vm.dirty_bytes"), "{error}");
    }

    #[test]
    fn what_cannot_be_mounted_here_is_skipped_with_a_remedy() {
        let mut plan = planned("quick");
        let names = fs::FILE_SYSTEMS.iter().map(|row| row.name);
        let is_missing = |name: &&str| matches!(availability(name), Availability::Missing(_));
        let missing = names.clone().find(is_missing).expect("no machine has them all");
        plan.candidates.push(missing.parse().expect("a candidate"));
        let expansion = preflight(&plan).expect("the others run");
        let skipped: Vec<_> =
            expansion.skipped.iter().filter(|s| s.cell.candidate.fs == missing).collect();
        assert_eq!(skipped.len(), 2);
        assert!(!skipped[0].remedy.is_empty());
    }

    #[test]
    fn what_cannot_fit_is_refused_with_the_numbers_before_anything_is_made() {
        let refused = |name: &str, change: fn(&mut Plan)| {
            let mut plan = planned(name);
            plan.candidates = vec!["tmpfs".parse().expect("a candidate")];
            plan.design.reference = "tmpfs".into();
            plan.backing = BackingSpec::Loop { size_bytes: 64 << 20, directory: None };
            change(&mut plan);
            preflight(&plan).expect_err("refused").to_string()
        };
        let error = refused("files-tiny", |plan| {
            plan.params.insert("size".into(), "1GiB".into());
        });
        assert!(error.contains("size is 1 GiB") && error.contains("64 MiB"), "{error}");
        assert!(error.contains("larger size under [backing]"), "{error}");
        let error = refused("column-tiny", |plan| {
            plan.params.insert("lanes".into(), 64.into());
            plan.axes.clear();
        });
        assert!(error.contains("64 lanes need") && error.contains("use fewer lanes"), "{error}");
    }
}
