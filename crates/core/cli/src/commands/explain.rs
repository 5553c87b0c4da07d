use std::{ffi::OsString, path::PathBuf};

use anyhow::bail;
use clap::Args;
use pickfs_analysis::stalls::stall_tables;
use pickfs_record::explain_also::samples_hz;
use pickfs_report::stalls::{StallScreen, stalls_document};

use crate::{commands::read_run, exit::Exit, extras, terminal};

/// `pickfs explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// A run, its file or its folder; it must have been run with --explain
    #[arg(required_unless_present_any = ["process", "command"], conflicts_with_all = ["process", "command"])]
    pub run: Option<PathBuf>,
    /// Instead of a run: a process that runs, with all below it and all that they start
    #[arg(short = 'p', long = "pid", value_name = "PID", conflicts_with = "command")]
    pub process: Option<u32>,
    /// Watch it for so long; without, until it ends or Ctrl-C
    #[arg(long, value_name = "N", requires = "process")]
    pub seconds: Option<f64>,
    /// A call is slow above this; of a run that was said by --explain
    #[arg(long, value_name = "DURATION", default_value = "100us", conflicts_with = "run")]
    pub over: String,
    /// Also sample where threads are on a processor, so many times a second; of a run: --explain=samples=HZ
    #[arg(long, value_name = "HZ", conflicts_with = "run", value_parser = samples_hz)]
    pub samples: Option<u32>,
    /// Also read commits, write-back and requests of devices of the whole machine; of a run: --explain=context
    #[arg(long, conflicts_with = "run")]
    pub context: bool,
    /// Write to a file; without, of a command to standard error, where it does not mix with its output
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with = "run")]
    pub output: Option<PathBuf>,
    /// Slowest operations that are opened for each operation
    #[arg(alias = "laps", long, value_name = "N", default_value_t = 3)]
    pub operations: usize,
    /// With the kernel stacks of each cause
    #[arg(long)]
    pub stacks: bool,
    /// As JSON: what each trial has kept; of a program its calls and stalls
    #[arg(long)]
    pub json: bool,
    /// Instead of a run: a command, from its first call on; its exit code is passed on
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

pub fn explain(args: &ExplainArgs) -> anyhow::Result<Exit> {
    match (&args.run, args.process) {
        (Some(run), _) => of_run(run, args),
        (None, Some(process)) => extras::explain_process(process, args),
        (None, None) => extras::explain_command(args),
    }
}

fn of_run(run: &std::path::Path, args: &ExplainArgs) -> anyhow::Result<Exit> {
    let (_, run) = read_run(run)?;
    if run.trials.iter().all(|trial| trial.stalls.is_none()) {
        bail!("run {} was not explained; run the plan again with --explain", run.name);
    }
    if args.json {
        for trial in &run.trials {
            let words = serde_json::json!({
                "trial": trial.number, "cell": trial.cell, "stalls": trial.stalls,
            });
            terminal::put(&format!("{words}\n"));
        }
        return Ok(Exit::Done);
    }
    terminal::show(&stalls_document(&stall_tables(&run), &screen_of(args)));
    Ok(Exit::Done)
}

pub fn screen_of(args: &ExplainArgs) -> StallScreen {
    StallScreen { operations: args.operations, stacks: args.stacks }
}
