//! `pickfs explain`: why laps of a run were slow, and what to change.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use pickfs_analysis::stalls::stall_tables;
use pickfs_report::stalls::{StallScreen, stall_screen};

use crate::{
    commands::read_run,
    exit::Exit,
    screen::{columns, put},
};

/// `pickfs explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// A run, its file or its folder; it must have been run with --explain
    pub run: PathBuf,
    /// Slowest laps that are opened for each operation
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub laps: usize,
    /// With the kernel stacks of each cause
    #[arg(long)]
    pub stacks: bool,
    /// As JSON: what each trial has kept
    #[arg(long)]
    pub json: bool,
}

/// Prints why laps of a run were slow.
pub fn explain(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let (_, run) = read_run(&args.run)?;
    if run.trials.iter().all(|trial| trial.stalls.is_none()) {
        bail!("run {} was not explained; run the plan again with --explain", run.name);
    }
    if args.json {
        for trial in &run.trials {
            let words = serde_json::json!({
                "trial": trial.number, "cell": trial.cell, "stalls": trial.stalls,
            });
            put(&format!("{words}\n"));
        }
        return Ok(Exit::Done);
    }
    let screen = StallScreen { columns: columns(), laps: args.laps, stacks: args.stacks };
    put(&stall_screen(&stall_tables(&run), &screen));
    Ok(Exit::Done)
}
