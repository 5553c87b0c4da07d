//! What is asked for: who writes on which candidate, and what is looked at.

use std::{path::PathBuf, time::Duration};

use pickfs_candidate::fs::find;
use pickfs_record::{CandidateSpec, Durability};
use serde::{Deserialize, Serialize};

use crate::{recording::subject, session::SessionError};

/// Of a command; a table has no place for more.
const NAME_CHARS: usize = 40;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub candidate: CandidateSpec,
    pub writer: Writer,
    /// Of a program, or of a log of others; empty for our own writers.
    pub check: Vec<String>,
    pub image_bytes: u64,
    pub records: u64,
    /// Where the writer does not sync: it appends 100 records a second for so long, to see how many seconds a crash takes.
    pub exposed_for: Duration,
    pub crashes: Vec<String>,
    /// Of each crash.
    pub states: usize,
    pub seed: u64,
    /// One state in so many goes to the checker of its file system; 0 asks none.
    pub checker_each: u64,
    /// Recordings that lost only what was not promised are saved as well.
    pub keeps_all: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// By the words of [`Subject`].
    Ours(String),
    Program {
        words: Vec<String>,
        /// Run before the first line counts; may be empty.
        before: Vec<String>,
        /// Without a line, and in all, before either is ended.
        #[serde(default)]
        silence: Duration,
        #[serde(default)]
        longest: Duration,
    },
    /// A log of dm-log-writes that others made: each mark is a promise, but for the first, before which
    /// the file system was made and mounted.
    Log(PathBuf),
}

impl Writer {
    pub fn name(&self) -> String {
        match self {
            Self::Ours(words) => words.clone(),
            Self::Program { words, .. } => words.join(" ").chars().take(NAME_CHARS).collect(),
            Self::Log(file) => file.display().to_string(),
        }
    }
}

impl Request {
    /// What is promised of a record that the writer has acknowledged: no more than is declared of the candidate.
    pub(crate) fn promised(&self) -> Result<Durability, SessionError> {
        let own = match &self.writer {
            Writer::Ours(words) => subject(words)?.promised(),
            _ => Durability::PowerLoss,
        };
        let row = find(&self.candidate.fs);
        let declared = row.map(|row| row.durability(&self.candidate.mount_options).0);
        Ok(declared.map_or(own, |declared| own.min(declared)))
    }
}
