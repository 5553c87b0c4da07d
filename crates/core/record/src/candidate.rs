//! A candidate: a file system with its mount and mkfs options, as one text.
//!
//! `fs[:mount options][;mkfs=options]`, for example
//! `ext4:noatime,barrier=0;mkfs=-O ^has_journal`. Whether the file system
//! exists and the options are legal is not known here; `target` knows.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A file system with its options, under a name of its own.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct CandidateSpec {
    /// The name in tables; the specification's own text unless the plan gives another.
    pub label: String,
    /// The file system's name, in lower case: `ext4`, `ntfs-3g`, `tmpfs`.
    pub fs: String,
    /// Mount options in the given order, without the commas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
    /// Words that are added to the mkfs command in the given order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs_options: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CandidateError {
    #[error("candidate `{text}` names no file system; write fs[:mount options][;mkfs=options]")]
    NoFileSystem { text: String },
    #[error("candidate `{text}`: `{part}` not understood; after `;` only mkfs=OPTIONS may stand")]
    UnknownPart {
        text: String,
        /// The part that was not understood.
        part: String,
    },
    #[error("candidate `{text}` holds a control character; remove it")]
    ControlCharacter { text: String },
}

impl CandidateSpec {
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
}

impl FromStr for CandidateSpec {
    type Err = CandidateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.chars().any(char::is_control) {
            return Err(CandidateError::ControlCharacter { text: text.escape_debug().to_string() });
        }
        let (head, tail) = match text.split_once(';') {
            Some((head, tail)) => (head, Some(tail)),
            None => (text, None),
        };
        let (fs, mount) = head.split_once(':').unwrap_or((head, ""));
        let fs = fs.trim().to_ascii_lowercase();
        if fs.is_empty() || !fs.chars().all(|c| c.is_ascii_alphanumeric() || "-+._".contains(c)) {
            return Err(CandidateError::NoFileSystem { text: text.into() });
        }
        let mut candidate = CandidateSpec {
            label: String::new(),
            fs,
            mount_options: split_words(mount, ','),
            mkfs_options: mkfs_words(text, tail)?,
        };
        candidate.label = candidate.to_string();
        Ok(candidate)
    }
}

fn mkfs_words(text: &str, tail: Option<&str>) -> Result<Vec<String>, CandidateError> {
    let Some(tail) = tail.map(str::trim).filter(|tail| !tail.is_empty()) else {
        return Ok(Vec::new());
    };
    tail.strip_prefix("mkfs=")
        .map(|options| split_words(options, ' '))
        .ok_or_else(|| CandidateError::UnknownPart { text: text.into(), part: tail.into() })
}

fn split_words(text: &str, separator: char) -> Vec<String> {
    text.split(separator).map(str::trim).filter(|word| !word.is_empty()).map(String::from).collect()
}

/// Prints the specification (not the label), in the form that [`FromStr`] reads.
impl fmt::Display for CandidateSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fs)?;
        if !self.mount_options.is_empty() {
            write!(f, ":{}", self.mount_options.join(","))?;
        }
        if !self.mkfs_options.is_empty() {
            write!(f, ";mkfs={}", self.mkfs_options.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> CandidateSpec {
        text.parse().expect("a legal candidate")
    }

    #[test]
    fn options_are_split_and_printed_back() {
        let candidate = read("ext4:noatime,barrier=0;mkfs=-O ^has_journal -b 4096");
        assert_eq!(candidate.fs, "ext4");
        assert_eq!(candidate.mount_options, ["noatime", "barrier=0"]);
        assert_eq!(candidate.mkfs_options, ["-O", "^has_journal", "-b", "4096"]);
        assert_eq!(candidate.label, "ext4:noatime,barrier=0;mkfs=-O ^has_journal -b 4096");
    }

    #[test]
    fn a_candidate_without_a_file_system_says_what_to_write() {
        let error = ":noatime".parse::<CandidateSpec>().expect_err("no file system");
        assert_eq!(
            error.to_string(),
            "candidate `:noatime` names no file system; write fs[:mount options][;mkfs=options]"
        );
        assert!("ext4;label=x".parse::<CandidateSpec>().is_err());
        assert!("ex t4".parse::<CandidateSpec>().is_err());
        assert!("ext4\n".parse::<CandidateSpec>().is_err());
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_the_same(text in "\\PC{0,40}") {
            if let Ok(candidate) = text.parse::<CandidateSpec>() {
                prop_assert_eq!(read(&candidate.to_string()), candidate);
            }
        }
    }
}
