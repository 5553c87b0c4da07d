use std::path::Path;

use anyhow::Context;
use pickfs_analysis::findings;
use pickfs_record::{finding::Ending, typed::program};
use pickfs_store::{RunFile, RunRow, list_runs};

use crate::{exit::Exit, terminal};

/// Before what does not fit beside the first words of a run.
const INDENT: usize = 4;

pub fn list(folder: &Path, json: bool) -> anyhow::Result<Exit> {
    let rows = list_runs(folder).with_context(|| {
        format!("cannot read {}; name the folder that --out named", folder.display())
    })?;
    if json {
        let rows: Vec<_> = rows.iter().map(value).collect();
        terminal::line(&serde_json::to_string_pretty(&rows)?);
    } else if rows.is_empty() {
        let (folder, program) = (folder.display(), program());
        terminal::tell(&format!(
            "no run in {folder}; make one with {program} quick, or name another folder"
        ));
    } else {
        rows.iter().for_each(|row| terminal::flow(&text(row), INDENT));
    }
    Ok(Exit::Done)
}

fn ending(row: &RunRow) -> Option<Ending> {
    row.about.as_ref().ok()?.ended.as_ref()?;
    let run = RunFile::open_read_only(&row.path).ok()?.read().ok()?;
    findings(&run).endings.into_iter().next()
}

fn text(row: &RunRow) -> String {
    match &row.about {
        Ok(about) => format!(
            "{:<24}  {:>4} trials  {:<12}  {}",
            about.name,
            about.trials,
            about.ended.as_deref().unwrap_or("not ended"),
            ending(row).map_or_else(|| about.question.clone(), |ending| ending.line())
        ),
        Err(error) => format!("damaged: {error}"),
    }
}

fn value(row: &RunRow) -> serde_json::Value {
    match &row.about {
        Ok(about) => serde_json::json!({
            "path": row.path, "name": about.name, "started": about.started,
            "question": about.question, "trials": about.trials, "ended": about.ended,
            "ending": ending(row),
        }),
        Err(error) => serde_json::json!({ "path": row.path, "error": error.to_string() }),
    }
}
