//! What came from elsewhere is shown before it is done: every command and
//! option of a run file or a plan, and a yes is wanted.

use std::{
    fmt::Write as _,
    io::{BufRead, IsTerminal, stderr, stdin},
    path::Path,
};

use anyhow::bail;
use pickfs_lab::origin;
use pickfs_record::{Cell, Plan, RunRecord};
use pickfs_store::is_own;

use crate::terminal;

/// Parameters of workloads that are commands, or say who runs them and where.
const COMMANDS: [&str; 9] =
    ["setup", "prepare", "command", "cleanup", "teardown", "job", "user", "environment", "fault"];

pub fn steps_text(plan: &Plan, cells: &[Cell]) -> anyhow::Result<String> {
    let mut text = String::new();
    let of_cells = cells.iter().map(|cell| &cell.candidate);
    let mut seen = Vec::new();
    for candidate in plan.candidates.iter().chain(of_cells) {
        if seen.contains(&candidate) {
            continue;
        }
        seen.push(candidate);
        let spec = Some(candidate.to_string()).filter(|spec| *spec != candidate.label);
        let spec = spec.map(|spec| format!(" = {spec}")).unwrap_or_default();
        writeln!(text, "# {}{spec}", candidate.label)?;
        for step in pickfs_candidate::plan_steps(candidate, &plan.backing)? {
            writeln!(text, "{:<60} # {}", step.action.to_string(), step.purpose)?;
        }
    }
    let mut commands: Vec<String> = Vec::new();
    for (name, value) in cells.iter().flat_map(|cell| &cell.workload.params) {
        let says_nothing = *value == "" || *value == serde_json::json!([]);
        if COMMANDS.contains(&name.as_str()) && !says_nothing {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            commands.push(format!("{value:<60} # {name}"));
        }
    }
    for (knob, value) in cells.iter().flat_map(|cell| &cell.knobs) {
        commands.push(format!(
            "{:<60} # set for its trials, then put back",
            format!("{knob} = {value}")
        ));
    }
    for (is_allowed, what, how) in [
        (plan.consent.drop_caches, "the machine's page cache", "may be dropped"),
        (plan.consent.realtime, "SCHED_FIFO", "may be asked for"),
    ] {
        if is_allowed {
            commands.push(format!("{what:<60} # {how}"));
        }
    }
    if let Some(ranks) = &plan.ranks {
        let launcher = ranks.launcher.join(" ");
        commands.push(format!("{launcher:<60} # starts the ranks of each trial"));
    }
    commands.sort();
    commands.dedup();
    if !commands.is_empty() {
        writeln!(
            text,
            "# around and in each mount, workload {}\n{}",
            plan.workload,
            commands.join("\n")
        )?;
    }
    Ok(text)
}

pub fn to_run(path: &Path, run: &RunRecord, yes: bool) -> anyhow::Result<()> {
    let why = match origin::is_made_here(run) {
        true if is_ours_alone(path) => return Ok(()),
        true => "the run can be written by somebody else",
        false => "the run was not begun on this machine",
    };
    agree(why, &run.plan, &run.cells, yes)
}

pub fn to_file(path: &Path, plan: &Plan, cells: &[Cell], yes: bool) -> anyhow::Result<()> {
    match is_ours_alone(path) {
        true => Ok(()),
        false => agree("the plan file can be written by somebody else", plan, cells, yes),
    }
}

/// Whether nobody else could have written the file, or put another in its place.
fn is_ours_alone(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return true };
    let places = [Some(path.as_path()), path.parent()];
    places.into_iter().flatten().all(|place| place.metadata().is_ok_and(|about| is_own(&about)))
}

fn agree(why: &str, plan: &Plan, cells: &[Cell], yes: bool) -> anyhow::Result<()> {
    if yes || pickfs_sys::namespace::is_private() {
        return Ok(());
    }
    terminal::tell(&format!("{why}; it would do this:"));
    steps_text(plan, cells)?.lines().for_each(terminal::tell);
    if !(stdin().is_terminal() && stderr().is_terminal()) {
        bail!("{why}: read the commands and options above, and add --yes to run them");
    }
    terminal::tell("run these? [y/N]");
    let mut line = String::new();
    stdin().lock().read_line(&mut line)?;
    match line.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => bail!("nothing was run"),
    }
}
