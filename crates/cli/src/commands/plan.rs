//! `pickfs plan`: what would be done, without touching anything.

use pickfs_lab::{
    expand::Expansion,
    plan_file::read_plan,
    plans::PLANS,
    preflight::{self, expected_s},
};
use pickfs_model::{
    Cell, Plan,
    plan::StopRule,
    quantity::{counted, span_text},
};

use crate::{args::PlanArgs, exit::Exit, overrides::chosen_plan};

/// Prints the matrix of a plan, its steps, or the built-in plans.
pub fn plan(args: &PlanArgs) -> anyhow::Result<Exit> {
    if args.list {
        return list();
    }
    let plan = chosen_plan(&args.choice)?;
    let expansion = preflight::preflight(&plan)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&plan)?);
    } else if args.steps {
        print_steps(&plan)?;
    } else {
        print_matrix(&plan, &expansion);
    }
    Ok(Exit::Done)
}

fn list() -> anyhow::Result<Exit> {
    for built_in in PLANS {
        let plan = read_plan(built_in.name, built_in.text)?;
        println!("{:<28} {}", built_in.name, plan.question);
    }
    Ok(Exit::Done)
}

fn print_matrix(plan: &Plan, expansion: &Expansion) {
    println!("{}", plan.question);
    let took = span_text(expected_s(plan, &expansion.cells));
    let blocks = match plan.design.stop {
        StopRule::Blocks => {
            format!("{}, about {took}", counted(plan.design.blocks.into(), "block"))
        }
        StopRule::Decided { .. } => format!("blocks until decided, at most {took}"),
    };
    println!("{} cells x {blocks}, seed {}", expansion.cells.len(), plan.design.seed);
    for cell in &expansion.cells {
        println!("  run   {}", cell_text(cell));
    }
    for skipped in &expansion.skipped {
        println!("  skip  {}: {} ({})", cell_text(&skipped.cell), skipped.reason, skipped.remedy);
    }
}

fn cell_text(cell: &Cell) -> String {
    format!(
        "{}  {:<12} {}  [{}]",
        cell.id,
        cell.candidate.label,
        cell.levels_text(),
        cell.durability
    )
}

fn print_steps(plan: &Plan) -> anyhow::Result<()> {
    for candidate in &plan.candidates {
        println!("# {}", candidate.label);
        for step in pickfs_target::plan_steps(candidate, &plan.backing)? {
            println!("{:<60} # {}", step.action.to_string(), step.purpose);
        }
    }
    Ok(())
}
