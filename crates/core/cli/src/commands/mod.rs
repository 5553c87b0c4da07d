pub mod choose;
pub mod claims;
pub mod clean;
pub mod compare;
pub mod completions;
pub mod crash;
pub mod doctor;
pub mod exec;
pub mod exec_fio;
pub mod explain;
pub mod list;
pub mod man;
pub mod plan;
pub mod report;
pub mod run;
pub mod show;

use std::path::{Path, PathBuf};

use anyhow::Context;
use pickfs_lab::launch::RUN_FILE;
use pickfs_record::RunRecord;
use pickfs_store::RunFile;

pub fn run_path(word: &Path) -> PathBuf {
    if word.is_dir() { word.join(RUN_FILE) } else { word.into() }
}

/// Makes the text only where a file was named for it.
pub fn write_to(
    path: &Option<PathBuf>,
    text: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, text()?).with_context(|| format!("cannot write {}", path.display()))
}

/// A folder that holds no run file of its own; the default one, too, where it is not there yet.
pub fn is_folder_of_runs(word: &Path) -> bool {
    word.is_dir() && !word.join(RUN_FILE).exists() || word == Path::new("pickfs-runs")
}

/// Opens and reads a run.
pub fn read_run(word: &Path) -> anyhow::Result<(RunFile, RunRecord)> {
    let file = RunFile::open(&run_path(word))?;
    let record = file.read()?;
    Ok((file, record))
}
