use std::{env, path::Path};

use anyhow::bail;
use pickfs_analysis::ending::{UNTIL_DECIDED_S, again, command};
use pickfs_lab::{length::expected_s, plans::built_in, preflight::preflight, rivals::NoAnswer};
use pickfs_record::{
    BackingSpec, Findings, RunRecord,
    finding::{AnswerEnd, Ending},
    quantity::bytes_text,
    typed::{program, quoted},
};
use pickfs_report::{
    NextStep, Screen, Subject,
    first::first_screen,
    terminal::{phase_tables, whole_screen},
};

use pickfs_candidate::packages::Family;

use crate::{
    exit::Exit,
    terminal::{has_colour, put, width},
};

pub fn print_run(
    run: &RunRecord,
    findings: &Findings,
    place: &Path,
    page: Option<&Path>,
    all: bool,
) {
    let subject = Subject::new(run, findings);
    let next = next_step(run, findings);
    let page = page.map(|path| path.display().to_string());
    let place = place.display().to_string();
    let screen = Screen {
        columns: columns(),
        colour: has_colour(),
        next: next.as_ref(),
        report: page.as_deref(),
        run: Some(&place),
    };
    let write = if all { whole_screen } else { first_screen };
    put(&write(&subject, &screen));
}

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

pub fn no_answer_text(why: &NoAnswer) -> String {
    let again = match why.size_bytes {
        Some(bytes) => again(&typed(), &[("--size", Some(&bytes_text(bytes).replace(' ', "")))]),
        None => again(&typed(), &[]),
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

/// The words as they can be typed again, the program first: `./run` names itself.
pub fn typed() -> Vec<String> {
    let words = || env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let needs_no_root = |word: String| word.starts_with("--dir") || word.starts_with("--engine");
    let sudo = match rustix::process::geteuid().is_root() {
        true => env::var_os("SUDO_UID").is_some(),
        false => !words().any(needs_no_root),
    };
    let sudo = sudo.then(|| "sudo".to_owned());
    sudo.into_iter().chain([program().to_owned()]).chain(words()).collect()
}

/// What stands before a command that needs root; nothing where root has no sudo.
fn sudo() -> &'static str {
    let has_sudo = pickfs_candidate::availability::find_program("sudo").is_some();
    if has_sudo || !rustix::process::geteuid().is_root() { "sudo " } else { "" }
}

/// The command that would tell more on the same ground, with its cost: after the quick plan
/// the long one, after any other with a question that is open the same until it is decided. What cures the first
/// question stands beside it.
pub fn next_step(run: &RunRecord, findings: &Findings) -> Option<NextStep> {
    if findings.endings.first().is_some_and(|ending| ending.end == AnswerEnd::NoAnswer) {
        return None;
    }
    // The words of a command of somebody's own are in no plan that has a name.
    let is_own = matches!(run.plan.name.as_str(), "exec" | "fio");
    if run.plan.design.stop.is_race() || is_own || run.plan.capacity.is_some() {
        return None;
    }
    if run.plan.name != "quick" {
        let is_open = |ending: &Ending| ending.end == AnswerEnd::NoAnswer;
        if !findings.endings.is_empty() && !findings.endings.iter().any(is_open) {
            return None;
        }
        let command = command(&run.plan, &[("--until-decided", None), ("--blocks", Some(""))]);
        return Some(NextStep { command, duration_s: UNTIL_DECIDED_S });
    }
    let mut plan = built_in("journal")?.read().ok()?;
    if let BackingSpec::Directory { .. } = run.plan.backing {
        plan.candidates.clone_from(&run.plan.candidates);
    }
    let cells = preflight(&plan).ok()?.cells;
    let duration_s = expected_s(&plan, &cells);
    let command = format!("{} journal{}", program(), ground(&run.plan.backing));
    Some(NextStep { command, duration_s })
}

fn ground(backing: &BackingSpec) -> String {
    let word = |flag: &str, path: &Path| format!(" {flag} {}", quoted(&path.to_string_lossy()));
    match backing {
        BackingSpec::Loop { directory: None, .. } => String::new(),
        BackingSpec::Loop { directory: Some(path), .. } => word("--image-dir", path),
        BackingSpec::Ram { .. } => " --ram".into(),
        BackingSpec::Device { path, log_device, .. } => {
            let log = log_device.as_ref().map(|log| word("--log-device", log));
            word("--device", path) + &log.unwrap_or_default() + " --erase"
        }
        BackingSpec::Directory { .. } => {
            backing.directories().iter().map(|path| word("--dir", path)).collect()
        }
    }
}

/// Columns of the terminal, at most 120; 100 elsewhere.
pub fn columns() -> usize {
    width().map_or(100, |columns| columns.min(120))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_analysis::findings;
    use pickfs_testkit::{FakeRun, fake_run};

    #[test]
    fn a_run_is_proposed_again_until_decided_only_where_a_question_is_open() {
        let mut run = fake_run(&FakeRun { blocks: 40, ..FakeRun::default() });
        run.plan.name = "roll".into();
        let mut found = findings(&run);
        let ends: Vec<AnswerEnd> = found.endings.iter().map(|ending| ending.end).collect();
        assert_eq!(ends, [AnswerEnd::Winner; 2]);
        assert_eq!(next_step(&run, &found), None);
        found.endings[1].end = AnswerEnd::NoAnswer;
        let next = next_step(&run, &found).expect("one is open");
        assert!(next.command.ends_with("roll --until-decided"), "{next:?}");
    }
}
