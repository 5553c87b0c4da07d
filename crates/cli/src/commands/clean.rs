//! `pickfs clean`: what outlived a run that was killed, and only that.

use pickfs_target::undo::{CleanOutcome, Cleaned, UndoLog};

use crate::{args::CleanArgs, exit::Exit};

/// Undoes what is written down and says what came of it.
pub fn clean(_args: &CleanArgs) -> anyhow::Result<Exit> {
    let cleaned = UndoLog::open_default().clean()?;
    if cleaned.is_empty() {
        println!("nothing to clean: no run left anything behind");
    }
    cleaned.iter().for_each(|one| println!("{}", text(one)));
    let failed = cleaned.iter().any(|one| matches!(one.outcome, CleanOutcome::Failed(_)));
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

fn text(cleaned: &Cleaned) -> String {
    match &cleaned.outcome {
        CleanOutcome::Undone => format!("undone: {}", cleaned.what),
        CleanOutcome::AlreadyGone(why) => format!("gone: {} ({why})", cleaned.what),
        CleanOutcome::InUse => format!("left: {} (a run that is going on needs it)", cleaned.what),
        CleanOutcome::Failed(why) => format!("FAILED: {}: {why}", cleaned.what),
    }
}
