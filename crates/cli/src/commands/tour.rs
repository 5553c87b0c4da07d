//! `pickfs tour`: about twenty-five minutes through every workload, each at its smallest
//! honest scale.

use crate::{
    args::{RunArgs, TourArgs},
    commands::run,
    exit::Exit,
    terminal,
};

/// The stops, in order; a new workload adds a line.
const STOPS: &[&str] =
    &["quick", "column-tiny", "files-tiny", "queue", "fix", "article-001-readers", "roll"];

/// Runs each stop; an interrupt ends the tour, a failed trial does not.
pub fn tour(args: &TourArgs) -> anyhow::Result<Exit> {
    let mut worst = Exit::Done;
    for stop in STOPS {
        terminal::tell(&format!("\n=== {stop} ==="));
        let mut words: RunArgs = args.run.clone();
        words.choice.plan = (*stop).into();
        match run::run(&words)? {
            Exit::Interrupted => return Ok(Exit::Interrupted),
            Exit::Done => {}
            failed => worst = failed,
        }
    }
    Ok(worst)
}
