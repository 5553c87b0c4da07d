//! `pickfs plan`: what would be done, without touching anything.

use pickfs_lab::{
    expand::Expansion,
    length::{expected_s, length_text},
    plan_file::read_plan,
    plans::PLANS,
    preflight,
};
use pickfs_model::{Cell, Plan, plan::StopRule, quantity::counted};

use crate::{agree::steps_text, args::PlanArgs, exit::Exit, overrides::chosen_plan, terminal};

/// Prints the matrix of a plan, its steps, or the built-in plans.
pub fn plan(args: &PlanArgs) -> anyhow::Result<Exit> {
    if args.list {
        return list();
    }
    let plan = chosen_plan(&args.choice)?;
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

fn list() -> anyhow::Result<Exit> {
    for built_in in PLANS {
        let plan = read_plan(built_in.name, built_in.text)?;
        terminal::line(&format!("{:<28} {}", built_in.name, plan.question));
    }
    Ok(Exit::Done)
}

fn print_matrix(plan: &Plan, expansion: &Expansion) {
    terminal::line(&plan.question);
    let took = length_text(plan, expected_s(plan, &expansion.cells));
    let blocks = match plan.design.stop {
        StopRule::Blocks => format!("{}, {took}", counted(plan.design.blocks.into(), "block")),
        StopRule::Decided { .. } => format!("blocks until decided, {took}"),
    };
    terminal::line(&format!(
        "{} cells x {blocks}, seed {}",
        expansion.cells.len(),
        plan.design.seed
    ));
    for cell in &expansion.cells {
        terminal::line(&format!("  run   {}", cell_text(cell)));
    }
    for skipped in &expansion.skipped {
        terminal::line(&format!(
            "  skip  {}: {} ({})",
            cell_text(&skipped.cell),
            skipped.reason,
            skipped.remedy
        ));
    }
}

fn cell_text(cell: &Cell) -> String {
    let (label, spec) = (&cell.candidate.label, cell.candidate.to_string());
    let name = if *label == spec { spec } else { format!("{label} = {spec}") };
    format!("{}  {name:<12} {}  [{}]", cell.id, cell.levels_text(), cell.durability)
}
