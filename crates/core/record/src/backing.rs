use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the plan asks the file systems to be made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BackingSpec {
    /// One fully written image file per run, through a loop device with direct I/O.
    Loop {
        size_bytes: u64,
        /// Folder that holds the image; the folder of the run when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<PathBuf>,
    },
    /// The same image on a tmpfs: the software path without a device.
    Ram {
        /// Size of the image in bytes; at most half of the available memory.
        size_bytes: u64,
    },
    /// A block device that the user named; everything on it is lost.
    Device {
        path: PathBuf,
        /// The user allowed an inactive signature to be overwritten.
        #[serde(default)]
        erase: bool,
        #[serde(default)]
        state: DeviceState,
        /// Bytes from its start that are used, a multiple of 4096; all of it when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size_bytes: Option<u64>,
        /// A second device, for the log (journal) of each candidate; everything on it is lost too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log_device: Option<PathBuf>,
    },
    /// Directories that exist: no make, no mount, works without root.
    Directory {
        /// The directory; the first of several.
        path: PathBuf,
        /// The directory of each candidate by its label, where there are several.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        places: BTreeMap<String, PathBuf>,
    },
}

impl BackingSpec {
    pub fn directory(path: impl Into<PathBuf>) -> BackingSpec {
        BackingSpec::Directory { path: path.into(), places: BTreeMap::new() }
    }

    /// The directory of a candidate, where directories are measured.
    pub fn directory_of(&self, label: &str) -> Option<&Path> {
        match self {
            BackingSpec::Directory { path, places } => Some(places.get(label).unwrap_or(path)),
            _ => None,
        }
    }

    pub fn directories(&self) -> Vec<&Path> {
        match self {
            BackingSpec::Directory { path, places } if places.is_empty() => vec![path],
            BackingSpec::Directory { places, .. } => {
                places.values().map(PathBuf::as_path).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// State of a named block device before a file system is made on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceState {
    /// Written over with random data once per run, nothing discarded.
    #[default]
    Filled,
    /// Discarded as a whole before each make.
    Discarded,
}

/// What a trial really stood on; claims never mix two of them.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum BackingKind {
    /// A whole block device.
    #[default]
    Disk,
    /// A loop device over an image file on a disk.
    LoopImage,
    /// A loop device over an image file in memory: no flush, no device.
    RamImage,
    /// An image file on a disk, as the disk of a guest kernel.
    GuestImage,
    /// Memory itself: tmpfs, ramfs.
    Memory,
    /// A directory made by somebody else: never ranked against fresh file systems.
    Directory,
}

impl fmt::Display for BackingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BackingKind::Disk => "block device",
            BackingKind::LoopImage => "loop image",
            BackingKind::RamImage => "loop image in RAM",
            BackingKind::GuestImage => "image of a guest",
            BackingKind::Memory => "memory",
            BackingKind::Directory => "existing directory",
        })
    }
}
