use std::path::{Path, PathBuf};

use crate::{RunFile, StoreError};

pub const EXTENSION: &str = "pickfs";

#[derive(Debug)]
pub struct RunRow {
    pub path: PathBuf,
    /// Name, start, question, trials kept and how it ended; or why it cannot be read.
    pub about: Result<RunAbout, StoreError>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAbout {
    pub name: String,
    /// Start, RFC 3339.
    pub started: String,
    pub question: String,
    pub trials: usize,
    /// How it ended; `None` when it did not end by itself.
    pub ended: Option<String>,
}

/// Every run below a folder (its own files and those one folder down), newest first.
pub fn list_runs(folder: &Path) -> std::io::Result<Vec<RunRow>> {
    let mut rows: Vec<RunRow> =
        run_paths(folder)?.into_iter().map(|path| RunRow { about: about(&path), path }).collect();
    rows.sort_by_key(|row| {
        std::cmp::Reverse(row.about.as_ref().map(|about| about.started.clone()).unwrap_or_default())
    });
    Ok(rows)
}

fn about(path: &Path) -> Result<RunAbout, StoreError> {
    let file = RunFile::open(path)?;
    let (run, (trials, damaged)) = (file.read_head()?, file.trial_count()?);
    if damaged.is_some() {
        file.read()?;
    }
    Ok(RunAbout {
        name: run.name,
        started: run.started,
        question: run.plan.question,
        trials,
        ended: run.ended.map(|end| end.how),
    })
}

/// The run files of a folder and of those one folder down, in no order. A folder within that
/// may not be read is passed over.
pub fn run_paths(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            let inner = std::fs::read_dir(&path).into_iter().flatten();
            paths.extend(inner.filter_map(|entry| Some(entry.ok()?.path())).filter(|p| is_run(p)));
        } else if is_run(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

fn is_run(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|extension| extension == EXTENSION)
}
