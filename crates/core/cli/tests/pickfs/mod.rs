#![allow(dead_code, clippy::unwrap_used)]

use std::{
    ffi::OsStr,
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use pickfs_record::{Outcome, RunRecord, TrialRecord};
use pickfs_store::RunFile;
use serde_json::Value;

pub const PICKFS: &str = env!("CARGO_BIN_EXE_pickfs");

pub const NOBODY: u32 = 65534;

#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Said {
    /// What a command that ended well says as one value.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }
}

pub fn command<S: AsRef<OsStr>>(words: &[S]) -> Command {
    let mut command = Command::new(PICKFS);
    command.args(words).env_remove("RUST_BACKTRACE");
    command
}

pub fn pickfs<S: AsRef<OsStr>>(words: &[S]) -> Said {
    command(words).output().expect("pickfs starts").into()
}

/// Words as one types them inside a folder, the code they end with, and a part of what they say.
pub fn assert_ends(folder: &Path, rows: &[(&str, i32, &str)]) {
    for (words, code, part) in rows {
        let said = Said::from(command(&typed(words)).current_dir(folder).output().unwrap());
        assert_eq!(said.code, Some(*code), "{words}: {said:?}");
        assert!(said.out.contains(part) || said.err.contains(part), "{words}: {part}: {said:?}");
    }
}

/// Runs the program without any privilege where that can be had: root becomes nobody, who must be
/// able to reach the program.
pub fn unprivileged<S: AsRef<OsStr>>(words: &[S]) -> Said {
    let mut command = command(words);
    without_root(&mut command);
    command.current_dir("/").output().expect("pickfs starts").into()
}

pub fn without_root(command: &mut Command) {
    if is_root() && nobody_reaches_us() {
        as_nobody(command);
    }
}

/// Whether nobody may execute the program (not below root's home).
pub fn nobody_reaches_us() -> bool {
    let mut command = Command::new(PICKFS);
    as_nobody(command.arg("--version").current_dir("/"));
    command.output().is_ok_and(|output| output.status.success())
}

fn as_nobody(command: &mut Command) {
    command.uid(NOBODY).gid(NOBODY);
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub fn folder() -> (tempfile::TempDir, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::Builder::new().prefix("pickfs-cli-").tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}

/// Words as one types them, none of which holds a blank.
pub fn typed(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Keeps a run as pickfs does, in a folder of that name.
pub fn stored(out: &Path, name: &str, run: &RunRecord) -> String {
    let folder = out.join(name);
    fs::create_dir(&folder).unwrap();
    let bare = RunRecord { name: name.into(), trials: vec![], ended: None, ..run.clone() };
    let mut file = RunFile::create(&folder.join("run.pickfs"), &bare).unwrap();
    run.trials.iter().for_each(|trial| file.add_trial(trial).unwrap());
    run.ended.iter().for_each(|end| file.end(end).unwrap());
    folder.to_str().unwrap().to_owned()
}

pub fn only_run(out: &Path) -> PathBuf {
    let runs: Vec<_> = fs::read_dir(out).unwrap().flatten().map(|entry| entry.path()).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0].clone()
}

/// Why a trial has no result; empty of one that has.
pub fn reason(trial: &TrialRecord) -> &str {
    match &trial.outcome {
        Outcome::Finished => "",
        Outcome::Failed { reason } | Outcome::Skipped { reason } => reason,
    }
}

pub fn record(run: &Path) -> RunRecord {
    RunFile::open(&run.join("run.pickfs")).unwrap().read().unwrap()
}
