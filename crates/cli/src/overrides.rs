//! The plan that a command line means: a built-in plan or a file, with what is different
//! this time.

use std::path::Path;

use anyhow::{Context, bail};
use pickfs_lab::{
    expand::level_text,
    plan_file::{read_plan, read_plan_file},
    plans::{PLANS, built_in},
};
use pickfs_model::{
    BackingSpec, CandidateSpec, DeviceState, Plan,
    plan::{Axis, StopRule},
    quantity::{parse_bytes, parse_duration_ns},
};
use serde_json::Value;

use crate::args::{PlanChoice, StateWord};

/// The plan, read and changed.
pub fn chosen_plan(choice: &PlanChoice) -> anyhow::Result<Plan> {
    let mut plan = named_plan(&choice.plan)?;
    change_candidates(&mut plan, choice)?;
    change_backing(&mut plan, choice)?;
    change_params(&mut plan, choice)?;
    change_design(&mut plan, choice)?;
    change_timing(&mut plan, choice)?;
    plan.consent.drop_caches |= choice.allow_drop_caches;
    plan.consent.realtime |= choice.allow_realtime;
    Ok(plan)
}

fn named_plan(name: &str) -> anyhow::Result<Plan> {
    if let Some(plan) = built_in(name) {
        return Ok(read_plan(&format!("plans/{name}.toml"), plan.text)?);
    }
    if name.ends_with(".toml") || Path::new(name).exists() {
        return Ok(read_plan_file(Path::new(name))?);
    }
    let known: Vec<_> = PLANS.iter().map(|plan| plan.name).collect();
    bail!("no plan `{name}`: built in are {}; or name a .toml file", known.join(", "))
}

fn change_candidates(plan: &mut Plan, choice: &PlanChoice) -> anyhow::Result<()> {
    if choice.dir.is_some() && choice.candidates.is_empty() {
        plan.candidates = vec!["dir".parse::<CandidateSpec>()?];
        plan.without.clear();
    }
    if !choice.candidates.is_empty() {
        let read = choice.candidates.iter().map(|text| text.parse::<CandidateSpec>());
        plan.candidates = read.collect::<Result<_, _>>()?;
    }
    if let Some(label) = twice(&plan.candidates) {
        bail!("candidate `{label}` stands twice; a plan file can give one of them another label");
    }
    Ok(())
}

fn twice(candidates: &[CandidateSpec]) -> Option<&str> {
    let labels: Vec<_> = candidates.iter().map(|candidate| candidate.label.as_str()).collect();
    labels.iter().enumerate().find(|(at, label)| labels[..*at].contains(label)).map(|(_, l)| *l)
}

fn change_backing(plan: &mut Plan, choice: &PlanChoice) -> anyhow::Result<()> {
    let asked_bytes = choice.size.as_deref().map(parse_bytes).transpose()?;
    let planned_bytes = match &plan.backing {
        BackingSpec::Loop { size_bytes, .. } | BackingSpec::Ram { size_bytes } => *size_bytes,
        _ => 1 << 30,
    };
    let size_bytes = asked_bytes.unwrap_or(planned_bytes);
    if choice.ram {
        plan.backing = BackingSpec::Ram { size_bytes };
    } else if let Some(path) = &choice.device {
        let state = match choice.device_state {
            StateWord::Filled => DeviceState::Filled,
            StateWord::Discarded => DeviceState::Discarded,
        };
        let (path, size_bytes) = (path.clone(), asked_bytes);
        plan.backing = BackingSpec::Device { path, erase: choice.erase, state, size_bytes };
    } else if let Some(path) = &choice.dir {
        plan.backing = BackingSpec::Directory { path: path.clone() };
    } else if choice.size.is_some() || choice.image_dir.is_some() {
        plan.backing = BackingSpec::Loop { size_bytes, directory: choice.image_dir.clone() };
    }
    Ok(())
}

fn change_params(plan: &mut Plan, choice: &PlanChoice) -> anyhow::Result<()> {
    for text in &choice.set {
        let (name, value) = name_and_value("--set", text)?;
        plan.axes.retain(|axis| axis.name != name);
        plan.params.insert(name.into(), word(value));
    }
    for text in &choice.axis {
        let (name, values) = name_and_value("--axis", text)?;
        let levels = values.split(',').map(|value| word(value.trim())).collect();
        plan.params.remove(name);
        match plan.axes.iter_mut().find(|axis| axis.name == name) {
            Some(axis) => axis.levels = levels,
            None => plan.axes.push(Axis { name: name.into(), levels }),
        }
    }
    drop_idle_metrics(plan);
    Ok(())
}

/// A metric at a level that the plan no longer has cannot be measured.
fn drop_idle_metrics(plan: &mut Plan) {
    let axes = plan.axes.clone();
    let params = plan.params.clone();
    let has = |name: &str, value: &Value| match axes.iter().find(|axis| axis.name == name) {
        Some(axis) => axis.levels.contains(value),
        None => params.get(name) == Some(value),
    };
    for metric in &mut plan.design.primary {
        let fixed: Vec<String> =
            metric.at.keys().filter(|name| params.contains_key(*name)).cloned().collect();
        let holds = metric.at.iter().all(|(name, value)| has(name, value));
        if holds {
            fixed.iter().for_each(|name| drop(metric.at.remove(name)));
        }
    }
    plan.design.primary.retain(|metric| metric.at.iter().all(|(name, value)| has(name, value)));
}

fn change_design(plan: &mut Plan, choice: &PlanChoice) -> anyhow::Result<()> {
    let design = &mut plan.design;
    if let Some(blocks) = choice.blocks.filter(|blocks| !(1..=1_000).contains(blocks)) {
        bail!("--blocks {blocks}: use 1 to 1000");
    }
    design.blocks = choice.blocks.unwrap_or(design.blocks);
    design.seed = choice.seed.unwrap_or(design.seed);
    if choice.until_decided || choice.budget.is_some() {
        let budget_s = match &choice.budget {
            Some(text) => parse_duration_ns(text)? as f64 / 1e9,
            None => 2_700.0,
        };
        if choice.until_decided && choice.blocks.is_none() {
            design.blocks = design.blocks.max(60);
        }
        design.stop = StopRule::Decided { budget_s, tie_margin: 0.05 };
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

fn change_timing(plan: &mut Plan, choice: &PlanChoice) -> anyhow::Result<()> {
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
    if timing.measure_s <= 0.0 {
        bail!("--measure must be above zero: 250ms, 10s, 5m");
    }
    Ok(())
}

fn name_and_value<'a>(flag: &str, text: &'a str) -> anyhow::Result<(&'a str, &'a str)> {
    text.split_once('=')
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .with_context(|| format!("{flag} {text}: write name=value"))
}

/// A number where it is one, otherwise text.
fn word(text: &str) -> Value {
    match text.parse::<i64>() {
        Ok(number) => number.into(),
        Err(_) => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => number.into(),
            _ => text.into(),
        },
    }
}
