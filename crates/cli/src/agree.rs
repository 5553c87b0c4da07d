//! What came from elsewhere is shown before it is done: every command and
//! option of a run file or a plan, and a yes is wanted.

use std::{
    fmt::Write as _,
    io::{BufRead, IsTerminal, stderr, stdin},
    os::unix::fs::MetadataExt,
    path::Path,
};

use anyhow::bail;
use pickfs_lab::origin;
use pickfs_model::{Cell, Plan, RunRecord};

use crate::terminal;

/// Parameters of workloads that are commands, or say who runs them and where.
const COMMANDS: [&str; 8] =
    ["setup", "prepare", "command", "cleanup", "teardown", "job", "user", "environment"];

/// The exact commands of each candidate, and those of the workload.
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
        for step in pickfs_target::plan_steps(candidate, &plan.backing)? {
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
    commands.sort();
    commands.dedup();
    if !commands.is_empty() {
        writeln!(text, "# in each mount, workload {}\n{}", plan.workload, commands.join("\n"))?;
    }
    Ok(text)
}

/// A run that was begun elsewhere, or was changed since.
pub fn to_run(run: &RunRecord, yes: bool) -> anyhow::Result<()> {
    match origin::is_made_here(run) {
        true => Ok(()),
        false => agree("the run was not begun on this machine", &run.plan, &run.cells, yes),
    }
}

/// A plan file that somebody else could have written.
pub fn to_file(path: &Path, plan: &Plan, cells: &[Cell], yes: bool) -> anyhow::Result<()> {
    let Ok(facts) = path.metadata() else { return Ok(()) };
    let caller = std::env::var("SUDO_UID").ok().and_then(|id| id.parse().ok());
    let own = [Some(0), Some(rustix::process::geteuid().as_raw()), caller];
    if own.contains(&Some(facts.uid())) && facts.mode() & 0o002 == 0 {
        return Ok(());
    }
    agree("the plan file can be written by somebody else", plan, cells, yes)
}

/// Behind the private namespace it was agreed to before.
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
