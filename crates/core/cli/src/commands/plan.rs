use std::collections::BTreeSet;

use pickfs_lab::{
    expand::Expansion,
    length::{Cost, times, too_short},
    plans::{PLANS, TOUR},
    preflight,
};
use pickfs_record::{Cell, Plan, plan::StopRule, quantity::counted, record::SkippedCell};
use pickfs_workload::command::needs;

use crate::{agree::steps_text, args::PlanArgs, exit::Exit, overrides::chosen_plan, terminal};

pub fn plan(args: &PlanArgs) -> anyhow::Result<Exit> {
    if args.list {
        return list();
    }
    let plan = chosen_plan(&args.choice)?;
    if args.parameters {
        for param in pickfs_workload::find(&plan.workload)?.params {
            terminal::flow(&param.to_string(), 4);
        }
        return Ok(Exit::Done);
    }
    let expansion = preflight::preflight(&plan)?;
    if args.json {
        terminal::line(&serde_json::to_string_pretty(&plan)?);
    } else if args.steps {
        terminal::put(&steps_text(&plan, &expansion.cells)?);
    } else {
        print_matrix(&plan, &expansion);
        // A run of it would stop here.
        preflight::check_answerable(&plan, &expansion)?;
    }
    Ok(Exit::Done)
}

/// By what people choose for, each with its time, whatever of it runs here.
fn list() -> anyhow::Result<Exit> {
    let (mut group, times) = ("", times());
    for built_in in PLANS {
        if built_in.group != group {
            let blank = if group.is_empty() { "" } else { "\n" };
            group = built_in.group;
            terminal::line(&format!("{blank}{group}"));
        }
        let question = &built_in.read()?.question;
        let time = times.get(built_in.name).map_or("", String::as_str);
        terminal::flow(&format!("  {:<26} {time:>6}  {question}", built_in.name), 37);
    }
    let what = "every workload at its smallest honest scale: ";
    terminal::flow(&format!("  {:<26} {:>6}  {what}{}", TOUR.0, "30 min", TOUR.1.join(", ")), 37);
    Ok(Exit::Done)
}

fn print_matrix(plan: &Plan, expansion: &Expansion) {
    terminal::flow(&plan.question, 2);
    let took = Cost::of(plan, &expansion.cells);
    let blocks = match plan.design.stop {
        StopRule::Blocks { .. } => {
            format!("{}, {took}", counted(plan.design.blocks.into(), "block"))
        }
        StopRule::Decided { .. } => format!("blocks until decided, {took}"),
    };
    terminal::flow(&format!("{} cells x {blocks}", expansion.cells.len()), 2);
    if let Some(text) = too_short(plan, &expansion.cells) {
        terminal::flow(&format!("note: {text}"), 2);
    }
    for text in missing(&expansion.cells) {
        terminal::flow(&format!("note: {text}"), 2);
    }
    for cell in &expansion.cells {
        terminal::flow(&format!("  run   {}", cell_text(cell)), 8);
    }
    for SkippedCell { cell, reason, remedy } in &expansion.skipped {
        terminal::flow(&format!("  skip  {}: {reason} ({remedy})", cell_text(cell)), 8);
    }
}

/// Programs and files that commands need and this machine lacks.
fn missing(cells: &[Cell]) -> BTreeSet<String> {
    let of = |cell: &Cell| {
        let workload = pickfs_workload::find(&cell.workload.name).ok()?;
        let params = workload.validate(&cell.workload.params).ok()?;
        Some(needs::missing(&params))
    };
    let commands = cells.iter().filter(|cell| cell.workload.name == "command");
    commands.filter_map(of).flatten().collect()
}

fn cell_text(cell: &Cell) -> String {
    let (label, spec) = (&cell.candidate.label, cell.candidate.to_string());
    let name = if *label == spec { spec } else { format!("{label} = {spec}") };
    format!("{}  {name:<12} {}  [{}]", cell.id, cell.levels_text(), cell.durability)
}
