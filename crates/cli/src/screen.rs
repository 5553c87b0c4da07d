//! Printing a run on the terminal: its width, colour, and what to do next.

use std::{env, path::Path};

use anyhow::bail;
use pickfs_lab::{
    length::expected_s, plan_file::read_plan, plans::built_in, preflight::preflight,
    rivals::NoAnswer,
};
use pickfs_model::{
    BackingSpec, Findings, RunRecord,
    plan::StopRule,
    quantity::bytes_text,
    typed::{TYPED, program, quoted},
};
use pickfs_report::{
    NextStep, Screen, Subject,
    terminal::{first_screen, phase_tables},
};

use pickfs_target::packages::Family;

use crate::{
    exit::Exit,
    terminal::{has_colour, put},
};

/// Prints the first screen of a run.
pub fn print_run(run: &RunRecord, findings: &Findings, report: Option<&Path>) {
    let subject = Subject::new(run, findings);
    let next = next_step(run);
    let report = report.map(|path| path.display().to_string());
    let screen = Screen {
        columns: columns(),
        colour: has_colour(),
        next: next.as_ref(),
        report: report.as_deref(),
    };
    put(&first_screen(&subject, &screen));
}

/// Prints every table of a run that is made of phases.
pub fn print_phases(run: &RunRecord, findings: &Findings) -> anyhow::Result<Exit> {
    let subject = Subject::new(run, findings);
    let text = phase_tables(&subject, columns(), has_colour());
    if text.is_empty() {
        let (run, program) = (&run.name, program());
        bail!("run {run} is one loop, not phases; {program} show RUN prints its tables");
    }
    put(&text);
    Ok(Exit::Done)
}

/// The screen of a run that was not begun: what is missing, and the command that brings it, with the
/// words that were typed.
pub fn no_answer_text(why: &NoAnswer) -> String {
    let again = match why.size_bytes {
        Some(bytes) => with_size(&typed(), &bytes_text(bytes).replace(' ', "")),
        None => typed(),
    };
    let fix = match why.packages.as_slice() {
        [] if why.size_bytes.is_some() => again,
        [] => why.remedies.join("; "),
        packages => {
            let install = Family::here().install();
            format!("{}{install} {}   then   {again}", sudo(), packages.join(" "))
        }
    };
    format!("NO ANSWER  {why}.\n  fix      {fix}\n")
}

/// The words as they can be typed again: `./run` tells its own.
fn typed() -> String {
    let own = || {
        let words = env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
        format!("{} {}", program(), words.collect::<Vec<_>>().join(" "))
    };
    let words = env::var(TYPED).unwrap_or_else(|_| own());
    format!("{}{}", sudo(), words.trim_end())
}

/// What stands before a command that needs root; nothing where root has no sudo.
fn sudo() -> &'static str {
    let has_sudo = pickfs_target::availability::find_program("sudo").is_some();
    if has_sudo || !rustix::process::geteuid().is_root() { "sudo " } else { "" }
}

/// The words with another size.
fn with_size(words: &str, size: &str) -> String {
    let (before, after) = match words.split_once(" --size") {
        Some((before, rest)) => {
            let value = rest.trim_start_matches([' ', '=']);
            (before, value.split_once(' ').map_or("", |(_, after)| after))
        }
        None => match words.split_once(" -- ") {
            Some((before, _)) => (before, &words[before.len() + 1..]),
            None => (words, ""),
        },
    };
    format!("{before} --size {size} {after}").trim_end().to_owned()
}

/// The command that would tell more on the same ground, with its cost: after the quick plan
/// the long one, after any other the same until it is decided.
pub fn next_step(run: &RunRecord) -> Option<NextStep> {
    let is_settled = matches!(run.plan.design.stop, StopRule::Decided { .. });
    // The words of a command of somebody's own are in no plan that has a name.
    let is_own = matches!(run.plan.name.as_str(), "exec" | "fio");
    if is_settled || is_own || run.plan.capacity.is_some() {
        return None;
    }
    let ground = ground(&run.plan.backing);
    if run.plan.name != "quick" {
        let command = format!("{} {} --until-decided{ground}", program(), run.plan.name);
        return Some(NextStep { command, duration_s: UNTIL_DECIDED_S });
    }
    let plan = built_in("journal")?;
    let mut plan = read_plan(plan.name, plan.text).ok()?;
    if let BackingSpec::Directory { .. } = run.plan.backing {
        plan.candidates.clone_from(&run.plan.candidates);
    }
    let cells = preflight(&plan).ok()?.cells;
    let duration_s = expected_s(&plan, &cells);
    Some(NextStep { command: format!("{} journal{ground}", program()), duration_s })
}

/// Budget of `--until-decided` where none is named.
const UNTIL_DECIDED_S: f64 = 2_700.0;

/// The words that name the backing again.
fn ground(backing: &BackingSpec) -> String {
    let word = |flag: &str, path: &Path| format!(" {flag} {}", quoted(&path.to_string_lossy()));
    match backing {
        BackingSpec::Loop { directory: None, .. } => String::new(),
        BackingSpec::Loop { directory: Some(path), .. } => word("--image-dir", path),
        BackingSpec::Ram { .. } => " --ram".into(),
        BackingSpec::Device { path, .. } => word("--device", path) + " --erase",
        BackingSpec::Directory { .. } => {
            backing.directories().iter().map(|path| word("--dir", path)).collect()
        }
    }
}

/// Columns of the terminal, at most 120; 100 elsewhere.
pub fn columns() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col).min(120),
        _ => 100,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_replaces_the_one_that_was_typed() {
        assert_eq!(
            with_size("pickfs run --size 64MiB --ram", "300MiB"),
            "pickfs run --size 300MiB --ram"
        );
        assert_eq!(with_size("pickfs run --size=64MiB", "300MiB"), "pickfs run --size 300MiB");
        assert_eq!(with_size("./run", "300MiB"), "./run --size 300MiB");
        assert_eq!(with_size("./run -- tar x", "300MiB"), "./run --size 300MiB -- tar x");
    }
}
