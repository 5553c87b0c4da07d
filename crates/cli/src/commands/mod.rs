pub mod choose;
pub mod claims;
pub mod clean;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod exec;
pub mod exec_fio;
pub mod explain;
pub mod features;
pub mod guest_modules;
pub mod list;
pub mod man;
pub mod plan;
pub mod report;
pub mod rerun;
pub mod run;
pub mod serve;
pub mod show;
pub mod tour;
pub mod trust;

use std::path::{Path, PathBuf};

use pickfs_lab::launch::RUN_FILE;
use pickfs_model::RunRecord;
use pickfs_store::RunFile;

pub fn run_path(word: &Path) -> PathBuf {
    if word.is_dir() { word.join(RUN_FILE) } else { word.into() }
}

pub fn read_run(word: &Path) -> anyhow::Result<(RunFile, RunRecord)> {
    let file = RunFile::open(&run_path(word))?;
    let record = file.read()?;
    Ok((file, record))
}
