//! Printing a run on the terminal: its width, colour, and what to do next.

use std::path::Path;

use pickfs_model::{Findings, RunRecord, plan::StopRule};
use pickfs_report::{NextStep, Screen, Subject, terminal::first_screen};

/// Prints the first screen of a run.
pub fn print_run(run: &RunRecord, findings: &Findings, report: Option<&Path>) {
    let subject = Subject::new(run, findings);
    let next = next_step(run);
    let report = report.map(|path| path.display().to_string());
    let screen = Screen {
        columns: columns(),
        colour: rustix::termios::isatty(std::io::stdout())
            && std::env::var_os("NO_COLOR").is_none(),
        next: next.as_ref(),
        report: report.as_deref(),
    };
    print!("{}", first_screen(&subject, &screen));
}

/// The command that would tell more, with its cost.
pub fn next_step(run: &RunRecord) -> Option<NextStep> {
    match run.plan.design.stop {
        StopRule::Decided { .. } => None,
        StopRule::Blocks => {
            let plan = pickfs_lab::plans::built_in("journal")?;
            let plan = pickfs_lab::plan_file::read_plan(plan.name, plan.text).ok()?;
            let cells = pickfs_lab::preflight::preflight(&plan).ok()?.cells;
            let duration_s = pickfs_lab::preflight::expected_s(&plan, &cells);
            Some(NextStep { command: "./run journal".into(), duration_s })
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
