//! A job file of fio: its jobs with their options, and the same file with its places led into a
//! directory.
//!
//! ```
//! use pickfs_workload::fio::JobFile;
//! let file = JobFile::read("[global]\nbs=4k\n[log]\nrw=write\nfilename=/mnt/a/log\n")?;
//! assert_eq!(file.jobs[0].option("bs"), Some("4k"));
//! assert!(file.led_into("/m/work").0.contains("filename=mnt-a-log"));
//! # Ok::<(), pickfs_workload::fio::JobFileError>(())
//! ```
//!
//! Source: fio(1), "Job file format": sections, `global` for all that follow, `;` and `#` begin a
//! comment at the start of a line.

use std::collections::BTreeMap;

use pickfs_model::quantity::parse_duration_ns;

/// A job file, read.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFile {
    /// Its jobs, in order; what `global` says stands in each.
    pub jobs: Vec<Job>,
    text: String,
}

/// One job with its options.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its section.
    pub name: String,
    options: BTreeMap<String, String>,
}

/// A job file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobFileError {
    /// An option stands before any section.
    #[error("line {line}: `{text}` stands before any [job]")]
    NoSection {
        /// Line, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// It takes another file in.
    #[error("line {line}: `include` is not followed; put that file's lines here")]
    Include {
        /// Line, from 1.
        line: usize,
    },
    /// There is no job in it.
    #[error("no job in it: a job is a section [name] other than [global]")]
    NoJob,
}

/// An option with its value; `1` where none stands.
fn option(line: &str) -> (String, String) {
    let (name, value) = line.split_once('=').unwrap_or((line, "1"));
    let name = name.trim().to_lowercase();
    let name = match name.as_str() {
        "readwrite" => "rw".into(),
        "blocksize" => "bs".into(),
        _ => name,
    };
    (name, value.trim().to_owned())
}

fn section(line: &str) -> Option<&str> {
    line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
}

fn is_comment(line: &str) -> bool {
    line.is_empty() || line.starts_with([';', '#'])
}

impl JobFile {
    /// Reads a text.
    pub fn read(text: &str) -> Result<JobFile, JobFileError> {
        let mut global = BTreeMap::new();
        let mut jobs: Vec<Job> = Vec::new();
        let mut is_global = false;
        for (index, line) in text.lines().map(str::trim).enumerate() {
            let number = index + 1;
            if is_comment(line) {
                continue;
            }
            if line.starts_with("include ") {
                return Err(JobFileError::Include { line: number });
            }
            if let Some(name) = section(line) {
                is_global = name == "global";
                if !is_global {
                    jobs.push(Job { name: name.into(), options: global.clone() });
                }
                continue;
            }
            let (name, value) = option(line);
            match (is_global, jobs.last_mut()) {
                (true, _) => drop(global.insert(name, value)),
                (false, Some(job)) => drop(job.options.insert(name, value)),
                (false, None) => {
                    return Err(JobFileError::NoSection { line: number, text: line.into() });
                }
            }
        }
        match jobs.is_empty() {
            true => Err(JobFileError::NoJob),
            false => Ok(JobFile { jobs, text: text.into() }),
        }
    }

    /// The file for a directory of ours, and what was changed in words: `directory` becomes it,
    /// absolute names become plain names in it.
    pub fn led_into(&self, directory: &str) -> (String, Vec<String>) {
        let mut notes = Vec::new();
        let lines = self.text.lines().map(|line| match option(line.trim()) {
            _ if is_comment(line.trim()) => line.to_owned(),
            (name, _) if name == "directory" => format!("directory={directory}"),
            (name, value) if name == "filename" && value.contains('/') => {
                let inside = plain_names(&value);
                notes.push(format!("filename={value} is {inside} in the mount"));
                format!("filename={inside}")
            }
            _ => line.to_owned(),
        });
        let text = lines.collect::<Vec<_>>().join("\n") + "\n";
        (text, notes)
    }
}

/// `/mnt/a/log:/mnt/b/log` as `mnt-a-log:mnt-b-log`.
fn plain_names(value: &str) -> String {
    let plain = |path: &str| path.trim_matches('/').replace("../", "").replace('/', "-");
    value.split(':').map(plain).collect::<Vec<_>>().join(":")
}

impl Job {
    /// An option's value.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// A number of an option; 0 without it.
    pub fn number(&self, name: &str) -> f64 {
        self.option(name).and_then(|value| value.parse().ok()).unwrap_or(0.0)
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.option(name).is_some_and(|value| !matches!(value, "0" | "none"))
    }

    fn direction(&self) -> &str {
        self.option("rw").unwrap_or("read")
    }

    /// Whether it reads; fio's default does.
    pub fn reads(&self) -> bool {
        self.direction().contains("read") || self.direction().contains("rw")
    }

    /// Whether it writes.
    pub fn writes(&self) -> bool {
        self.direction().contains("write") || self.direction().contains("rw")
    }

    /// Whether it keeps to a rate.
    pub fn has_rate(&self) -> bool {
        self.is_on("rate") || self.is_on("rate_iops")
    }

    /// About how long it takes, in seconds.
    pub(super) fn expected_s(&self) -> Option<f64> {
        let seconds = |text: &str| match text.parse::<f64>() {
            Ok(plain) => Some(plain),
            Err(_) => parse_duration_ns(text).ok().map(|ns| ns as f64 / 1e9),
        };
        self.option("runtime").and_then(seconds)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "; a comment\n[global]\ndirectory=/mnt/x\nsize=4m\n[seq]\nrw=write\nfdatasync=1\n\
                        [mix]\nstonewall\nreadwrite=randrw\nfilename=/mnt/d/foo:bar\n";

    #[test]
    fn jobs_have_their_own_options_and_those_of_global() {
        let file = JobFile::read(FILE).unwrap();
        let [seq, mix] = file.jobs.as_slice() else { panic!("two jobs") };
        assert_eq!((seq.name.as_str(), seq.option("size")), ("seq", Some("4m")));
        assert!(seq.writes() && !seq.reads() && seq.is_on("fdatasync"));
        assert!(mix.writes() && mix.reads() && mix.is_on("stonewall") && !mix.is_on("fdatasync"));
    }

    #[test]
    fn places_are_led_into_the_mount_and_told() {
        let (text, notes) = JobFile::read(FILE).unwrap().led_into("/m/work");
        assert!(text.contains("\ndirectory=/m/work\n") && !text.contains("/mnt/"), "{text}");
        assert!(text.contains("\nfilename=mnt-d-foo:bar\n"), "{text}");
        assert_eq!(notes, ["filename=/mnt/d/foo:bar is mnt-d-foo:bar in the mount"]);
        assert_eq!(JobFile::read(&text).unwrap().jobs.len(), 2);
    }

    #[test]
    fn what_cannot_be_used_is_told_with_its_line() {
        let wrong = |text: &str| JobFile::read(text).unwrap_err().to_string();
        assert_eq!(wrong("rw=read\n"), "line 1: `rw=read` stands before any [job]");
        assert!(wrong("[a]\ninclude other.fio\n").starts_with("line 2: `include`"));
        assert!(wrong("[global]\nbs=4k\n").contains("no job in it"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\[?[a-z/]{0,4}\\]?=?[a-z0-9/:]{0,4}\n){0,6}") {
            if let Ok(file) = JobFile::read(&text) {
                let _ = file.led_into("/m");
            }
        }
    }
}
