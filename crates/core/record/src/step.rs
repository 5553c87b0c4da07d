use std::fmt;

use serde::{Deserialize, Serialize};

use crate::typed::quoted;

/// One thing to do to the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Step {
    /// Why, for people: `make`, `mount`, `start zfs-fuse`.
    pub purpose: String,
    pub action: Action,
}

/// A program to run, or a kernel call by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Action {
    /// A program with its arguments; no shell.
    Exec { program: String, args: Vec<String> },
    /// `mount(2)`.
    Mount {
        /// Device, or the file system's name where it has none.
        source: String,
        /// Type as mount(8) takes it after `-t`.
        fs_type: String,
        /// Options as mount(8) takes them after `-o`.
        options: Vec<String>,
        at: String,
    },
    /// `umount(2)`, waiting: never lazy.
    Unmount { at: String },
    /// A named call of the lab's own, with arguments for the reader.
    Call {
        /// Name, such as `repair-image-extents` or `start-daemon`.
        name: String,
        args: Vec<String>,
    },
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Exec { program, args } => write!(f, "{program} {}", shell_words(args)),
            Action::Mount { source, fs_type, options, at } if options.is_empty() => {
                write!(f, "mount -t {fs_type} {source} {at}")
            }
            Action::Mount { source, fs_type, options, at } => {
                write!(f, "mount -t {fs_type} -o {} {source} {at}", options.join(","))
            }
            Action::Unmount { at } => write!(f, "umount {at}"),
            Action::Call { name, args } => write!(f, "[{name}] {}", args.join(" ")),
        }
    }
}

fn shell_words(args: &[String]) -> String {
    args.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(" ")
}

/// A step that was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepRecord {
    pub step: Step,
    pub elapsed_ms: f64,
    /// What it printed, shortened; or why it failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    pub succeeded: bool,
}
