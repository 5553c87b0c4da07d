use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use pickfs_candidate::knob::{ENGINE, KERNEL};
use pickfs_lab::{
    expand::level_text,
    explain::explain_words,
    final_sync,
    plan_file::{read_plan, read_plan_file},
    plans::{PLANS, built_in},
    views,
};
use pickfs_record::{
    BackingSpec, CandidateSpec, DeviceState, Plan,
    closest::closest,
    plan::{Axis, StopRule},
    quantity::{parse_bytes, parse_duration_ns},
    typed::program,
};
use serde_json::{Map, Value};

use crate::{
    args::{PlanChanges, PlanChoice, StateWord},
    extras,
    places::places,
    screen, terminal,
};

pub fn chosen_plan(choice: &PlanChoice) -> anyhow::Result<Plan> {
    changed_plan(named_plan(&choice.plan)?, &choice.changes)
}

pub fn changed_plan(mut plan: Plan, choice: &PlanChanges) -> anyhow::Result<Plan> {
    change_candidates(&mut plan, choice)?;
    change_backing(&mut plan, choice)?;
    change_params(&mut plan, choice)?;
    change_design(&mut plan, choice)?;
    change_timing(&mut plan, choice)?;
    views::settle(&mut plan);
    final_sync::settle(&mut plan);
    if let Some(words) = &choice.explain {
        let asked = explain_words(words).map_err(|why| anyhow!("--explain={words}: {why}"))?;
        (plan.explain_above_ns, plan.explain_also) = asked;
    }
    if choice.cpus.is_some() {
        plan.cpus.clone_from(&choice.cpus);
    }
    if let Some(words) = &choice.ranks {
        plan.ranks = Some(extras::ranks_spec(words, choice.ranks_patience.as_deref())?);
    }
    plan.typed = screen::typed();
    plan.consent.drop_caches |= choice.allow_drop_caches;
    plan.consent.system_tuning |= choice.allow_system_tuning;
    plan.consent.realtime |= choice.allow_realtime;
    // Of a plan, that would be its own consent to its own words.
    plan.consent.fault = choice.allow_fault;
    Ok(plan)
}

pub fn named_plan(name: &str) -> anyhow::Result<Plan> {
    if let Some(plan) = built_in(name) {
        return Ok(read_plan(&format!("plans/{name}.toml"), plan.text)?);
    }
    if name.ends_with(".toml") || Path::new(name).exists() {
        return Ok(read_plan_file(Path::new(name))?);
    }
    let known: Vec<_> = PLANS.iter().map(|plan| plan.name).collect();
    if let Some(meant) = closest(name, known.iter().copied()) {
        let all = program();
        bail!("no plan `{name}`; did you mean `{meant}`? {all} plan --list shows all");
    }
    bail!("no plan `{name}`: built in are {}; or name a .toml file", known.join(", "))
}

fn change_candidates(plan: &mut Plan, choice: &PlanChanges) -> anyhow::Result<()> {
    if choice.dirs.len() > 1 && !choice.candidates.is_empty() {
        bail!(
            "--fs names what is made, and several --dir name what is there; leave one of them out"
        );
    }
    if !choice.dirs.is_empty() && choice.candidates.is_empty() {
        plan.candidates = places(&choice.dirs)?.0;
        plan.without.clear();
    }
    if !choice.candidates.is_empty() {
        let words = choice.candidates.iter().flat_map(|text| one_or_more(text));
        let read = words.map(|text| text.parse::<CandidateSpec>());
        plan.candidates = read.collect::<Result<_, _>>()?;
    }
    if let Some(label) = twice(&plan.candidates) {
        bail!("candidate `{label}` stands twice; a plan file can give one of them another label");
    }
    Ok(())
}

/// Commas stand between names, but within options they belong to the candidate.
pub fn one_or_more(text: &str) -> Vec<&str> {
    match text.contains([':', ';']) {
        true => vec![text],
        false => text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect(),
    }
}

fn twice(candidates: &[CandidateSpec]) -> Option<&str> {
    let labels: Vec<_> = candidates.iter().map(|candidate| candidate.label.as_str()).collect();
    labels.iter().enumerate().find(|(at, label)| labels[..*at].contains(label)).map(|(_, l)| *l)
}

fn change_backing(plan: &mut Plan, choice: &PlanChanges) -> anyhow::Result<()> {
    let asked_bytes = choice.size.as_deref().map(parse_bytes).transpose()?;
    let planned_bytes = match &plan.backing {
        BackingSpec::Loop { size_bytes, .. } | BackingSpec::Ram { size_bytes } => *size_bytes,
        _ => 1 << 30,
    };
    let size_bytes = asked_bytes.unwrap_or(planned_bytes);
    if choice.ram && choice.image_dir.is_some() {
        bail!("--image-dir chooses the disk of an image; with --ram there is none");
    }
    if choice.ram {
        plan.backing = BackingSpec::Ram { size_bytes };
    } else if let Some(path) = &choice.device {
        let state = match choice.device_state {
            StateWord::Filled => DeviceState::Filled,
            StateWord::Discarded => DeviceState::Discarded,
        };
        plan.backing = BackingSpec::Device {
            path: absolute(path),
            erase: choice.erase,
            state,
            size_bytes: asked_bytes,
            log_device: choice.log_device.as_deref().map(absolute),
        };
    } else if !choice.dirs.is_empty() {
        if choice.size.is_some() || choice.image_dir.is_some() {
            bail!("--dir measures in a folder that exists; --size and --image-dir are for images");
        }
        plan.backing = places(&choice.dirs)?.1;
    } else {
        change_image(&mut plan.backing, asked_bytes, choice.image_dir.as_deref())?;
    }
    make_absolute(plan);
    Ok(())
}

fn change_image(
    backing: &mut BackingSpec,
    asked_bytes: Option<u64>,
    image_dir: Option<&Path>,
) -> anyhow::Result<()> {
    match backing {
        BackingSpec::Loop { size_bytes, directory } => {
            *size_bytes = asked_bytes.unwrap_or(*size_bytes);
            *directory = image_dir.map(absolute).or(directory.take());
        }
        BackingSpec::Ram { size_bytes } if image_dir.is_none() => {
            *size_bytes = asked_bytes.unwrap_or(*size_bytes);
        }
        BackingSpec::Device { size_bytes, .. } if image_dir.is_none() => {
            *size_bytes = asked_bytes.or(*size_bytes);
        }
        _ if asked_bytes.is_none() && image_dir.is_none() => {}
        _ => bail!("--size and --image-dir are for images, and the plan's backing is none"),
    }
    Ok(())
}

/// A stored plan must mean the same from every folder.
fn make_absolute(plan: &mut Plan) {
    match &mut plan.backing {
        BackingSpec::Device { path, log_device, .. } => {
            *path = absolute(path);
            *log_device = log_device.as_deref().map(absolute);
        }
        BackingSpec::Loop { directory: Some(path), .. } | BackingSpec::Directory { path, .. } => {
            *path = absolute(path)
        }
        _ => {}
    }
    let recording = plan.params.get("recording").and_then(Value::as_str).unwrap_or_default();
    if !recording.is_empty() {
        let path = absolute(Path::new(recording)).display().to_string();
        plan.params.insert("recording".into(), path.into());
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// What the command line fixes or varies wins over the plan's own word, in its adjustments
/// too. A parameter that was an axis stays one, with a single level, so that what the plan
/// says of that level still holds.
fn change_params(plan: &mut Plan, choice: &PlanChanges) -> anyhow::Result<()> {
    if let Some(engine) = &choice.engine {
        change_param(plan, ENGINE, vec![engine.as_str().into()], false);
    }
    for text in &choice.set {
        let (name, value) = name_and_value("--set", text)?;
        change_param(plan, name, vec![word_of(name, value)], false);
    }
    for text in &choice.axis {
        let (name, values) = name_and_value("--axis", text)?;
        let levels = values.split(',').map(|value| word_of(name, value.trim())).collect();
        change_param(plan, name, levels, true);
    }
    let before = plan.design.primary.len();
    drop_what_is_not_run(plan);
    if before > 0 && plan.design.primary.is_empty() {
        plan.design.primary.extend(final_sync::question(plan));
        let instead = match plan.design.primary.first() {
            Some(metric) => format!("the mean {} is asked for instead", metric.op),
            None => "nothing will be claimed, values are shown".into(),
        };
        terminal::tell(&format!(
            "note: the plan asks about a level that is not run now; {instead}"
        ));
    }
    Ok(())
}

fn drop_what_is_not_run(plan: &mut Plan) {
    let (axes, candidates) = (plan.axes.clone(), plan.candidates.clone());
    let measured = |(name, condition): (&String, &pickfs_record::Condition)| {
        axes.iter()
            .find(|axis| axis.name == *name)
            .is_none_or(|axis| axis.levels.iter().any(|level| condition.holds(&level_text(level))))
    };
    let has = |levels: &Map<String, Value>| {
        levels.iter().all(|(name, value)| {
            axes.iter().find(|axis| axis.name == *name).is_none_or(|axis| {
                axis.levels.iter().any(|level| level_text(level) == level_text(value))
            })
        })
    };
    let runs = |label: &Option<String>| {
        label.as_ref().is_none_or(|label| candidates.iter().any(|c| c.label == *label))
    };
    plan.design.primary.retain(|metric| metric.at.iter().all(measured));
    plan.adjust.retain(|adjust| has(&adjust.levels) && runs(&adjust.candidate));
    plan.without.retain(|without| has(&without.levels) && runs(&without.candidate));
}

fn change_param(plan: &mut Plan, name: &str, levels: Vec<Value>, varies: bool) {
    for adjustment in &mut plan.adjust {
        adjustment.params.remove(name);
    }
    match plan.axes.iter_mut().find(|axis| axis.name == name) {
        Some(axis) => axis.levels = levels,
        None if varies => {
            plan.params.remove(name);
            plan.axes.push(Axis { name: name.into(), levels });
        }
        None => {
            plan.params.extend(levels.into_iter().map(|value| (name.to_owned(), value)));
        }
    }
}

/// A race ends by its budget; this many blocks are only reached by very short trials.
const RACE_BLOCKS_MAX: u32 = 1_000;

fn change_design(plan: &mut Plan, choice: &PlanChanges) -> anyhow::Result<()> {
    let design = &mut plan.design;
    design.blocks = choice.blocks.unwrap_or(design.blocks);
    design.seed = choice.seed.unwrap_or(design.seed);
    let tie_margin = design.stop.tie_margin();
    if choice.until_decided || choice.budget.is_some() {
        let planned_s = match design.stop {
            StopRule::Decided { budget_s, .. } => budget_s,
            StopRule::Blocks { .. } => 2_700.0,
        };
        let budget_s = match &choice.budget {
            Some(text) => parse_duration_ns(text)? as f64 / 1e9,
            None => planned_s,
        };
        if choice.blocks.is_none() {
            design.blocks = design.blocks.max(RACE_BLOCKS_MAX);
        }
        design.stop = StopRule::Decided { budget_s, tie_margin };
    } else if choice.blocks.is_some() {
        design.stop = StopRule::Blocks { tie_margin };
    }
    let known = compared(plan);
    match &choice.reference {
        Some(label) if known.contains(label) => plan.design.reference = label.clone(),
        Some(label) => bail!("--reference `{label}` is none of {}", known.join(", ")),
        None if known.contains(&plan.design.reference) => {}
        None => plan.design.reference = known.first().context("nothing to compare")?.clone(),
    }
    Ok(())
}

fn compared(plan: &Plan) -> Vec<String> {
    match plan.axes.iter().find(|axis| axis.name == plan.design.compare) {
        Some(axis) => axis.levels.iter().map(level_text).collect(),
        None => plan.candidates.iter().map(|candidate| candidate.label.clone()).collect(),
    }
}

fn change_timing(plan: &mut Plan, choice: &PlanChanges) -> anyhow::Result<()> {
    let timing = &mut plan.timing;
    let words = [
        (&choice.measure, &mut timing.measure_s),
        (&choice.warmup, &mut timing.warmup_s),
        (&choice.raw_probe, &mut timing.raw_probe_s),
    ];
    for (word, seconds) in words {
        if let Some(text) = word {
            *seconds = parse_duration_ns(text)? as f64 / 1e9;
        }
    }
    Ok(())
}

fn name_and_value<'a>(flag: &str, text: &'a str) -> anyhow::Result<(&'a str, &'a str)> {
    text.split_once('=')
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .with_context(|| format!("{flag} {text}: write name=value"))
}

/// The version 5.10 is not the number 5.1.
fn word_of(name: &str, text: &str) -> Value {
    if name == KERNEL { text.into() } else { word(text) }
}

fn word(text: &str) -> Value {
    match text.parse::<i64>() {
        Ok(number) => number.into(),
        Err(_) => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => number.into(),
            _ => text.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_part_names_but_not_options() {
        assert_eq!(one_or_more("ext4,xfs, btrfs"), ["ext4", "xfs", "btrfs"]);
        assert_eq!(one_or_more("ext4:noatime,barrier=0"), ["ext4:noatime,barrier=0"]);
    }
}
