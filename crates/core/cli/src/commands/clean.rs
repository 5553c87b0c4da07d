use std::{
    io,
    path::{Path, PathBuf},
};

use pickfs_candidate::undo::{CleanOutcome, Cleaned, UndoLog};
use pickfs_lab::run_lock;

use crate::{exit::Exit, terminal};

pub fn clean(folder: &Path) -> anyhow::Result<Exit> {
    let cleaned = UndoLog::open_default().clean()?;
    let told = |(path, removed): (PathBuf, io::Result<()>)| {
        (format!("empty folder {}", path.display()), removed)
    };
    let of_runs = run_lock::clean_left(folder).into_iter();
    let of_runs = of_runs.chain(run_lock::clean_left_outside());
    let folders: Vec<_> = of_runs.map(told).collect();
    if cleaned.is_empty() && folders.is_empty() {
        terminal::line("nothing to clean: no run left anything behind");
    }
    cleaned.iter().for_each(|one| terminal::line(&text(one)));
    folders.iter().for_each(|one| terminal::line(&folder_text(one)));
    let failed = cleaned.iter().any(|one| matches!(one.outcome, CleanOutcome::Failed(_)));
    let failed = failed || folders.iter().any(|(_, removed)| removed.is_err());
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

fn folder_text((what, removed): &(String, io::Result<()>)) -> String {
    match removed {
        Ok(()) => format!("undone: {what}"),
        Err(error) => format!("FAILED: {what}: {error}"),
    }
}

fn text(cleaned: &Cleaned) -> String {
    match &cleaned.outcome {
        CleanOutcome::Undone => format!("undone: {}", cleaned.what),
        CleanOutcome::AlreadyGone(why) => format!("gone: {} ({why})", cleaned.what),
        CleanOutcome::InUse => format!("left: {} (a run that is going on needs it)", cleaned.what),
        CleanOutcome::Failed(why) => format!("FAILED: {}: {why}", cleaned.what),
    }
}
